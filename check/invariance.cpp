// Each check computes the same result in two ways. Axes: B examples, T positions.
#include "gradus/check/invariance.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <ostream>
#include <set>

#include "gradus/check/tensor_function.h"
#include "gradus/engine/backward.h"
#include "gradus/engine/base/random.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/indexing.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"

namespace gradus::check {
namespace {

template <class F, class... Args>
Tensor call(const F& f, const Args&... args) {
  const NoGrad off;
  Generator own(1);
  const GeneratorScope scope(own);
  Tensor y = f(args...);
  require(y.defined() && is_float(y.dtype()), "invariance: the function must return f32 or f64, ",
          "got ", y.defined() ? name_of(y.dtype()) : "an undefined tensor");
  return y;
}

void check_input(const char* check, const Tensor& x) {
  require(x.defined() && x.rank() >= 2 && x.numel() > 0, check,
          ": the input must be nonempty sequences [batch, length, …], got ",
          x.defined() ? to_string(x.shape()) : "an undefined tensor");
}

Tensor example(const Tensor& x, std::int64_t b) { return slice(x, 0, b, b + 1); }

Tensor positions(const Tensor& x, std::int64_t first, std::int64_t last) {
  return slice(x, 1, first, last);
}

/// Returns the largest difference. `why` completes its description.
Invariance compare(const Tensor& a, const Tensor& b, const InvarianceOptions& options,
                   const std::string& why) {
  if (a.shape() != b.shape())
    return {false, str_cat("shapes ", a.shape(), " and ", b.shape(), " differ (", why, ")")};
  const double standard = a.dtype() == Dtype::f64 ? 1e-9 : 1e-4;
  const double tolerance = options.tolerance > 0 ? options.tolerance : standard;
  const Values x = numbers(a), y = numbers(b);
  double worst = 0;
  std::size_t where = 0;
  for (std::size_t i = 0; i < x.size() && !std::isinf(worst); ++i) {
    const double apart = std::abs(x[i] - y[i]) / std::max(1.0, std::abs(x[i]));
    if (x[i] == y[i] || apart <= worst) continue;
    worst = std::isnan(apart) ? INFINITY : apart;
    where = i;
  }
  if (worst <= tolerance) return {true, why};
  return {false, str_cat("output ", gradus::to_string(index_of(where, sizes_of(a))), " is ",
                         x[where], " and ", y[where], " (", why, ")")};
}

template <class Comparison>
Invariance all_hold(std::int64_t first, std::int64_t last, const char* words,
                    Comparison comparison) {
  for (std::int64_t i = first; i < last; ++i)
    if (Invariance found = comparison(i); !found) return found;
  return {true, words};
}

/// Returns x with other ids, or values far from the originals, from position `first` on.
Tensor changed_from(const Tensor& x, std::int64_t first) {
  Tensor y = kernel::copy(x);
  Tensor tail = positions(y, first, x.size(1));
  if (is_float(x.dtype())) {
    tail.copy_(tail * -2.0 + 3.0);
    return y;
  }
  std::vector<std::int64_t> ids = x.to_vector<std::int64_t>();
  const std::set<std::int64_t> kinds(ids.begin(), ids.end());
  require(kinds.size() > 1, "invariance: all ids are ", ids[0],
          ". Use at least two different ids.");
  for (std::int64_t& id : ids) {
    const auto next = kinds.upper_bound(id);
    id = next == kinds.end() ? *kinds.begin() : *next;
  }
  tail.copy_(positions(tensor(ids, x.shape()), first, x.size(1)));
  return y;
}

/// Checks that outputs before t have gradient 0 with respect to inputs from t on.
Invariance no_gradient_from(const SequenceFunction& f, const Tensor& x, std::int64_t t) {
  Generator own(1);
  const GeneratorScope scope(own);
  const Tensor in = kernel::copy(x).requires_grad_();
  const Tensor before = positions(f(in), 0, t);
  Tensor dx;
  if (before.requires_grad()) dx = grad(sum(before * before), in, {.allow_unused = true});
  if (!dx.defined()) return {true, ""};
  for (const double value : numbers(positions(dx, t, x.size(1))))
    if (value != 0)
      return {false,
              str_cat("outputs before position ", t, " have a gradient of ", value,
                      " with respect to later inputs, so the function depends on later positions")};
  return {true, ""};
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Invariance& found) { return out << found.words; }

Invariance causal(const SequenceFunction& f, const Tensor& x, const InvarianceOptions& options) {
  check_input("causal", x);
  const Tensor y = call(f, x);
  return all_hold(1, x.size(1), "no output depends on a later input", [&](std::int64_t t) {
    Invariance same =
        compare(positions(y, 0, t), positions(call(f, changed_from(x, t)), 0, t), options,
                str_cat("before and after a change of inputs from position ", t,
                        " on, so the function depends on later positions"));
    return same && is_float(x.dtype()) ? no_gradient_from(f, x, t) : same;
  });
}

Invariance padding_invariant(
    const std::function<Tensor(const Tensor&, const std::vector<std::int64_t>&)>& f,
    const Tensor& x, const std::vector<std::int64_t>& lengths, const InvarianceOptions& options) {
  check_input("padding_invariant", x);
  const std::int64_t B = x.size(0), T = x.size(1);
  require<ShapeError>(std::ssize(lengths) == B, "padding_invariant: ", lengths.size(),
                      " lengths for a batch of ", B);
  require(*std::min_element(lengths.begin(), lengths.end()) < T,
          "padding_invariant: there is no padding. At least one length must be below ", T, ".");
  const Tensor y = call(f, x, lengths);
  return all_hold(0, B, "padding has no effect", [&](std::int64_t b) {
    const std::vector<std::int64_t> length{lengths[static_cast<std::size_t>(b)]};
    const std::int64_t n = length[0];
    const Tensor mine = positions(example(y, b), 0, n), one = example(x, b);
    Invariance same =
        compare(mine, call(f, positions(one, 0, n), length), options,
                str_cat("example ", b, " of length ", n, " with and without padding"));
    if (!same || n == T) return same;
    return compare(mine, positions(call(f, changed_from(one, n), length), 0, n), options,
                   str_cat("before and after a change of the padding of example ", b,
                           ", so the function reads the padding"));
  });
}

Invariance cache_invariant(const SequenceFunction& whole,
                           const std::function<SequenceFunction()>& start, const Tensor& x,
                           const InvarianceOptions& options) {
  check_input("cache_invariant", x);
  const Tensor y = call(whole, x);
  const SequenceFunction step = start();
  const char* words = "results with and without the cache are equal";
  return all_hold(0, x.size(1), words, [&](std::int64_t t) {
    return compare(positions(y, t, t + 1), call(step, positions(x, t, t + 1)), options,
                   str_cat("together, and step ", t, " with the cache"));
  });
}

Invariance mode_invariant(nn::Module& module, const SequenceFunction& f, const Tensor& x,
                          const InvarianceOptions& options) {
  check_input("mode_invariant", x);
  const bool training = module.training();
  module.train();
  const Tensor y = call(f, x);
  module.eval();
  const Tensor z = call(f, x);
  module.train(training);
  return compare(y, z, options, "in training mode and after eval()");
}

Invariance permutation_equivariant(const SequenceFunction& f, const Tensor& x,
                                   const InvarianceOptions& options) {
  check_input("permutation_equivariant", x);
  const std::int64_t T = x.size(1);
  std::vector<std::int64_t> order(static_cast<std::size_t>(T));
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin(), order.begin() + (T + 1) / 2, order.end());
  if (T > 2) std::swap(order[0], order[1]);
  const Tensor index = tensor(order, {T});
  return compare(index_select(call(f, x), 1, index), call(f, index_select(x, 1, index)), options,
                 "positions permuted after and before the function, so it depends on positions");
}

Invariance batch_invariant(const SequenceFunction& f, const Tensor& x,
                           const InvarianceOptions& options) {
  check_input("batch_invariant", x);
  require<ShapeError>(x.size(0) > 1, "batch_invariant: the batch size must be at least 2, got ",
                      x.size(0));
  const Tensor y = call(f, x);
  return all_hold(0, x.size(0), "each example gives the same result in a batch of 1",
                  [&](std::int64_t b) {
                    return compare(example(y, b), call(f, example(x, b)), options,
                                   str_cat("example ", b, " in its batch and in a batch of 1"));
                  });
}

}  // namespace gradus::check
