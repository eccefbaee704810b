// Whether a tensor holds what a formula says of one stream of random numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "gradus/base/random.h"
#include "gradus/engine/tensor.h"

namespace gradus::testing {

/// f64 is the default dtype while this lives, in which a formula is compared to the last digits.
struct InDoubles {
  InDoubles() { set_default_dtype(Dtype::f64); }
  ~InDoubles() { set_default_dtype(Dtype::f32); }
};

/// Element i is value(stream, i), of one of the streams that generator() has given since its seed.
template <class Value>
bool drawn(const Tensor& x, Value value) {
  const std::vector<double> all = x.detach().to_vector<double>();
  for (std::uint32_t place = 0; place < generator().position(); ++place) {
    const RandomStream stream{generator().seed(), place, 0};
    const auto fits = [&](const double& each) {
      const double wanted = value(stream, static_cast<std::int64_t>(&each - all.data()));
      return std::abs(each - wanted) <= 1e-13 * (1 + std::abs(wanted));
    };
    if (std::all_of(all.begin(), all.end(), fits)) return true;
  }
  return false;
}

inline bool drawn_uniform(const Tensor& x, double low, double high) {
  return drawn(
      x, [=](const RandomStream& s, std::int64_t i) { return low + (high - low) * s.uniform(i); });
}

inline bool drawn_normal(const Tensor& x, double mean, double deviation) {
  return drawn(
      x, [=](const RandomStream& s, std::int64_t i) { return mean + deviation * s.normal(i); });
}

/// Numbers beyond the limits are drawn again, from the stream's numbers n behind.
inline bool drawn_truncated(const Tensor& x, double mean, double deviation, double low,
                            double high) {
  return drawn(x, [=, n = x.numel()](const RandomStream& s, std::int64_t i) {
    double value = mean + deviation * s.normal(i);
    for (; value < low || value > high; value = mean + deviation * s.normal(i)) i += n;
    return value;
  });
}

}  // namespace gradus::testing
