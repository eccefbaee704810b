// How a run ended, for people and for the shell.
#pragma once

#include "run.h"

namespace gradus::examples {

/// Prints the best loss beside those of simpler models (of a finished run), draws the loss curve
/// and prints its path, says how an interrupted run goes on. Returns the exit code.
int report(const Run& run, RunEnd end, const RunPaths& paths);

}  // namespace gradus::examples
