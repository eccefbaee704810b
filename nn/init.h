// Initializers, which write x in place without recording. x must be contiguous and floating-point.
// Random initializers draw one stream from generator(), regardless of the number of threads.
#pragma once

#include <cmath>

#include "gradus/engine/base/thread_state.h"
#include "gradus/engine/tensor.h"

namespace gradus::nn::init {

void zeros_(Tensor& x);                                          // 0
void ones_(Tensor& x);                                           // 1
void uniform_(Tensor& x, double low = 0, double high = 1);       // in [low, high)
void normal_(Tensor& x, double mean = 0, double deviation = 1);  // Gaussian

/// Draws from normal(mean, deviation) within [low, high]. Throws ValueError if fewer than 1 % of
/// the draws would be accepted.
void truncated_normal_(Tensor& x, double mean = 0, double deviation = 1, double low = -2,
                       double high = 2);

/// Fan of a weight [out, in, …]. Fan in is `in` times the remaining sizes, fan out is `out` times
/// the remaining sizes. Throws ShapeError if the rank is below 2.
enum class Fan { in, out };
std::int64_t fan_of(const Tensor& weight, Fan fan);

/// Initializes with variance gain² · 2 / (fan in + fan out). This approximately preserves the
/// variance of values and gradients. Glorot & Bengio 2010.
void xavier_uniform_(Tensor& weight, double gain = 1);
void xavier_normal_(Tensor& weight, double gain = 1);

/// Initializes with variance gain² / fan. Fan::in preserves the variance of values, Fan::out the
/// variance of gradients. The gain √2 is for relu. He et al. 2015.
void kaiming_uniform_(Tensor& weight, Fan fan = Fan::in, double gain = std::sqrt(2.0));
void kaiming_normal_(Tensor& weight, Fan fan = Fan::in, double gain = std::sqrt(2.0));

/// RAII guard under which random initializers on this thread draw nothing.
struct Skip : ScopedValue<bool> {
  [[nodiscard]] Skip();
};

/// Returns deviation / √(2 · layers), for projections onto the residual stream. Radford et al.
/// 2019, §2.3.
double residual_deviation(std::int64_t layers, double deviation = 0.02);

}  // namespace gradus::nn::init
