// Counter-based random numbers: a pure function of (seed, stream, index).
//
// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011). Numbers do
// not depend on threads or evaluation order.
#pragma once

#include <array>
#include <cstdint>

#include "gradus/engine/base/thread_state.h"

namespace gradus {

/// Returns four 32-bit words from a 128-bit counter and a 64-bit key.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key);

/// A stream of random numbers. Each random op draws one stream and saves it for replay.
struct RandomStream {
  std::uint64_t seed = 0;
  std::uint32_t stream = 0;
  std::uint32_t rank = 0;  // process rank in data-parallel runs

  std::uint32_t word(std::int64_t index) const;  // uniform in [0, 2³²)
  double uniform(std::int64_t index) const;      // [0, 1), 53 bits: words 2·index and 2·index + 1
  double normal(std::int64_t index) const;       // mean 0, variance 1 (Box–Muller)
  std::int64_t below(std::int64_t index, std::int64_t n) const;  // integer in [0, n)

  /// Sets words[i] = word(first + i). Vectorized.
  void words(std::int64_t first, std::int64_t count, std::uint32_t* words) const;
};

/// Creates streams. Its state is the seed and the position.
class Generator {
 public:
  explicit Generator(std::uint64_t seed = 0) : seed_(seed) {}
  RandomStream next();  // throws ValueError after 2³² − 1 streams

  std::uint64_t seed() const { return seed_; }
  std::uint32_t position() const { return next_stream_; }
  void restore(std::uint64_t seed, std::uint32_t position) {
    seed_ = seed;
    next_stream_ = position;
  }
  void set_rank(std::uint32_t rank) { rank_ = rank; }

 private:
  std::uint64_t seed_;
  std::uint32_t next_stream_ = 0;
  std::uint32_t rank_ = 0;
};

Generator& generator();         // the generator set for this thread, or the global one
void seed(std::uint64_t seed);  // resets generator() to this seed

/// RAII guard: random ops in the scope draw from `g`.
struct GeneratorScope : ScopedValue<Generator*> {
  [[nodiscard]] explicit GeneratorScope(Generator& g) : ScopedValue(thread_state.generator, &g) {}
};

}  // namespace gradus
