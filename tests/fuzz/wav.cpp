#include "gradus/examples/apps/listen/wav.h"

#include "gradus/tests/fuzz/watch.h"

using namespace gradus;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Bytes input = std::as_bytes(std::span(data, size));
  const auto wav =
      fuzz::read_within_limits(size, [&] { return examples::parse_wav(input, "input"); });
  if (!wav) return 0;
  fuzz::law(wav->rate > 0 && !wav->samples.empty(), "a sound must have a rate and samples");
  for (const float sample : wav->samples)
    fuzz::law(-1 <= sample && sample < 1, "samples must be in [-1, 1)");
  return 0;
}
