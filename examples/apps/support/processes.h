// The processes that train together: those that mpirun started, or this one alone.
#pragma once

#include "gradus/train/distributed/transport.h"

namespace gradus::examples {

/// One for the whole program; the first call connects it to the others, and silences what ranks
/// above 0 would say: they say the same. Error: mpirun started this program, which was built
/// without MPI.
distributed::Transport& processes();

/// When the program's work is done: waits for the others.
void leave_processes();

}  // namespace gradus::examples
