// The manners of a program that trains: one writer a directory, no run overwritten, Ctrl-C and full
// disks told with the way on.
#pragma once

#include <cstdio>
#include <functional>
#include <string>

#include "gradus/engine/base/error.h"
#include "gradus/train/trainer.h"

namespace gradus::examples {

/// One line on stderr: "model     4 layers, width 128".
template <class... Parts>
void say(const char* topic, const Parts&... parts) {
  std::fprintf(stderr, "%-9s %s\n", topic, str_cat(parts...).c_str());
}

/// "translate train --out runs/x --resume"
std::string resume_command(const std::string& program, const std::string& directory);

/// FileError if the directory holds a run.
void require_no_run(const std::string& program, const train::RunFiles& files);

/// A value on the command line that is not the run's is an error.
template <class T>
void must_agree(const std::string& flag, const T& given, const T& run,
                const std::string& directory) {
  require(given == run, flag, " ", given, " contradicts the run in ", directory, ", which has ",
          run, ": leave the flag out to resume it, or start a new run");
}
inline void must_agree(const std::string& flag, bool given, bool run,
                       const std::string& directory) {
  require(!given || run, flag, " contradicts the run in ", directory,
          ", which has none: leave the flag out to resume it, or start a new run");
}

/// The best weights of a run, into `model`, which then is in eval mode. FileError: not yet there.
void load_best(nn::Module& model, const train::RunFiles& files);

/// load(), which reads weights from `file`. FileError, in one line: they are of another model.
void load_fitting(const std::string& file, const std::function<void()>& load);

}  // namespace gradus::examples
