// Gradients meet: in .grad, at a tensor that is used twice, at inputs of which only some want one.
#include <algorithm>
#include <utility>

#include "gradus/check/condition.h"
#include "gradus/engine/backward.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/members.h"

namespace gradus::check {
namespace {

const core::Cause kAccumulation = {
    "ACCUMULATION", "right when it is alone, wrong where it is added to another gradient",
    "return a gradient in memory of its own, never in a buffer that is kept or used again, and "
    "leave every addition to the engine"};
const core::Cause kSameInput = {
    "SAME INPUT TWICE", "right for two inputs, wrong where both are one and the same tensor",
    "is something decided, or written, by comparing tensors or their storage?"};
const core::Cause kSubset = {
    "WANTS", "right when all inputs want a gradient, wrong when only some do",
    "look at wants(i): a sum, a product or a saved tensor that another input needs is left out"};

/// Other numbers of the gradients' own size: neither drowns the other.
Tensors dirt_for(const Tensors& dx) {
  Tensors out;
  for (const Tensor& d : dx) {
    const double size = d.defined() ? core::largest_of(numbers(d)) : 0;
    out.push_back(d.defined() ? other_numbers(d) * (size > 0 ? size : 1.0) : Tensor());
  }
  return out;
}

Tensors sums(Tensors a, const Tensors& b) {
  for (std::size_t k = 0; k < a.size(); ++k)
    if (a[k].defined()) a[k] = a[k] + b[k];
  return a;
}

Tensors scaled(const Tensors& dx, double factor) {
  Tensors out;
  for (const Tensor& d : dx) out.push_back(d.defined() ? d * factor : d);
  return out;
}

Tensors grads_of(const Tensors& leaves) {
  Tensors out;
  for (const Tensor& x : leaves) out.push_back(x.requires_grad() ? x.grad() : Tensor());
  return out;
}

/// What f makes of these inputs; undefined where it refuses them, as a module does with parameters
/// that are no leaves, or one and the same.
Tensor unless_refused(const Trial& t, const Tensors& in) {
  try {
    return t.subject.call(in);
  } catch (const std::exception&) {
    return {};
  }
}

/// A second loss, or a second batch before optimizer.step(), adds to what .grad holds.
void dirty_grad(Trial& t) {
  const Tensors dirt = dirt_for(t.base.dx);
  t.equal(".grad held something before, and now", kAccumulation,
          [&] {
            const GradMode on(true);
            Tensors in = t.subject.leaves(t.x);
            for (std::size_t k = 0; k < in.size(); ++k)
              if (in[k].requires_grad()) in[k].set_grad(kernel::copy(dirt[k]));
            const Tensor y = t.subject.call(in);
            if (y.requires_grad()) y.backward(t.dy);
            return Answer{y.detach(), grads_of(in)};
          },
          {t.base.y, sums(t.base.dx, dirt)});
}

/// keep_graph: backward goes through one graph again. What it gave the first time must stay.
void first_gradients_stay(Trial& t) {
  t.same("after a second backward pass, in the gradients of the first", kAccumulation, [&] {
    const GradMode on(true);
    const Tensors in = t.subject.leaves(t.x);
    const Tensor y = t.subject.call(in);
    const Tensors first = t.subject.gradients(y, in, t.dy);
    t.subject.gradients(y, in, t.dy * 2.0);
    return Answer{{}, first};
  });
}

/// f(x) twice in one network, as with tied weights: both contributions arrive at one leaf.
void used_twice(Trial& t) {
  t.equal("for the sum of f(x) and 2 f(x)", kAccumulation,
          [&] {
            const GradMode on(true);
            const Tensors in = t.subject.leaves(t.x);
            const Tensor y1 = t.subject.call(in), y2 = t.subject.call(in);
            if (y1.requires_grad() && y2.requires_grad()) backward({y1, y2}, {t.dy, t.dy * 2.0});
            Tensors dx = grads_of(in);
            for (std::size_t k = 0; k < dx.size(); ++k)
              if (in[k].requires_grad() && !dx[k].defined()) dx[k] = in[k].detach() * 0.0;
            return Answer{{}, dx};
          },
          {{}, scaled(t.base.dx, 3)});
}

/// x comes from an operation, and is used beside f too: a residual connection. The gradient that
/// backward returned is added to, so it must be nobody else's.
void beside_another_path(Trial& t) {
  const Tensors beside = dirt_for(t.base.dx);
  t.equal("with another path beside f", kAccumulation,
          [&] {
            const GradMode on(true);
            const Tensors leaves = t.subject.leaves(t.x);
            Tensors in = leaves, outputs, upstream;
            for (std::size_t k = 0; k < in.size(); ++k) {
              if (!in[k].requires_grad()) continue;
              in[k] = in[k] * 1.0;
              outputs.push_back(in[k]);
              upstream.push_back(beside[k]);
            }
            const Tensor y = unless_refused(t, in);
            if (!y.defined()) return Answer{{}, Tensors(in.size())};
            if (y.requires_grad()) outputs.push_back(y), upstream.push_back(t.dy);
            backward(outputs, upstream);
            return Answer{{}, grads_of(leaves)};
          },
          {{}, sums(t.base.dx, beside)});
}

/// f(x, x): attention with q = k = v, a product with itself. One leaf gets both gradients.
void one_tensor_for_two_inputs(Trial& t, std::size_t i, std::size_t j) {
  Tensors copies = t.x;
  copies[j] = kernel::copy(t.x[i]);
  try {
    Trial apart = t.elsewhere(copies, t.dy);
    Answer expected = {apart.base.y, Tensors(t.x.size())};
    expected.dx[i] = apart.base.dx[i] + apart.base.dx[j];
    const std::string &a = t.subject.options.names[i], &b = t.subject.options.names[j];
    apart.equal(
        "with one tensor for " + a + " and " + b, kSameInput,
        [&] {
          const GradMode on(true);
          Tensors in = t.subject.leaves(copies);
          in[j] = in[i];
          const Tensor y = unless_refused(t, in);
          if (!y.defined()) return Answer{{}, Tensors(in.size())};
          Answer found = {y.detach(), t.subject.gradients(y, in, t.dy)};
          found.dx[j] = {};
          return found;
        },
        expected);
  } catch (const std::exception&) {
    return;  // two equal inputs are nothing that this function takes
  }
}

void same_tensor_twice(Trial& t) {
  int pairs = 0;
  const Flags& wanted = t.subject.wanted();
  for (std::size_t i = 0; i < t.x.size(); ++i)
    for (std::size_t j = i + 1; j < t.x.size() && pairs < 3; ++j) {
      if (!wanted[i] || !wanted[j] || t.x[i].shape() != t.x[j].shape()) continue;
      one_tensor_for_two_inputs(t, i, j);
      ++pairs;
    }
}

/// Frozen layers, fine-tuned heads: only some inputs want a gradient, and backward may take short
/// cuts for the others.
void subsets(Trial& t) {
  const Flags& all = t.subject.wanted();
  const auto count = std::count(all.begin(), all.end(), true);
  if (count < 2) return;
  for (std::size_t k = 0; k < all.size(); ++k) {
    if (!all[k]) continue;
    Flags alone(all.size(), false), others = all;
    alone[k] = true, others[k] = false;
    const std::string& name = t.subject.options.names[k];
    const auto with = [&](const Flags& wanted) {
      return [&t, wanted] { return t.subject.answer(t.x, t.dy, wanted); };
    };
    if (!t.same("when only " + name + " wants a gradient", kSubset, with(alone))) return;
    if (count > 2 && !t.same("when " + name + " wants no gradient", kSubset, with(others))) return;
  }
}

}  // namespace

void check_accumulation(Trial& trial) {
  dirty_grad(trial);
  first_gradients_stay(trial);
  used_twice(trial);
  beside_another_path(trial);
  same_tensor_twice(trial);
  subsets(trial);
}

}  // namespace gradus::check
