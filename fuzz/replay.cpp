// Feeds a target the files of a folder, each as it is, cut off, and with parts of it repeated: what
// the ordinary build can do without libFuzzer. `replay FOLDER`; it ends with 1 at a violation.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "gradus/fuzz/repeat.h"
#include "gradus/fuzz/watch.h"

namespace {

using Input = std::vector<std::uint8_t>;

constexpr std::size_t kMost = 32 << 10;  // bytes of a repeated input

void feed(const std::string& what, const Input& input) {
  std::printf("%s\n", what.c_str());
  std::fflush(stdout);  // the last line before a crash says what it was
  LLVMFuzzerTestOneInput(input.data(), input.size());
}

/// At some 12 places, one byte and a longer part.
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

}  // namespace

int main(int argc, char** argv) {
  int files = 0;
  if (argc == 2 && std::filesystem::is_directory(argv[1])) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
      std::ifstream file(entry.path(), std::ios::binary);
      const Input input{std::istreambuf_iterator<char>(file), {}};
      const std::string name = entry.path().filename().string();
      feed(name, input);
      feed_cut(name, input);
      feed_repeated(name, input);
      ++files;
    }
  }
  std::printf("%d files\n", files);
  return files > 0 ? 0 : 2;
}
