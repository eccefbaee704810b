// Compares gradients in f32 with gradients in f64, because finite differences are too inaccurate in
// f32. Both must be equal up to rounding errors:
//
//   |g₃₂ - g₆₄|ᵢ ≤ 8 √k 2⁻²⁴ ( |J|ᵀ|dy| + |∂g/∂x| |x| + |dy| |y| / |x| )ᵢ
//
// The first term bounds gᵢ, a sum of products over outputs. Its k rounding errors of random sign
// add up to √k, where k is the size of the largest tensor. The second term, measured by perturbing
// x, allows for intermediate roundings, which act like roundings of x. The third term allows for
// terms that cancel (softmax of one element), and the factor 8 for a sequence of ops.
//
// Terms inside f may be larger (layer norm over two nearly equal elements, logits in the hundreds).
// The check therefore also allows 8 times the change of g₃₂ when x changes by one rounding, up to
// 32 times the bound.
#include <algorithm>
#include <cmath>

#include "gradus/check/condition.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/create.h"

namespace gradus::check {
namespace {

const Cause kPrecision = {
    "PRECISION", "correct in f64, but the error in f32 exceeds rounding",
    "sum in double where terms cancel, subtract the maximum before exp, and check constants that "
    "f32 cannot represent: an eps of 1e-10, a mask of -1e300"};

Tensors converted(const Tensors& x, Dtype dtype) {
  return for_each_defined(x, [&](std::size_t k) {
    return is_float(x[k].dtype()) ? kernel::convert(x[k], dtype) : x[k];
  });
}

/// True if no value exceeds 1e30, above which ops may overflow in f32.
bool fits_f32(const Tensors& x) {
  return std::all_of(x.begin(), x.end(),
                     [](const Tensor& each) { return largest_of(numbers(each)) <= 1e30; });
}

/// Returns the change of the f32 gradient when x changes by one rounding.
Values jitter(const Trial& f64, const Tensors& x, const Tensor& dy, std::size_t k,
              const Values& found) {
  Values most(found.size(), 0.0);
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const Tensors moved = nudged(x, f64.f.wanted(), 0x1p-23, seed);
    const Values now = numbers(f64.f.run(moved, dy).dx[k]);
    for (std::size_t j = 0; j < most.size(); ++j)
      most[j] = std::max(most[j], std::abs(now[j] - found[j]));
  }
  return most;
}

/// Compares gradient k. `t` is in f64, at the f32 values of x and dy.
void compare(Trial& t, const Tensors& x, const Tensor& dy, std::size_t k, const Tensor& dx) {
  const Values found = numbers(dx), right = numbers(t.base.dx[k]);
  std::int64_t terms = t.base.y.numel();
  for (const Tensor& each : t.x) terms = std::max(terms, each.numel());
  const double rounding = 8 * std::sqrt(static_cast<double>(terms)) * 0x1p-24;
  const double all = t.carried(k);
  Values noise;
  std::size_t worst = 0;
  double excess = 0;
  for (std::size_t j = 0; j < found.size(); ++j) {
    double allowed =
        rounding * (t.rows.magnitude[k][j] + all) + 1e-36;  // normal f32 values end at 1e-38
    const double off = std::abs(found[j] - right[j]);
    if (!std::isfinite(right[j]) || off <= allowed) continue;
    if (noise.empty()) noise = jitter(t, x, dy, k, found);
    allowed += std::min(8 * noise[j], 32 * allowed);
    if (off <= allowed) continue;
    const double now = std::isfinite(off) ? off / allowed : INFINITY;
    if (now <= excess) continue;
    excess = now;
    worst = j;
  }
  if (excess == 0) return;
  t.add(k, kPrecision,
        joined("in f32: ", indexed("d" + t.f.options.names[k], index_of(worst, sizes_of(dx))),
               " is ", number(found[worst], 8), ", in f64 ", number(right[worst], 8),
               "; the difference is ", number(excess, 3), " times what rounding explains"));
}

}  // namespace

/// Tests f32, which has separate kernels and branches, and whose sums lose digits.
void check_precision(Trial& t) {
  if (!t.f.f32 || t.rows.dy.empty()) return;
  const Tensors rough = converted(t.x, Dtype::f32);
  const Tensor dy = kernel::convert(tensor(t.rows.dy, t.dy.shape()), Dtype::f32);
  if (!fits_f32(rough) || !fits_f32({t.base.y})) {
    t.report.notes.emplace_back("not checked in f32, where the values overflow");
    return;
  }
  ++t.report.counts.conditions;
  Outcome found;
  try {
    found = t.f.run(rough, dy);
    require<DtypeError>(found.y.dtype() == Dtype::f32, "the function returns ", found.y.dtype(),
                        " although its inputs are f32");
  } catch (const std::exception& error) {
    if (t.f.options.dtype)
      t.add(0, kPrecision, std::string("in f32 the function throws: ") + error.what());
    else
      t.report.notes.push_back(std::string("not checked in f32, where the function throws: ") +
                               error.what());
    return;
  }
  // The f64 reference uses the inputs rounded to f32.
  Trial oracle = t.elsewhere(converted(rough, Dtype::f64), kernel::convert(dy, Dtype::f64));
  for (std::size_t k = 0; k < t.x.size(); ++k)
    if (found.dx[k].defined()) compare(oracle, rough, dy, k, found.dx[k]);
}

}  // namespace gradus::check
