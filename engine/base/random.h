// Counter-based randomness: the number at (seed, stream, index) is a pure function of the three.
//
// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011). Any thread
// count, any order of evaluation and a recomputed forward give the same numbers; nothing is stored.
#pragma once

#include <array>
#include <cstdint>

#include "gradus/engine/base/thread_state.h"

namespace gradus {

/// Four 32-bit words from a 128-bit counter and a 64-bit key.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key);

/// One stream of numbers: what a random op draws, stores and can replay.
struct RandomStream {
  std::uint64_t seed = 0;
  std::uint32_t stream = 0;
  std::uint32_t rank = 0;  // of the process, in data-parallel runs

  std::uint32_t word(std::int64_t index) const;  // uniform in [0, 2³²)
  double uniform(std::int64_t index) const;      // [0, 1), 53 bits: words 2·index and 2·index + 1
  double normal(std::int64_t index) const;       // mean 0, variance 1 (Box–Muller)
  std::int64_t below(std::int64_t index, std::int64_t n) const;  // [0, n)

  /// words[i] = word(first + i), vectorised.
  void words(std::int64_t first, std::int64_t count, std::uint32_t* words) const;
};

/// Hands out streams. Its two numbers are all the random state of a program: checkpoints keep them.
class Generator {
 public:
  explicit Generator(std::uint64_t seed = 0) : seed_(seed) {}
  RandomStream next();  // ValueError when all 2³² − 1 streams of the seed are used up

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

Generator& generator();         // this thread's, or the global one
void seed(std::uint64_t seed);  // generator() starts anew

/// Random ops inside draw from `g`: gradient checks freeze masks so, data loaders keep theirs.
struct GeneratorScope : ScopedValue<Generator*> {
  [[nodiscard]] explicit GeneratorScope(Generator& g) : ScopedValue(thread_state.generator, &g) {}
};

}  // namespace gradus
