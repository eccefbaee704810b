// The processes that train together: those started by mpirun, or only this one.
#pragma once

#include "gradus/train/distributed/transport.h"

namespace gradus::examples {

/// The program's transport. The first call connects the processes and silences ranks above 0.
/// Throws Error if mpirun started a program that was built without MPI.
distributed::Transport& processes();

/// Waits for the other processes. Call it at the end of the program.
void leave_processes();

}  // namespace gradus::examples
