#include "gradus/io/npy.h"

#include "gradus/tests/fuzz/watch.h"

using namespace gradus;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Bytes input = std::as_bytes(std::span(data, size));
  const auto x = fuzz::read_within_limits(size, [&] { return io::parse_npy(input, "input"); });
  if (x)
    fuzz::law(static_cast<std::size_t>(x->numel()) <= size,
              "an array must not have more values than the file has bytes");
  return 0;
}
