// What a model of sequences must not depend on, one call each. Gradients can be right and a model
// still wrong: see the future, mix examples, read padding. These look at what comes out.
//
//   REQUIRE(check::causal([&](const Tensor& x) { return model(x); }, ids));
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gradus/engine/tensor.h"
#include "gradus/nn/module.h"

namespace gradus::check {

/// Whether an invariance holds, and in words where it does not: "output [1, 3] changed by 0.02 …".
struct Invariance {
  bool holds;
  std::string words;  // one line; what was compared, where it holds
  explicit operator bool() const { return holds; }
};
std::ostream& operator<<(std::ostream& out, const Invariance& found);

/// Sequences x [B, T] (i64 ids) or [B, T, …] (numbers) → y [B, T, …]. Called without recording but
/// where it says so, and with the same random numbers each time.
using SequenceFunction = std::function<Tensor(const Tensor& x)>;

/// Outputs are compared as numbers of their own size: |a − b| ≤ tolerance · max(1, |a|). 0 stands
/// for the dtype's: 1e-9 in f64, 1e-4 in f32, thousands of roundings, as products of other sizes
/// may add in another order.
struct InvarianceOptions {
  double tolerance = 0;
};

/// No output depends on an input after it: each position is changed in turn, with all after it,
/// and of numbers the gradient is asked too. Finds masks that are off by one, or not there.
Invariance causal(const SequenceFunction& f, const Tensor& x, const InvarianceOptions& = {});

/// f(x, lengths): an example with padding behind it gives what it gives alone, whatever stands in
/// the padding. At least one length must be shorter than T.
Invariance padding_invariant(
    const std::function<Tensor(const Tensor& x, const std::vector<std::int64_t>& lengths)>& f,
    const Tensor& x, const std::vector<std::int64_t>& lengths, const InvarianceOptions& = {});

/// Whole sequences at once against one position after the other. `start` gives a function that
/// remembers what it was called with: one for each run.
Invariance cache_invariant(const SequenceFunction& whole,
                           const std::function<SequenceFunction()>& start, const Tensor& x,
                           const InvarianceOptions& = {});

/// The module gives the same in training as after eval(): so it must without dropout.
Invariance mode_invariant(nn::Module& module, const SequenceFunction& f, const Tensor& x,
                          const InvarianceOptions& = {});

/// f(x with its positions in another order) = f(x) in that order: so it must be where nothing says
/// where a token stands, and not where something does.
Invariance permutation_equivariant(const SequenceFunction& f, const Tensor& x,
                                   const InvarianceOptions& = {});

/// Each example gives what it gives alone.
Invariance batch_invariant(const SequenceFunction& f, const Tensor& x,
                           const InvarianceOptions& = {});

}  // namespace gradus::check
