// Invariances of sequence models, one call each. A model with correct gradients can still see the
// future, mix examples, or read padding. These checks compare outputs.
//
//   REQUIRE(check::causal([&](const Tensor& x) { return model(x); }, ids));
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gradus/engine/tensor.h"
#include "gradus/nn/module.h"

namespace gradus::check {

/// Whether an invariance holds, and a description: "output [1, 3] changed by 0.02 …".
struct Invariance {
  bool holds;
  std::string words;  // one line: the first failure, or what was compared
  explicit operator bool() const { return holds; }
};
std::ostream& operator<<(std::ostream& out, const Invariance& found);

/// Maps sequences x [B, T] (i64 ids) or [B, T, …] (values) to y [B, T, …]. Called with the same
/// random state each time, and without recording except where a gradient is checked.
using SequenceFunction = std::function<Tensor(const Tensor& x)>;

/// Outputs are equal if |a − b| ≤ tolerance · max(1, |a|). The default 0 means 1e-9 in f64 and 1e-4
/// in f32, thousands of rounding errors, as matmuls of other sizes may add in another order.
struct InvarianceOptions {
  double tolerance = 0;
};

/// True if no output depends on a later input. Changes each position in turn together with all
/// after it. For floating-point inputs it also checks that the gradient is 0. Finds masks that are
/// missing or off by one.
Invariance causal(const SequenceFunction& f, const Tensor& x, const InvarianceOptions& = {});

/// True if f(x, lengths) returns for a padded example the same as for the example without padding,
/// whatever the padding contains. At least one length must be less than T.
Invariance padding_invariant(
    const std::function<Tensor(const Tensor& x, const std::vector<std::int64_t>& lengths)>& f,
    const Tensor& x, const std::vector<std::int64_t>& lengths, const InvarianceOptions& = {});

/// True if one call with the entire sequence and calls with one position each return the same.
/// `start` must return a function with a new, empty cache.
Invariance cache_invariant(const SequenceFunction& whole,
                           const std::function<SequenceFunction()>& start, const Tensor& x,
                           const InvarianceOptions& = {});

/// True if the module returns the same in training mode and after eval(), as it must without
/// dropout.
Invariance mode_invariant(nn::Module& module, const SequenceFunction& f, const Tensor& x,
                          const InvarianceOptions& = {});

/// True if permuting the positions of x permutes the output in the same way. This must hold without
/// positional information, and must not hold with it.
Invariance permutation_equivariant(const SequenceFunction& f, const Tensor& x,
                                   const InvarianceOptions& = {});

/// True if each example gives the same result in its batch and in a batch of 1.
Invariance batch_invariant(const SequenceFunction& f, const Tensor& x,
                           const InvarianceOptions& = {});

}  // namespace gradus::check
