// Checks invariances of sequence models. A model with correct gradients can still depend on future
// positions, mix examples, or read padding.
//
//   REQUIRE(check::causal([&](const Tensor& x) { return model(x); }, ids));
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gradus/engine/tensor.h"
#include "gradus/nn/module.h"

namespace gradus::check {

/// Result of a check: whether the invariance holds, and a description such as "output [1, 3]
/// changed by 0.02 …".
struct Invariance {
  bool holds;
  std::string words;  // the first failure, or a summary of the comparison
  explicit operator bool() const { return holds; }
};
std::ostream& operator<<(std::ostream& out, const Invariance& found);

/// Maps x of shape [B, T] (i64 ids) or [B, T, …] (values) to y of shape [B, T, …]. Each call has
/// the same random state, and does not record unless a gradient is needed.
using SequenceFunction = std::function<Tensor(const Tensor& x)>;

/// Outputs are equal if |a − b| ≤ tolerance · max(1, |a|). Default: 1e-9 in f64 and 1e-4 in f32,
/// because matmuls of different sizes may add in a different order.
struct InvarianceOptions {
  double tolerance = 0;
};

/// True if no output depends on a later input. For floating-point inputs, also checks that the
/// gradients with respect to later positions are 0.
Invariance causal(const SequenceFunction& f, const Tensor& x, const InvarianceOptions& = {});

/// True if the content of padding does not change f(x, lengths). At least one length must be less
/// than T.
Invariance padding_invariant(
    const std::function<Tensor(const Tensor& x, const std::vector<std::int64_t>& lengths)>& f,
    const Tensor& x, const std::vector<std::int64_t>& lengths, const InvarianceOptions& = {});

/// True if one call with the entire sequence returns the same as one call per position. `start`
/// returns a function with an empty cache.
Invariance cache_invariant(const SequenceFunction& whole,
                           const std::function<SequenceFunction()>& start, const Tensor& x,
                           const InvarianceOptions& = {});

/// True if training mode and eval() return the same result, as they must without dropout.
Invariance mode_invariant(nn::Module& module, const SequenceFunction& f, const Tensor& x,
                          const InvarianceOptions& = {});

/// True if permuting positions permutes the output. Only models without positional information must
/// have this property.
Invariance permutation_equivariant(const SequenceFunction& f, const Tensor& x,
                                   const InvarianceOptions& = {});

/// True if each example has the same result in the batch and in a batch of 1.
Invariance batch_invariant(const SequenceFunction& f, const Tensor& x,
                           const InvarianceOptions& = {});

}  // namespace gradus::check
