// splitmix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014).
// Standard distributions differ between vendors, but failures must be reproducible from a seed.
#pragma once

#include <cstdint>

namespace gradus::check {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

  /// Returns a value in [0, 1): the upper 53 bits, exact.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  double between(double low, double high) { return low + (high - low) * uniform(); }

  /// Returns a value in [0, count), count > 0. The modulo bias is below count / 2^64.
  std::int64_t below(std::int64_t count) {
    return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(count));
  }

  /// Returns a value in ±[1.5, 2.5). Values of 0 or ±1, or of a single sign, could hide a
  /// derivative that ignores dy.
  double upstream() {
    const double size = between(1.5, 2.5);
    return (next() >> 63) != 0 ? size : -size;
  }

 private:
  std::uint64_t state_;
};

}  // namespace gradus::check
