// cross_entropy of logits [..., V] with target classes [...], and nll_loss of log-probabilities.
//
//   loss_n = −Σ_v q_nv log softmax(x_n)_v = A_n lse_n − Σ_v q_nv x_nv
//   q_nv   = c_n [v = target_n] + s w_v      c_n = (1 − ε) w_target,  s = ε / V,  A_n = Σ_v q_nv
//   lse_n  = log Σ_v exp x_nv
//
//   dx_nv  = dloss_n (A_n exp(x_nv − lse_n) − q_nv)
//
// with class weights w (default: 1) and smoothing ε. The mean divides by Σ w_target over targets
// that are not ignored. Saves the logits and lse. Backward recomputes the probabilities, in the
// buffer of the logits if unshared. Rows are summed in double. As in log_softmax, a row that is
// entirely −∞ has gradient 0; its loss is +∞.
#include "gradus/ops/cross_entropy.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "gradus/engine/apply.h"
#include "gradus/engine/base/vmath.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/indexing.h"
#include "gradus/ops/kernels/checks.h"
#include "gradus/ops/kernels/rows.h"
#include "gradus/ops/kernels/through_formula.h"
#include "gradus/ops/logic.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/ops/softmax.h"

namespace gradus {
namespace {

template <class T>
struct Targets {
  std::int64_t V;              // classes
  const std::int64_t* target;  // [N]
  const T* weight;             // [V], or null if all are 1
  std::int64_t ignored;
  T kept, spread, weights;  // 1 − ε, ε / V, Σ_v w_v

  GRADUS_INLINE T at_target(std::int64_t row) const {
    return kept * (weight ? weight[target[row]] : T(1));
  }
};

/// x, loss and lse start at row `begin`. The loss of an ignored row is 0.
template <class T>
GRADUS_INLINE void cross_entropy_rows(const Targets<T>& q, const T* x, T* loss, T* lse,
                                      std::int64_t begin, std::int64_t end) {
  const std::int64_t V = q.V;
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  for (std::int64_t r = begin; r < end; ++r, x += V, ++loss, ++lse) {
    *loss = *lse = 0;
    if (q.target[r] == q.ignored) continue;
    const T m = vmath::max(x, V), c = q.at_target(r), s = q.spread;
    if (m == -kInfinity) {
      *lse = m;
      *loss = kInfinity;
      continue;
    }
    const T total = vmath::sum_of<T>(V, [=](std::int64_t v) { return vmath::exp(x[v] - m); });
    const T log_total = vmath::log(total);
    *lse = m + log_total;
    *loss = c * (m - x[q.target[r]] + log_total);
    if (s == T(0)) continue;
    const T* w = q.weight;
    const T below = w ? vmath::sum_of<T>(V, [=](std::int64_t v) { return w[v] * (m - x[v]); })
                      : vmath::sum_of<T>(V, [=](std::int64_t v) { return m - x[v]; });
    *loss += s * (q.weights * log_total + below);
  }
}

/// dx may equal x.
template <class T>
GRADUS_INLINE void cross_entropy_rows_backward(const Targets<T>& q, const T* x, const T* lse,
                                               StridedRow<T> dloss, T* dx, std::int64_t begin,
                                               std::int64_t end) {
  const std::int64_t V = q.V;
  for (std::int64_t r = begin; r < end; ++r, x += V, dx += V) {
    if (q.target[r] == q.ignored || lse[r] == -std::numeric_limits<T>::infinity()) {
      std::fill_n(dx, V, T(0));
      continue;
    }
    const T d = dloss.data[r * dloss.stride], c = d * q.at_target(r), s = d * q.spread;
    const T a = c + s * q.weights, shift = lse[r];
    if (dx != x) std::copy_n(x, V, dx);  // a single array lets the loops vectorize
    for (std::int64_t v = 0; v < V; ++v) dx[v] = a * vmath::exp(dx[v] - shift);
    const T* w = q.weight;
    if (s != T(0))  // label smoothing
      for (std::int64_t v = 0; v < V; ++v) dx[v] -= s * (w ? w[v] : T(1));
    dx[q.target[r]] -= c;
  }
}

void check_arguments(const char* name, const Tensor& x, const Tensor& target,
                     const CrossEntropyOptions& options) {
  check_defined(name, x, target);
  require<DtypeError>(is_float(x.dtype()) && target.dtype() == Dtype::i64, name,
                      ": expected an f32 or f64 input with i64 targets, got ", x.dtype(), " with ",
                      target.dtype(), ". For probabilities use cross_entropy_soft.");
  Shape rows = x.shape();
  require<ShapeError>(rows.rank() >= 1, name, ": the input ", rows,
                      " has no class axis. Pass [..., classes].");
  rows.erase(rows.rank() - 1);
  require<ShapeError>(target.shape() == rows, name, ": the target for input ", x.shape(),
                      " must be ", rows, ", one class per row, got ", target.shape(),
                      ". The last axis of the input is the class axis.");
  const double smoothing = options.label_smoothing;
  require<ValueError>(smoothing >= 0 && smoothing < 1, name,
                      ": label_smoothing must be in [0, 1), got ", smoothing);
  const Tensor& w = options.weight;
  if (!w.defined()) return;
  require<ShapeError>(w.shape() == Shape{x.size(-1)}, name, ": the class weights for input ",
                      x.shape(), " must be [", x.size(-1), "], one per class, got ", w.shape());
  check_same_dtype(name, "the input", x, "the class weights", w);
  require<GraphError>(!GradMode::enabled() || !w.requires_grad(), name,
                      ": class weights are constants without gradients. Pass weight.detach().");
}

/// Returns Σ w_target over targets that are not ignored. Throws IndexError for an invalid class.
double checked_weights(const char* name, const Tensor& target, std::int64_t classes,
                       const CrossEntropyOptions& options) {
  const std::int64_t ignored = options.ignore_index;
  std::vector<double> weight;
  if (options.weight.defined())
    weight = kernel::convert(options.weight, Dtype::f64).to_vector<double>();
  const auto* t = target.data<std::int64_t>();
  double total = 0;
  for (std::int64_t i = 0; i < target.numel(); ++i) {
    if (t[i] == ignored) continue;
    if (t[i] < 0 || t[i] >= classes) [[unlikely]]
      fail<IndexError>(name, ": target ", t[i], " at ", unravel_index(i, target.shape()),
                       " is neither a class in [0, ", classes, ") nor ignore_index, ", ignored,
                       ". Map it to a class, or set ignore_index.");
    total += weight.empty() ? 1 : weight[static_cast<std::size_t>(t[i])];
  }
  return total;
}

/// Computes the loss with public ops. Zeroes ignored rows, so that even NaN cannot affect the
/// result.
Tensor cross_entropy_formula(const Tensor& x, const Tensor& classes,
                             const CrossEntropyOptions& options) {
  const Tensor ignored = equal(classes, static_cast<double>(options.ignore_index));
  return nll_loss(log_softmax(masked_fill(x, unsqueeze(ignored, -1), 0)), classes, options);
}

}  // namespace

namespace op {

struct CrossEntropy final : Op {
  CrossEntropyOptions options;  // with a contiguous `weight`
  double divisor;               // divisor of the mean; 0 if all targets are ignored
  Saved logits, target;
  Tensor lse;  // [N]

  CrossEntropy(CrossEntropyOptions chosen, double counted)
      : options(std::move(chosen)), divisor(counted) {}
  const char* name() const override { return "cross_entropy"; }

  template <class T>
  Targets<T> targets(const Tensor& classes) const {
    const std::int64_t V = logits.shape()[logits.shape().rank() - 1];
    const T* w = options.weight.defined() ? options.weight.data<T>() : nullptr;
    const double sum = w ? static_cast<double>(vmath::sum(w, V)) : static_cast<double>(V);
    const double e = options.label_smoothing;
    return {.V = V,
            .target = classes.data<std::int64_t>(),
            .weight = w,
            .ignored = options.ignore_index,
            .kept = static_cast<T>(1 - e),
            .spread = static_cast<T>(e / static_cast<double>(V)),
            .weights = static_cast<T>(sum)};
  }

  double factor() const {  // factor of each row's loss
    if (options.reduction != Reduction::mean) return 1;
    return divisor == 0 ? 0 : 1 / divisor;
  }

  Tensor forward(const Tensor& x, const Tensor& classes) {
    logits = x;
    target = classes;
    const Tensor packed = kernel::contiguous(x);
    const Rows rows(packed);
    lse = Tensor::empty(classes.shape(), x.dtype());
    Tensor loss = Tensor::empty_like(lse), result = loss;
    dispatch_float(name(), x.dtype(), [&]<class T>() {
      const Targets<T> q = targets<T>(classes);
      const T* from = packed.data<T>();
      T *each = loss.mutable_data<T>(), *sums = lse.mutable_data<T>();
      for_rows(rows, 4, [&](std::int64_t begin, std::int64_t end) {
        simd::run<cross_entropy_rows<T>>(q, from + begin * rows.length, each + begin, sums + begin,
                                         begin, end);
      });
      if (options.reduction == Reduction::none) return;
      const auto total = vmath::sum_of<double>(
          rows.count, [=](std::int64_t r) { return static_cast<double>(each[r]); });
      result = Tensor::empty({}, x.dtype());
      *result.mutable_data<T>() = static_cast<T>(factor() == 0 ? 0 : total * factor());
    });
    return result;
  }

  Gradients backward(const Tensor& dy, const NeedsGrad& needs_grad) override {
    if (GradMode::enabled() || formula_wanted())
      return through_formula(dy, needs_grad, {logits.value(), Tensor()},
                             [this](const std::vector<Tensor>& in) {
                               return cross_entropy_formula(in[0], target.value(), options);
                             });
    const Tensor x = logits.take(needs_grad), classes = target.value();
    Tensor dx = reuse_or_empty(x);
    const Tensor packed = kernel::contiguous(x);
    const Rows rows(packed);
    const Tensor upstream = kernel::contiguous(dy);
    const std::int64_t step = options.reduction == Reduction::none ? 1 : 0;
    dispatch_float(name(), x.dtype(), [&]<class T>() {
      const Targets<T> q = targets<T>(classes);
      const T *from = packed.data<T>(), *sums = lse.data<T>(), *in = upstream.data<T>();
      const T shared = step ? T(0) : static_cast<T>(static_cast<double>(*in) * factor());
      T* out = dx.mutable_data<T>();
      for_rows(rows, 4, [&](std::int64_t begin, std::int64_t end) {
        const std::int64_t at = begin * rows.length;
        simd::run<cross_entropy_rows_backward<T>>(
            q, from + at, sums, StridedRow<T>{step ? in : &shared, step}, out + at, begin, end);
      });
    });
    return {dx, {}};
  }
};

}  // namespace op

Tensor cross_entropy(const Tensor& logits, const Tensor& target,
                     const CrossEntropyOptions& options) {
  check_arguments("cross_entropy", logits, target, options);
  const Tensor classes = kernel::contiguous(target);
  const double counted = checked_weights("cross_entropy", classes, logits.size(-1), options);
  if (formula_wanted()) return cross_entropy_formula(logits, classes, options);
  CrossEntropyOptions chosen = options;
  chosen.weight = kernel::contiguous(options.weight);
  return apply(op::CrossEntropy(chosen, counted), logits, classes);
}

Tensor nll_loss(const Tensor& log_probabilities, const Tensor& target,
                const CrossEntropyOptions& options) {
  check_arguments("nll_loss", log_probabilities, target, options);
  const Tensor classes = kernel::contiguous(target);
  const std::int64_t V = log_probabilities.size(-1);
  const double counted = checked_weights("nll_loss", classes, V, options);
  const Tensor ignored = equal(classes, static_cast<double>(options.ignore_index));  // [...]
  const Tensor index = masked_fill(classes, ignored, 0);
  const Tensor picked = gather(log_probabilities, -1, unsqueeze(index, -1));  // [..., 1]
  Tensor loss = squeeze(picked, -1) * (options.label_smoothing - 1);
  const Tensor& w = options.weight;
  if (w.defined()) loss = loss * reshape(index_select(w, 0, reshape(index, {-1})), index.shape());
  if (options.label_smoothing > 0) {
    const Tensor weighted = w.defined() ? log_probabilities * w : log_probabilities;
    loss = loss - sum(weighted, {-1}) * (options.label_smoothing / static_cast<double>(V));
  }
  loss = masked_fill(loss, ignored, 0);
  if (options.reduction == Reduction::none) return loss;
  const double divisor = options.reduction == Reduction::sum ? 1 : counted;
  return sum(loss) * (divisor == 0 ? 0 : 1 / divisor);
}

}  // namespace gradus
