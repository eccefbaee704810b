// Tests gradients that are added up: in .grad, for a tensor used twice, and for a subset of the
// inputs.
#include <algorithm>

#include "gradus/check/condition.h"
#include "gradus/engine/backward.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/arithmetic.h"

namespace gradus::check {
namespace {

const Cause kAccumulation = {
    "ACCUMULATION", "correct as the only gradient, wrong when added to another",
    "return the gradient in a separate buffer that is neither kept nor reused, and leave all "
    "additions to the engine"};
const Cause kSameInput = {"SAME INPUT TWICE",
                          "correct for two inputs, wrong if both are the same tensor",
                          "do not compare tensors or their storage"};
const Cause kSubset = {"WANTS", "correct if all inputs require a gradient, wrong if only some do",
                       "check needs_grad(i): a sum, a product or a saved tensor that another "
                       "input needs is missing"};

/// Returns nonzero gradients of the same magnitude as dx, so that rounding cannot hide them in a
/// sum.
Tensors other_gradients(const Tensors& dx) {
  return for_each_defined(dx, [&](std::size_t k) {
    const double size = largest_of(numbers(dx[k]));
    return other_numbers(dx[k]) * (size > 0 ? size : 1.0);
  });
}

Tensors sums(const Tensors& a, const Tensors& b) {
  return for_each_defined(a, [&](std::size_t k) { return a[k] + b[k]; });
}

Tensors grads_of(const Tensors& leaves) {
  return for_each_defined(leaves, [&](std::size_t k) { return leaves[k].grad(); });
}

/// Returns f(in), or an undefined tensor if f throws. A module throws if a parameter is not a leaf.
Tensor unless_refused(const Trial& t, const Tensors& in) {
  try {
    return t.f.call(in);
  } catch (const std::exception&) {
    return {};
  }
}

/// The gradient of a second loss, or of a second batch, is added to .grad.
void grad_in_use(Trial& t) {
  const Tensors before = other_gradients(t.base.dx);
  const auto run = [&] {
    Tensors in = t.f.leaves(t.x);
    for (std::size_t k = 0; k < in.size(); ++k)
      if (in[k].requires_grad()) in[k].set_grad(kernel::copy(before[k]));
    const Tensor y = t.f.call(in);
    if (y.requires_grad()) y.backward(t.dy);
    return Outcome{y.detach(), grads_of(in)};
  };
  t.equal("with an existing .grad", kAccumulation, run, {t.base.y, sums(t.base.dx, before)});
}

/// A second backward pass with keep_graph must not change the gradients of the first.
void first_gradients_stay(Trial& t) {
  t.same("in the gradients of the first backward pass after a second one", kAccumulation, [&] {
    const Tensors in = t.f.leaves(t.x);
    const Tensor y = t.f.call(in);
    const Tensors first = t.f.gradients(y, in, t.dy);
    t.f.gradients(y, in, t.dy * 2.0);
    return Outcome{{}, first};
  });
}

/// Calls f(x) twice, as with tied weights. Both contributions must reach the same leaf.
void used_twice(Trial& t) {
  const auto run = [&] {
    const Tensors in = t.f.leaves(t.x);
    const Tensor y1 = t.f.call(in), y2 = t.f.call(in);
    if (y1.requires_grad()) backward({y1, y2}, {t.dy, t.dy * 2.0});
    const Tensors dx = grads_of(in);
    return Outcome{{}, for_each_defined(t.base.dx, [&](std::size_t k) {
                     return dx[k].defined() ? dx[k] : in[k].detach() * 0.0;
                   })};
  };
  t.equal("for the sum of f(x) and 2 f(x)", kAccumulation, run,
          {{}, for_each_defined(t.base.dx, [&](std::size_t k) { return t.base.dx[k] * 3.0; })});
}

/// x is also used outside f, as in a residual connection. The engine adds to the returned gradient
/// in place, so no other tensor may share its buffer.
void beside_another_path(Trial& t) {
  const Tensors beside = other_gradients(t.base.dx);
  const auto run = [&] {
    const Tensors leaves = t.f.leaves(t.x);
    Tensors in = leaves, outputs, upstream;
    for (std::size_t k = 0; k < in.size(); ++k) {
      if (!in[k].requires_grad()) continue;
      in[k] = in[k] * 1.0;
      outputs.push_back(in[k]);
      upstream.push_back(beside[k]);
    }
    const Tensor y = unless_refused(t, in);
    if (!y.defined()) return Outcome{{}, Tensors(in.size())};
    if (y.requires_grad()) {
      outputs.push_back(y);
      upstream.push_back(t.dy);
    }
    backward(outputs, upstream);
    return Outcome{{}, grads_of(leaves)};
  };
  t.equal("with x also used outside f", kAccumulation, run, {{}, sums(t.base.dx, beside)});
}

/// Calls f(x, x), as in attention with q = k = v.
void one_tensor_for_two_inputs(Trial& t, std::size_t i, std::size_t j) {
  Tensors copies = t.x;
  copies[j] = kernel::copy(t.x[i]);
  try {
    Trial apart = t.elsewhere(copies, t.dy);
    Outcome expected = {apart.base.y, Tensors(t.x.size())};
    expected.dx[i] = apart.base.dx[i] + apart.base.dx[j];
    const auto run = [&] {
      Tensors in = t.f.leaves(copies);
      in[j] = in[i];
      const Tensor y = unless_refused(t, in);
      if (!y.defined()) return Outcome{{}, Tensors(in.size())};
      return Outcome{y.detach(), t.f.gradients(y, in, t.dy)};
    };
    const std::vector<std::string>& names = t.f.options.names;
    apart.equal("with one tensor for " + names[i] + " and " + names[j], kSameInput, run, expected);
  } catch (const std::exception&) {
    return;  // f rejects two equal inputs
  }
}

void same_tensor_twice(Trial& t) {
  int pairs = 0;
  const Flags& wanted = t.f.wanted();
  for (std::size_t i = 0; i < t.x.size(); ++i)
    for (std::size_t j = i + 1; j < t.x.size() && pairs < 3; ++j) {
      if (!wanted[i] || !wanted[j] || t.x[i].shape() != t.x[j].shape()) continue;
      one_tensor_for_two_inputs(t, i, j);
      ++pairs;
    }
}

/// Some inputs need no gradient, as in frozen layers. backward may then skip work, but must return
/// the same gradients for the other inputs.
void subsets(Trial& t) {
  const Flags& all = t.f.wanted();
  const auto count = std::count(all.begin(), all.end(), true);
  const auto right = [&](const std::string& what, const Flags& wanted) {
    return t.same(what, kSubset, [&] { return t.f.run(t.x, t.dy, wanted); });
  };
  for (std::size_t k = 0; k < all.size() && count > 1; ++k) {
    if (!all[k]) continue;
    const std::string& name = t.f.options.names[k];
    Flags alone(all.size(), false), others = all;
    alone[k] = true;
    others[k] = false;
    if (!right("when only " + name + " requires a gradient", alone)) return;
    if (count > 2 && !right("when " + name + " requires no gradient", others)) return;
  }
}

}  // namespace

void check_accumulation(Trial& trial) {
  grad_in_use(trial);
  first_gradients_stay(trial);
  used_twice(trial);
  beside_another_path(trial);
  same_tensor_twice(trial);
  subsets(trial);
}

}  // namespace gradus::check
