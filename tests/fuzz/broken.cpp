// Violates the limit that the first letter of the input selects.
#include <stdexcept>
#include <string>
#include <vector>

#include "gradus/tests/fuzz/watch.h"

using namespace gradus;

namespace {

/// Reads the address of an allocation. clang would remove an unused allocation.
int take(std::size_t bytes) {
  const std::vector<char> taken(bytes);
  const char* volatile first = taken.data();
  return *first;
}

int broken_read(std::string_view input) {
  const char fault = input.empty() ? ' ' : input[0];
  if (fault == 't')  // takes a quarter of a second
    for (const std::clock_t start = std::clock(); std::clock() - start < CLOCKS_PER_SEC / 4;) {
    }
  if (fault == 'm') return take(fuzz::kConstantBytes + 100 * input.size() + 1);
  if (fault == 'g') return take(std::size_t{3} << 29);  // valid on 32 bits
  if (fault == 'e') throw std::runtime_error("an error of the standard library");
  if (fault == 'l') fail<FileError>("line one\nline two");
  if (fault == '8') fail<FileError>("not UTF-8: \xff");
  if (fault == 'o') fail<FileError>(std::string(1001, '.'));
  if (fault == 'x') fail<FileError>("a valid one-line message");
  return static_cast<int>(std::vector<char>(fuzz::kConstantBytes / 2).size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = fuzz::text_of(std::as_bytes(std::span(data, size)));
  fuzz::read_within_limits(size, [&] { return broken_read(input); });
  fuzz::law(!input.starts_with('w'), "the name of the law");
  return 0;
}
