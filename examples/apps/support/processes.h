// The processes of a run: those started by mpirun, or only the current one.
#pragma once

#include "gradus/train/distributed/transport.h"

namespace gradus::examples {

/// Connects the processes at the first call, and silences all ranks but 0. Throws if mpirun started
/// a program built without MPI.
distributed::Transport& processes();

void leave_processes();

}  // namespace gradus::examples
