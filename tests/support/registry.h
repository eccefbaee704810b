// The registry: every differentiable operation and layer with samples and an independent reference.
//
// One list a family (samples_arithmetic.cpp …). test_registry.cpp holds each sample against its
// reference, run on dual numbers (oracle.h): values, gradients and second derivatives by the kernel
// and by the formula, in f64 and f32; then against differences, and under strided and expanded
// inputs and upstream gradients. An Op class that no sample reaches fails the last test.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gradus/engine/tensor.h"
#include "gradus/tests/support/reference.h"

namespace gradus::testing {

using Inputs = std::vector<Tensor>;

struct Sample {
  std::string op;    // Op::name() that f must reach
  std::string what;  // what is tricky about it: "broadcast on both sides, unequal primes"
  Inputs inputs;     // f64, contiguous; i64 and bool inputs are handed through
  std::function<Tensor(const Inputs&)> f;
  Reference reference;                    // f again, naive
  std::vector<bool> differentiable = {};  // of each input; empty: the floating-point ones
  bool second = true;                     // has second derivatives (false where theory has none)
  /// Differences of f can see its gradient. Not so at a kink or a tie, where the reference takes
  /// the branch whose derivative is the declared one, and where a gradient stops by definition.
  bool differences = true;
  bool large = false;         // too large for differences and whole Jacobians
  std::string function = {};  // the public function or layer that f calls; empty: it is called `op`
};
using Samples = std::vector<Sample>;

inline const std::string& function_of(const Sample& sample) {
  return sample.function.empty() ? sample.op : sample.function;
}

Samples activation_samples();
Samples arithmetic_samples();
Samples attention_samples();
Samples derivative_samples();
Samples dropout_samples();
Samples encoder_model_samples();  // BERT and what stands on it, ViT, the listener
Samples indexing_samples();
Samples logic_samples();  // where, masked_fill
Samples loss_samples();
Samples matmul_samples();
Samples movement_samples();
Samples norm_samples();
Samples order_samples();  // sort, topk values
Samples reduce_samples();
Samples softmax_samples();
Samples position_samples();     // rotary
Samples convolution_samples();  // conv1d, einsum
Samples linear_attention_samples();
Samples measure_samples();  // entropy and span of weights, checkpoint
Samples kink_samples();
Samples large_samples();
Samples large_row_samples();
Samples layer_samples();
Samples training_samples();        // of layers
Samples token_layer_samples();     // positions, convolution, linear attention, scores, pooling
Samples transformer_samples();     // attention layers, decoders, stacks
Samples option_samples();          // what models of other people ask of layers
Samples sequence_model_samples();  // translator, recommender
Samples view_samples();

/// Values in ±[0.3, 1.7] with both signs, all different, the same in every run: nothing rounds to a
/// special case and no two are tied. `which` gives other values.
Tensor values(const Shape& shape, int which = 0);
Tensor positive(const Shape& shape, int which = 0);  // in [0.3, 1.7]

}  // namespace gradus::testing
