// Runs a lesson of the playground without a browser, to compare its results bit by bit.
//
//   play LESSON [PARAMETERS] [STEP]     for example: play 10 '{"q": [[1, 2]], "dout": [[1, 0]]}'
//
// Prints one JSON object per line: {"begin": …}, and for each step {"text": …, "trace": …}.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <nlohmann/json.hpp>

#include "gradus/examples/play/play.h"

int main(int argc, char** argv) {
  if (argc < 2) {
    std::puts(play_lessons());
    return 0;
  }
  const int steps = argc > 3 ? std::atoi(argv[3]) : 1;
  if (!play_begin(std::atoi(argv[1]), argc > 2 ? argv[2] : "{}")) {
    std::fprintf(stderr, "play: %s\n", play_error());
    return 2;
  }
  std::puts(nlohmann::json{{"text", play_text()}}.dump().c_str());
  for (int step = 0; step < steps; ++step) {
    const char* trace = play_step(step + 1 == steps);
    if (trace == nullptr) {
      std::fprintf(stderr, "play: %s\n", play_error());
      return 2;
    }
    std::string line = trace;
    std::replace(line.begin(), line.end(), '\n', ' ');  // breaks between JSON values
    std::printf("{\"trace\":%s,\"text\":%s}\n", line.c_str(),
                nlohmann::json(play_text()).dump().c_str());
  }
}
