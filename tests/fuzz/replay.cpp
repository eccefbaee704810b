// `replay TARGET FOLDER` runs a target on each file of a folder, unchanged and mutated. Exits with
// code 1 at the first violation. Does not require libFuzzer.
#include "gradus/tests/fuzz/replay.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "gradus/tests/fuzz/repeat.h"
#include "gradus/tests/fuzz/watch.h"

namespace {

using Input = std::vector<std::uint8_t>;

constexpr std::size_t kMost = 32 << 10;

gradus::fuzz::Target target = nullptr;

void feed(const std::string& what, const Input& input) {
  std::printf("%s\n", what.c_str());
  std::fflush(stdout);  // the input is then known if the target crashes
  target(input.data(), input.size());
}

/// Repeats one byte, and a longer part, at about 12 positions.
void feed_repeated(const std::string& name, const Input& input) {
  const std::size_t step = std::max<std::size_t>(1, input.size() / 12);
  for (std::size_t at = 0; at < input.size(); at += step)
    for (const std::size_t length : {std::size_t{1}, step + 2})
      if (length <= input.size() - at)
        feed(name + ", bytes " + std::to_string(at) + " to " + std::to_string(at + length) +
                 " repeated",
             gradus::fuzz::repeated(input, at, length, kMost));
}

void feed_cut(const std::string& name, const Input& input) {
  const std::size_t step = std::max<std::size_t>(1, input.size() / 32);
  for (std::size_t size = 0; size < input.size(); size += step)
    feed(name + ", the first " + std::to_string(size) + " bytes",
         {input.begin(), input.begin() + static_cast<std::ptrdiff_t>(size)});
}

/// Tries five other bytes at up to 200 positions: plus one, with the top bit flipped, and three
/// bytes that are special in the formats.
void feed_changed(const std::string& name, const Input& input) {
  const std::size_t step = std::max<std::size_t>(1, input.size() / 200);
  for (std::size_t at = 0; at < input.size(); at += step)
    for (const int byte : {input[at] + 1, input[at] ^ 0x80, int{'"'}, int{','}, 0xff}) {
      Input changed = input;
      changed[at] = static_cast<std::uint8_t>(byte);
      feed(name + ", byte " + std::to_string(at) + " is " + std::to_string(changed[at]), changed);
    }
}

}  // namespace

int main(int argc, char** argv) {
  int files = 0;
  const auto found = gradus::fuzz::kTargets.find(argc == 3 ? argv[1] : "");
  if (found != gradus::fuzz::kTargets.end() && std::filesystem::is_directory(argv[2])) {
    target = found->second;
    for (const auto& entry : std::filesystem::directory_iterator(argv[2])) {
      std::ifstream file(entry.path(), std::ios::binary);
      const Input input{std::istreambuf_iterator<char>(file), {}};
      const std::string name = entry.path().filename().string();
      feed(name, input);
      feed_cut(name, input);
      feed_repeated(name, input);
      feed_changed(name, input);
      ++files;
    }
  }
  std::printf("%d files\n", files);
  return files > 0 ? 0 : 2;
}
