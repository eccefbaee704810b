// Element i depends only on the random stream and on i.
#include "gradus/nn/init.h"

#include "gradus/engine/base/math64.h"
#include "gradus/engine/base/parallel.h"
#include "gradus/engine/base/random.h"

namespace gradus::nn::init {
namespace {

constexpr std::int64_t kRandomCost = 32;  // cost of a random number, in cheap element ops

thread_local bool skipped = false;

void check_tensor(const char* name, const Tensor& x) {
  require(x.defined(), name, ": the tensor is undefined. Assign a value first.");
  require<DtypeError>(is_float(x.dtype()), name, ": expected f32 or f64, got ", x.dtype());
  require(x.is_contiguous(), name, ": the tensor must be contiguous, got a view ", x.shape(),
          " with strides ", x.strides());
}

/// x[i] = value(i)
template <class Value>
void fill(const char* name, Tensor& x, Value value) {
  check_tensor(name, x);
  if (skipped) return;
  dispatch_float(name, x.dtype(), [&]<class T>() {
    T* to = x.mutable_data<T>();
    const auto some = [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) to[i] = static_cast<T>(value(i));
    };
    parallel_for(x.numel(), rows_grain(kRandomCost), some);
  });
}

void constant(const char* name, Tensor& x, double value) {
  const ScopedValue written(skipped, false);
  fill(name, x, [=](std::int64_t) { return value; });
}

void uniform(const char* name, Tensor& x, double low, double high) {
  require(std::isfinite(low) && std::isfinite(high) && low <= high, name, ": [", low, ", ", high,
          ") is not a valid range. Pass finite bounds with low ≤ high.");
  const RandomStream stream = generator().next();
  fill(name, x, [=](std::int64_t i) { return low + (high - low) * stream.uniform(i); });
}

void normal(const char* name, Tensor& x, double mean, double deviation) {
  require(std::isfinite(mean) && std::isfinite(deviation) && deviation >= 0, name,
          ": mean and deviation must be finite, and the deviation not negative, got ", mean,
          " and ", deviation);
  const RandomStream stream = generator().next();
  fill(name, x, [=](std::int64_t i) { return mean + deviation * stream.normal(i); });
}

/// The cumulative distribution function of normal(0, 1).
double below(double z) { return 0.5 * math64::erfc(-z / std::sqrt(2.0)); }

double xavier_deviation(const Tensor& weight, double gain) {
  const std::int64_t fans = fan_of(weight, Fan::in) + fan_of(weight, Fan::out);
  return gain * std::sqrt(2.0 / static_cast<double>(fans));
}

double kaiming_deviation(const Tensor& weight, Fan fan, double gain) {
  return gain / std::sqrt(static_cast<double>(fan_of(weight, fan)));
}

}  // namespace

Skip::Skip() : ScopedValue(skipped, true) {}

void zeros_(Tensor& x) { constant("init::zeros_", x, 0); }
void ones_(Tensor& x) { constant("init::ones_", x, 1); }

void uniform_(Tensor& x, double low, double high) { uniform("init::uniform_", x, low, high); }

void normal_(Tensor& x, double mean, double deviation) {
  normal("init::normal_", x, mean, deviation);
}

void truncated_normal_(Tensor& x, double mean, double deviation, double low, double high) {
  const char* name = "init::truncated_normal_";
  require(std::isfinite(mean) && std::isfinite(deviation) && deviation > 0 && low < high, name,
          ": the deviation must be positive and the range not empty, got mean ", mean,
          ", deviation ", deviation, " and [", low, ", ", high, "]");
  const double inside = below((high - mean) / deviation) - below((low - mean) / deviation);
  require(inside >= 0.01, name, ": only ", inside, " of normal(", mean, ", ", deviation,
          ") is in [", low, ", ", high, "]. Move the mean or widen the range.");
  const RandomStream stream = generator().next();
  const std::int64_t n = x.numel();
  fill(name, x, [=](std::int64_t i) {
    double value = mean + deviation * stream.normal(i);
    for (std::int64_t k = i + n; value < low || value > high; k += n)
      value = mean + deviation * stream.normal(k);
    return value;
  });
}

std::int64_t fan_of(const Tensor& weight, Fan fan) {
  require(weight.defined(), "init: the weight is undefined. Assign a value first.");
  require<ShapeError>(weight.rank() >= 2 && weight.numel() > 0,
                      "init: the weight must be [out, in, …] and not empty, got ", weight.shape());
  const std::int64_t out = weight.size(0), in = weight.size(1);
  return weight.numel() / (fan == Fan::in ? out : in);
}

// A uniform distribution in ±bound has variance bound² / 3.

void xavier_uniform_(Tensor& weight, double gain) {
  const double bound = std::sqrt(3.0) * xavier_deviation(weight, gain);
  uniform("init::xavier_uniform_", weight, -bound, bound);
}

void xavier_normal_(Tensor& weight, double gain) {
  normal("init::xavier_normal_", weight, 0, xavier_deviation(weight, gain));
}

void kaiming_uniform_(Tensor& weight, Fan fan, double gain) {
  const double bound = std::sqrt(3.0) * kaiming_deviation(weight, fan, gain);
  uniform("init::kaiming_uniform_", weight, -bound, bound);
}

void kaiming_normal_(Tensor& weight, Fan fan, double gain) {
  normal("init::kaiming_normal_", weight, 0, kaiming_deviation(weight, fan, gain));
}

double residual_deviation(std::int64_t layers, double deviation) {
  require(layers > 0, "init::residual_deviation: layers must be at least 1, got ", layers);
  return deviation / std::sqrt(2.0 * static_cast<double>(layers));
}

}  // namespace gradus::nn::init
