// Runs the gpt program in a temporary directory.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "gradus/tests/support/catch.h"

namespace gradus::testing {

namespace fs = std::filesystem;

inline std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

struct Outcome {
  int code;  // 128 + n if signal n ended the process
  std::string out, err;
};

/// A temporary directory with a small text.
struct Workplace {
  fs::path directory;

  Workplace() {
    std::random_device random;  // process ids repeat in containers
    do {
      directory = fs::temp_directory_path() / ("gradus-program-" + std::to_string(random()));
    } while (!fs::create_directory(directory));
    std::string text;
    for (int i = 0; i < 60; ++i)
      text += "the cat sat on mat " + std::to_string(i * i % 97) + ", and so on.\n";
    write("text.txt", text);
  }
  ~Workplace() { fs::remove_all(directory); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(directory / name, std::ios::binary) << text;
  }

  Outcome shell(const std::string& command) const {
    const std::string line =
        "cd '" + directory.string() + "' && ( " + command + " ) >out 2>err </dev/null";
    const int status = std::system(line.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
            contents(directory / "out"), contents(directory / "err")};
  }
  Outcome gpt(const std::string& arguments) const { return shell(program() + (" " + arguments)); }

  static std::string program() { return "'" GRADUS_BINARY_DIR "/gpt'"; }
};

inline const std::string kSmall =
    "--layers 1 --width 16 --heads 2 --context 8 --batch 4 --threads 1 ";

/// Returns a shell command that waits until `condition` holds or process $p has ended.
inline std::string until(const std::string& condition) {
  return "until " + condition + " || ! kill -0 $p 2>/dev/null; do sleep 0.01; done; ";
}

/// Returns a shell command that waits until the run of process $p has saved its first checkpoint.
inline std::string saved(const std::string& run) {
  return until("[ -e " + run + "/checkpoint.safetensors ]");
}

inline void check_same(const Workplace& here, const std::string& run, const std::string& other,
                       const std::vector<std::string>& files = {"metrics.jsonl",
                                                                "model.safetensors"}) {
  for (const std::string& file : files) {
    CAPTURE(file);
    CHECK(contents(here.directory / run / file) == contents(here.directory / other / file));
  }
}

/// Requires exit code 2 and one error line that contains `words`.
inline void check_refused(const Outcome& outcome, const std::vector<std::string>& words) {
  CAPTURE(outcome.err);
  CHECK(outcome.code == 2);
  CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
  for (const std::string& word : words) {
    CAPTURE(word);
    CHECK(outcome.err.find(word) != std::string::npos);
  }
}

}  // namespace gradus::testing
