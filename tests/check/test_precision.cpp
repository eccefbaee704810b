#include <cmath>

#include "gradus/ops/members.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/check/conditions.h"

namespace gradus::conditions {
namespace {

constexpr double kUlp = 0x1p-23;

/// The sum is 0, but its terms are as large as the values.
const Tensor kInput = tensor({1.5, -1.5, 0.75, -0.75}, Dtype::f64);

Tensor total(const Tensors& in) { return sum(in[0]); }

Options in_f32() {
  Options options;
  options.dtype = Dtype::f32;
  options.smallest = false;
  return options;
}

using Error = std::function<Tensor(const Tensor& x)>;  // error in ulps

Report sum_off(const Error& ulps) {
  const check::Vjp backward = [&](const Tensors& x, const Tensor& dy) {
    const Tensor right = expand(reshape(dy.contiguous(), {1}), x[0].shape()) * 1.0;
    if (x[0].dtype() != Dtype::f32) return Tensors{right};
    return Tensors{right * (ulps(x[0]) * kUlp + 1.0)};
  };
  return check::vjp("sum", total, backward, {kInput}, in_f32());
}

Error always(const std::vector<double>& ulps) {
  return [=](const Tensor& x) { return kernel::convert(tensor(ulps), x.dtype()); };
}

}  // namespace

TEST_CASE("precision: a sum of n terms may have an error of at most 8 √n roundings") {
  CHECK(sum_off(always({0, 0, 0, 0})));
  const Report most = sum_off(always({7, -7, 7, -7}));
  INFO(most);
  CHECK(most);  // the limit 8 √4 2⁻²⁴ is 8 ulps
  CHECK(sum_off(always({0, 9.5, 0, 0})).verdict == Verdict::fail);
}

TEST_CASE("precision: the worst element is reported with both of its values") {
  const auto note = [](const std::vector<double>& ulps) {
    const Report report = sum_off(always(ulps));
    REQUIRE(report.findings.size() == 1);
    return report.findings[0].note;
  };
  CHECK(has(note({16, 64, 32, 64}), "in f32: dx0[1] is "));
  CHECK(has(note({16, 64, 32, 64}), " times what rounding explains"));
  CHECK(has(note({16, -64, 96, 0}), "dx0[2] is "));
  const std::string nan = note({0, 16, std::nan(""), 0});
  CHECK(has(nan, "in f32: dx0[2] is nan, in f64 "));
}

TEST_CASE("precision: rounding of the inputs to f32 does not count as an error") {
  const auto bent = [](const Tensors& in) { return relu(in[0] - 0.5); };
  // Rounding to f32 changes the first value to 0.5, where the slope is 0 rather than 1.
  const Report report =
      check::gradients(bent, {tensor({0.5 + 1e-9, 0.25, 0.75}, Dtype::f64)}, in_f32());
  INFO(report);
  CHECK(report.counts.conditions > 0);
  CHECK(!has(report.text(), "in f32"));
}

TEST_CASE("precision: a function that returns f64 for f32 inputs fails") {
  const auto f = [](const Tensors& in) {
    return in[0].dtype() == Dtype::f64 ? in[0] * 2.0 : in[0].detach().to(Dtype::f64) * 2.0;
  };
  const Report report = check::gradients("wide", f, {values({3})}, in_f32());
  REQUIRE(report.findings.size() == 1);
  CHECK(report.inputs[0].cause.name == "PRECISION");
  CHECK(has(report.findings[0].note, "the function returns f64"));
}

TEST_CASE("precision: an error of 1e-4 fails in f32, by input dtype or by request") {
  const auto rough = [](double off) {
    return [off](const Tensors& in) {
      const Tensor y = exp(in[0]) * in[1];
      return in[0].dtype() == Dtype::f32 ? y * (1.0 + off) : y;
    };
  };
  const Tensors in = {values({3, 4}).to(Dtype::f32), values({4}, 1).to(Dtype::f32)};
  CHECK(check::gradients("fine", rough(0), in));
  const Report report = check::gradients("rough", rough(1e-4), in);
  caught(report, "PRECISION");
  Tensor off = ones({3, 4});
  off.mutable_data<float>()[9] = 1.001f;
  const auto at_one = [&](const Tensors& x) {
    return x[0].dtype() == Dtype::f32 ? x[0] * x[1] * off : x[0] * x[1];
  };
  Options whole;
  whole.smallest = false;  // `off` has a fixed size
  const Report one = check::gradients("one", at_one, in, whole);
  INFO(one);
  CHECK(has(one.text(), "in f32: dx0[2,1]"));
  Options options;
  options.dtype = Dtype::f64;
  CHECK(check::gradients("rough", rough(1e-4), in, options));
  const Tensors wide = {values({3, 4}), values({4}, 1)};
  CHECK(check::gradients("rough", rough(1e-4), wide));
  options.dtype = Dtype::f32;
  CHECK(check::gradients("rough", rough(1e-4), wide, options).verdict == Verdict::fail);
}

TEST_CASE("precision: a function without f32 gives a note, and fails if f32 is requested") {
  const Tensor other = values({3});
  const auto f = [&](const Tensors& in) { return in[0] * other; };
  const Report noted = check::gradients("fixed", f, {values({3}).to(Dtype::f32)});
  INFO(noted);
  CHECK(noted);
  CHECK(has(noted.text(), "not checked in f32, where the function throws"));
  Options options;
  options.dtype = Dtype::f32;
  const Report report = check::gradients("fixed", f, {values({3})}, options);
  caught(report, "PRECISION");
  const Report large = check::gradients(
      "large", [](const Tensors& in) { return in[0] * 1e35; }, {values({3})}, options);
  CHECK(large);
  CHECK(has(large.text(), "where the values overflow"));
}

}  // namespace gradus::conditions
