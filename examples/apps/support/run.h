#pragma once

#include <cstdio>
#include <functional>
#include <string>

#include "gradus/engine/base/error.h"
#include "gradus/train/trainer.h"

namespace gradus::examples {

/// Prints "model     4 layers, width 128" to stderr.
template <class... Parts>
void say(const char* topic, const Parts&... parts) {
  std::fprintf(stderr, "%-9s %s\n", topic, str_cat(parts...).c_str());
}

/// Returns a command such as "translate train --out runs/x --resume".
std::string resume_command(const std::string& program, const std::string& directory);

void require_no_run(const std::string& program, const train::RunFiles& files);

template <class T>
void must_agree(const std::string& flag, const T& given, const T& run,
                const std::string& directory) {
  require(given == run, flag, " ", given, " contradicts the run in ", directory, ", which has ",
          run, ": leave the flag out to resume it, or start a new run");
}
inline void must_agree(const std::string& flag, bool given, bool run,
                       const std::string& directory) {
  require(
      !given || run, flag, " contradicts the run in ", directory,
      ", which was started without it: leave the flag out to resume that run, or start a new one");
}

/// Loads the best weights and sets eval mode. Throws FileError if none are saved yet.
void load_best(nn::Module& model, const train::RunFiles& files);

/// Calls load(). Throws a one-line FileError if the shapes differ.
void load_fitting(const std::string& file, const std::function<void()>& load);

}  // namespace gradus::examples
