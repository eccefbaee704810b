#include <cmath>

#include "gradus/ops/members.h"
#include "gradus/tests/check/conditions.h"
#include "gradus/tests/check/raw_cases.h"

namespace gradus {
namespace conditions {
namespace {

const std::vector<double> kErrors = {1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11};

bool tensor_passes(double small, int which, double error, const Options& options) {
  const auto backward = [&](const Tensors& x, const Tensor& dy) {
    Tensor dx = 2.0 * x[0] * dy;
    const double off = dy.to_vector<double>()[static_cast<std::size_t>(which)] * error;
    return Tensors{dx +
                   (which == 0 ? tensor({off, 0.0}, Dtype::f64) : tensor({0.0, off}, Dtype::f64))};
  };
  return check::vjp("square", square_of, backward, {tensor({1.0, small}, Dtype::f64)}, options)
             .verdict == Verdict::pass;
}

bool raw_passes(double small, int which, double error, const Options& options) {
  using check::Arguments, check::Values;
  const auto f = [](const Arguments& in) {
    return Values{in[0][0] * in[0][0], in[0][1] * in[0][1]};
  };
  const auto backward = [&](const Arguments& in, const Values& dy) {
    Values dx = {2 * in[0][0] * dy[0], 2 * in[0][1] * dy[1]};
    dx[static_cast<std::size_t>(which)] += dy[static_cast<std::size_t>(which)] * error;
    return Arguments{dx};
  };
  check::RawOptions raw;
  raw.rtol = options.rtol;
  raw.atol = options.atol;
  return raw_cases::run("square", {f, backward}, {{"x", {}, {1.0, small}}}, raw).verdict ==
         Verdict::pass;
}

/// Errors above margin · limit must fail, and errors below limit / margin must pass. Finite
/// differences add an error of about 1e-12.
template <class Passes>
void graded(double limit, double margin, Passes passes) {
  CAPTURE(limit);
  for (const double error : kErrors) {
    CAPTURE(error);
    if (error > margin * limit) CHECK_FALSE(passes(error));
    if (error < limit / margin) CHECK(passes(error));
  }
  CHECK_FALSE(passes(margin * limit));
  CHECK(passes(limit / margin));
}

TEST_CASE("graded errors: rtol and atol accept errors up to their limit and no larger errors") {
  Options mine;
  mine.conditions = mine.smallest = false;
  // Tolerances are relative to the element's derivative: 2 for the large element, 2e-6 for the
  // small one. Upstream gradients weight the small element by 1 to 3, so its margin is 4.
  const auto both = [&](double rtol, double atol) {
    CAPTURE(rtol, atol);
    graded(2 * (rtol + atol), 1.02, [&](double e) { return tensor_passes(1e-6, 0, e, mine); });
    graded(2 * (rtol + atol), 1.02, [&](double e) { return raw_passes(1e-6, 0, e, mine); });
    graded(2e-6 * (rtol + atol), 4, [&](double e) { return tensor_passes(1e-6, 1, e, mine); });
    graded(2e-6 * (rtol + atol), 4, [&](double e) { return raw_passes(1e-6, 1, e, mine); });
  };
  both(1e-7, 1e-9);  // the default tolerances
  mine.rtol = 1e-5, mine.atol = 1e-6;
  both(1e-5, 1e-6);
}

TEST_CASE("graded errors: two equal gradients may differ only by rounding") {
  const auto passes = [](double error) {
    return square_with([&](const Tensors& x, const Tensor& dy) {
             const Tensor dx = 2.0 * x[0] * dy;
             return Tensors{dy.is_contiguous() ? dx : dx * (1.0 + error)};
           }).verdict == Verdict::pass;
  };
  // The limit is 64 √12 2⁻⁵² = 4.9e-14 of the gradient, times a factor of 1 to 8. The factor covers
  // the gradient's terms and the rounding of x.
  graded(1.5e-13, 5, passes);
}

TEST_CASE("graded errors: f32 gradients may err only by rounding") {
  Options mine;
  mine.smallest = false;
  // The limit is 8 √n 2⁻²⁴ of the gradient and its terms. The smallest case has 12 elements, with a
  // limit of 1.7e-6.
  for (const std::int64_t rows : {3, 30}) {
    const Tensor x = values({rows, 4}).to(Dtype::f32);
    graded(6e-6 * std::sqrt(double(rows) / 3), 5, [&](double error) {
      const auto f = [error](const Tensors& in) {
        const Tensor y = in[0] * in[0];
        return in[0].dtype() == Dtype::f32 ? y * (1.0 + error) : y;
      };
      return check::gradients("square", f, {x}, mine).verdict == Verdict::pass;
    });
  }
}

}  // namespace
}  // namespace conditions
}  // namespace gradus
