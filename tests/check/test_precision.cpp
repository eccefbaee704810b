// How far gradients in f32 may be from those in f64, to the rounding.
#include "gradus/check/condition.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/check/conditions.h"

namespace gradus::conditions {
namespace {

constexpr double kUlp = 0x1p-23;

/// Of x + y's numbers, whose sum is 0: no term is larger than what is seen.
const Tensor kX = tensor({1.5, -1.5, 0.75, -0.75}, Dtype::f64);

Tensor total(const Tensors& in) { return sum(in[0]); }

using Error = std::function<Tensor(const Tensor& x)>;  // relative, in ulps

/// The sum of four numbers, whose gradient in f32 is off by so many ulps.
Report sum_off(const Error& ulps) {
  Options options;
  options.dtype = Dtype::f32;
  options.smallest = false;
  const check::Vjp backward = [&](const Tensors& x, const Tensor& dy) {
    const Tensor right = expand(reshape(dy.contiguous(), {1}), x[0].shape()) * 1.0;
    if (x[0].dtype() != Dtype::f32) return Tensors{right};
    return Tensors{right * (ulps(x[0]) * kUlp + 1.0)};
  };
  return check::vjp("sum", total, backward, {kX}, options);
}

Error always(const std::vector<double>& ulps) {
  return [=](const Tensor& x) { return kernel::convert(tensor(ulps), x.dtype()); };
}

/// One way or the other, at random for each x.
Error jittering(double ulps) {
  return [=](const Tensor& x) {
    std::vector<float> all = x.to_vector<float>();
    for (float& v : all) {
      const double place = std::abs(static_cast<double>(v)) * 0x1p23;
      const bool given = v == 1.5F || v == -1.5F || v == 0.75F || v == -0.75F;
      v = static_cast<float>(given || std::fmod(place, 4) < 2 ? ulps : -ulps);
    }
    return tensor(all, x.shape());
  };
}

}  // namespace

TEST_CASE("precision: eight roundings of a sum's root are allowed, and no more") {
  CHECK(sum_off(always({0, 0, 0, 0})));
  const Report most = sum_off(always({7, -7, 7, -7}));
  INFO(most);
  CHECK(most);  // 8 √4 2⁻²⁴ is 8 ulps
  CHECK(sum_off(always({0, 9.5, 0, 0})).verdict == Verdict::fail);
}

TEST_CASE("precision: the worst place is told, with the numbers and how far they are apart") {
  const auto note = [](const std::vector<double>& ulps) {
    const Report report = sum_off(always(ulps));
    REQUIRE(report.findings.size() == 1);
    return report.findings[0].note;
  };
  CHECK(has(note({16, 64, 32, 64}), "in f32: dx0[1] is "));
  CHECK(has(note({16, 64, 32, 64}), " times as far apart as roundings explain"));
  CHECK(has(note({16, -64, 96, 0}), "dx0[2] is "));
  const std::string nan = note({0, 16, std::nan(""), 0});
  CHECK(has(nan, "in f32: dx0[2] is nan, in f64 "));
  CHECK(has(nan, ", inf times as far apart"));
  const std::string far = note({8000, 0, 0, 0});
  const std::size_t is = far.find("] is "), in = far.find(", in f64 "), end = far.find(", 1e+03");
  CAPTURE(far);
  REQUIRE((is != far.npos && in != far.npos && end != far.npos));
  const double found = std::stod(far.substr(is + 5)), right = std::stod(far.substr(in + 9));
  CHECK(far.substr(is + 5, in - is - 5) == check::number(found, 8));
  CHECK(std::abs(found / right - 1 - 8000 * kUlp) < 1e-6);
}

TEST_CASE("precision: a gradient that jitters may be off by 33 times the bound") {
  const Report less = sum_off(jittering(260));
  INFO(less);
  CHECK(less);
  CHECK(sum_off(jittering(268)).verdict == Verdict::fail);
}

TEST_CASE("precision: numbers at the end of f32") {
  Options options;
  options.dtype = Dtype::f32;
  const auto unused = [&](double gradient) {
    const check::Vjp backward = [gradient](const Tensors& x, const Tensor& dy) {
      const Tensor dx = expand(reshape(dy.contiguous(), {1}), x[0].shape()) * 1.0;
      return Tensors{dx, full({2}, x[0].dtype() == Dtype::f32 ? gradient : 0, x[0].dtype())};
    };
    return check::vjp("sum", total, backward, {kX, values({2})}, options).verdict;
  };
  CHECK(unused(0) == Verdict::pass);
  CHECK(unused(5e-37) == Verdict::pass);
  CHECK(unused(2e-36) == Verdict::fail);
  const auto too_large = [&](double x, double factor) {
    const Report report = check::gradients([=](const Tensors& in) { return in[0] * factor; },
                                           {full({1}, x, Dtype::f64)}, options);
    INFO(report);
    CHECK(report);
    return has(report.text(), "not checked in f32: the numbers are too large for it");
  };
  CHECK(!too_large(1, 1e30));
  CHECK(too_large(1, 1.0005e30));
  CHECK(!too_large(1e29, 1e-29));
  CHECK(too_large(1e31, 1e-31));
}

TEST_CASE("precision: what f32 cannot hold of the inputs is no error of the function's") {
  Options options;
  options.dtype = Dtype::f32;
  const auto bent = [](const Tensors& in) { return relu(in[0] - 0.5); };
  // In f32 the first is 0.5, where the slope is 0; a little above it is 1.
  const Report report =
      check::gradients(bent, {tensor({0.5 + 1e-9, 0.25, 0.75}, Dtype::f64)}, options);
  INFO(report);
  CHECK(report.counts.conditions > 0);
  CHECK(!has(report.text(), "in f32"));
}

TEST_CASE("precision: a function that gives f64 for f32 inputs is told, and nothing is not asked") {
  Options options;
  options.dtype = Dtype::f32;
  options.smallest = false;
  const Report report = check::gradients(
      [](const Tensors& in) {
        return in[0].dtype() == Dtype::f64 ? in[0] * 2.0 : in[0].detach().to(Dtype::f64) * 2.0;
      },
      {values({3})}, options);
  REQUIRE(report.findings.size() == 1);
  CHECK(has(report.findings[0].note, "in f32 it throws: the function returns f64 although its"));
  const auto conditions = [&](const std::vector<std::int64_t>& sizes) {
    const Tensor x = zeros(Shape(sizes), Dtype::f64);
    const auto twice = [](const Tensors& in) { return in[0] * 2.0; };
    Options f64 = options;
    f64.dtype = Dtype::f64;
    return check::gradients(twice, {x}, options).counts.conditions -
           check::gradients(twice, {x}, f64).counts.conditions;
  };
  CHECK(conditions({2}) == 1);
  CHECK(conditions({0}) == 0);
}

TEST_CASE("trials: two orders of additions may differ by 64 roundings of a sum's root") {
  const auto right = [](std::int64_t count, double y, double ulps) {
    const auto constant = [=](const Tensors& in) { return in[0] * 0.0 + y; };
    const check::TensorFunction f("constant", constant, {ones({count}, Dtype::f64)}, {});
    check::RowSum rows;
    Report report;
    report.inputs = {{.name = "x0"}};
    check::Trial trial(f, rows, report, f.inputs, check::other_numbers(f.output));
    return trial.same("here", {"CAUSE", "", ""}, [&] {
      check::Result r = f.run(trial.x, trial.dy);
      r.y = r.y * (1 + ulps * 0x1p-52);
      return r;
    });
  };
  for (const double y : {1.0, 0x1p-20, 0x1p20}) {
    CHECK(right(1, y, 64));
    CHECK(!right(1, y, 65));
    CHECK(right(4, y, 128));
    CHECK(!right(4, y, 129));
  }
}

TEST_CASE("trials: terms at an input of zeros are as large as y, and causes are told once") {
  const auto more = [](const Tensors& in) { return in[0] + 3.0; };
  const check::TensorFunction f("more", more, {zeros({2}, Dtype::f64)}, {});
  check::RowSum rows;
  Report report;
  report.inputs = {{.name = "x0"}};
  check::Trial trial(f, rows, report, f.inputs, full({2}, 0.5, Dtype::f64));
  CHECK(trial.carried(0) == 1.5);
  report.inputs[0].cause = {"CAUSE", "", ""};
  trial.add(0, {"CAUSE", "", ""}, "the first");
  CHECK(report.findings.size() == 1);
  trial.add(0, {"CAUSE", "", ""}, "the second");
  CHECK(report.findings.size() == 1);
  const check::TensorFunction pole("pole", [](const Tensors& in) { return 1.0 / in[0]; },
                                   {zeros({2}, Dtype::f64)}, {});
  check::Trial there(pole, rows, report, pole.inputs, full({2}, 0.5, Dtype::f64));
  CHECK(there.same("infinite", {"OTHER", "", ""}, [&] { return pole.run(there.x, there.dy); }));
}

}  // namespace gradus::conditions
