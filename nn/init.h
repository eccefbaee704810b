// Initialisers: what parameters start as. Each writes x in place, unrecorded; the random ones draw
// one stream of generator(), so that a seed gives the same numbers with any number of threads.
//
// Each wants a floating-point tensor without gaps (a parameter, not a strided view of one).
#pragma once

#include <cmath>

#include "gradus/engine/base/thread_state.h"
#include "gradus/engine/tensor.h"

namespace gradus::nn::init {

void zeros_(Tensor& x);                                          // 0
void ones_(Tensor& x);                                           // 1
void uniform_(Tensor& x, double low = 0, double high = 1);       // in [low, high)
void normal_(Tensor& x, double mean = 0, double deviation = 1);  // Gaussian

/// normal(mean, deviation), drawn again until in [low, high]: ValueError where fewer than one draw
/// in a hundred would be.
void truncated_normal_(Tensor& x, double mean = 0, double deviation = 1, double low = -2,
                       double high = 2);

/// What a weight [out, in, …] sums over for each of its outputs, and in backward for each input:
/// fan in = in · (sizes of the other axes), fan out = out · (those). ShapeError below rank 2.
enum class Fan { in, out };
std::int64_t fan_of(const Tensor& weight, Fan fan);

/// Keeps the variance of values forward and of gradients backward about the same: variance
/// gain² · 2 / (fan in + fan out). Glorot & Bengio 2010.
void xavier_uniform_(Tensor& weight, double gain = 1);
void xavier_normal_(Tensor& weight, double gain = 1);

/// Keeps the variance through layers whose activation lets 1/gain² of it pass, √2 for relu:
/// variance gain² / fan. Fan::in for values forward, Fan::out for gradients backward. He et al.
/// 2015.
void kaiming_uniform_(Tensor& weight, Fan fan = Fan::in, double gain = std::sqrt(2.0));
void kaiming_normal_(Tensor& weight, Fan fan = Fan::in, double gain = std::sqrt(2.0));

/// While it lives, random initialisers of this thread draw nothing and leave what memory held: for
/// a model whose every parameter is read from a file or copied next. Constant ones write.
struct Skip : ScopedValue<bool> {
  [[nodiscard]] Skip();
};

/// deviation / √(2 · layers): for the projections onto the residual stream, which adds up two of
/// them a layer. Radford et al. 2019, §2.3.
double residual_deviation(std::int64_t layers, double deviation = 0.02);

}  // namespace gradus::nn::init
