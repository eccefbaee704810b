// Mutates inputs like libFuzzer, and also repeats parts of inputs.
#include <cstddef>
#include <cstdint>
#include <random>

#include "gradus/tests/fuzz/repeat.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  std::minstd_rand random(seed);
  if (size == 0 || size > most / 2 || random() % 64 != 0) return LLVMFuzzerMutate(data, size, most);
  const std::size_t at = random() % size;
  const std::size_t length = 1 + random() % std::min<std::size_t>(size - at, 64);
  const auto out = gradus::fuzz::repeated({data, size}, at, length, most);
  std::copy(out.begin(), out.end(), data);
  return out.size();
}
