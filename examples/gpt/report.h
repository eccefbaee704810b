// How a run ended, for people and for the shell.
#pragma once

#include "run.h"

namespace gradus::examples {

/// Prints the best loss beside those of simpler models (of a finished run), what to change where it
/// ends above those, the loss curve's path, and how an interrupted run goes on. Returns the exit
/// code.
int report(const Run& run, TrainEnd end, const RunPaths& paths);

}  // namespace gradus::examples
