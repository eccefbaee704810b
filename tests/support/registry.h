// The registry: samples and an independent reference for every differentiable op and layer.
//
// test_registry.cpp compares each sample with its reference on dual numbers (oracle.h) and with
// finite differences. The test fails if an Op class has no sample.
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
  std::string what;  // "broadcast on both sides, unequal primes"
  Inputs inputs;     // f64 and contiguous, or i64 or bool
  std::function<Tensor(const Inputs&)> f;
  Reference reference;                    // naive version of f
  std::vector<bool> differentiable = {};  // for each input; empty: the floating-point inputs
  bool second = true;                     // true if second derivatives exist
  /// False at a kink or tie, where the reference uses the documented derivative, and where a
  /// gradient stops by definition.
  bool differences = true;
  bool large = false;         // skips finite differences and the complete Jacobian
  std::string function = {};  // public function or layer; default: `op`
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
Samples encoder_model_samples();  // BERT, ViT, listener
Samples indexing_samples();
Samples logic_samples();  // where, masked_fill
Samples loss_samples();
Samples matmul_samples();
Samples movement_samples();
Samples norm_samples();
Samples order_samples();
Samples reduce_samples();
Samples softmax_samples();
Samples position_samples();
Samples convolution_samples();  // conv1d, einsum
Samples linear_attention_samples();
Samples measure_samples();  // entropy and span of attention weights, checkpoint
Samples kink_samples();
Samples large_samples();
Samples large_row_samples();
Samples layer_samples();
Samples training_samples();
Samples token_layer_samples();     // positions, convolution, linear attention, scores, pooling
Samples transformer_samples();     // attention layers, decoders, stacks
Samples option_samples();          // layer options of pretrained models
Samples sequence_model_samples();  // translator, recommender
Samples view_samples();

/// Returns distinct values in ±[0.3, 1.7] with both signs. Each `which` selects other values.
Tensor values(const Shape& shape, int which = 0);
Tensor positive(const Shape& shape, int which = 0);  // in [0.3, 1.7]

}  // namespace gradus::testing
