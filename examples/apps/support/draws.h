#pragma once

#include <cstdint>
#include <vector>

#include "gradus/engine/base/random.h"

namespace gradus::examples {

class Draws {
 public:
  explicit Draws(std::int64_t seed, std::uint32_t stream = 0)
      : stream_{static_cast<std::uint64_t>(seed), stream, 0} {}

  std::int64_t below(std::int64_t n) { return stream_.below(next_++, n); }
  bool chance(double probability) { return stream_.uniform(next_++) < probability; }
  template <class T>
  const T& one_of(const std::vector<T>& some) {
    return some[static_cast<std::size_t>(below(std::ssize(some)))];
  }

 private:
  RandomStream stream_;
  std::int64_t next_ = 0;
};

}  // namespace gradus::examples
