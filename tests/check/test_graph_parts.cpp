// What a look at the operations of a step takes for one kind, moves, leaves out and says.
#include <functional>

#include "gradus/check/graph.h"
#include "gradus/engine/apply.h"
#include "gradus/engine/strided.h"
#include "gradus/nn/module.h"
#include "gradus/ops/checkpoint.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/thrown.h"

namespace gradus {

namespace op {

/// f of one or two inputs, of which one may be undefined, with a backward by hand.
struct Made final : Op {
  using F = std::function<Tensor(const Tensor& a, const Tensor& b)>;
  using Df = std::function<Tensor(const Tensor& a, const Tensor& dy)>;
  Made(F forward, Df backward, const char* called)
      : f(std::move(forward)), df(std::move(backward)), name_(called) {}
  const char* name() const override { return name_; }
  Tensor forward(const Tensor& a, const Tensor& b) {
    a_ = a;
    const Tensor y = f(a.detach(), b.detach());
    return y.detach();
  }
  Gradients backward(const Tensor& dy, const Wanted&) override { return {df(a_.value(), dy), {}}; }

 private:
  F f;
  Df df;
  const char* name_;
  Saved a_;
};

}  // namespace op

namespace {

using check::Report;
using check::Verdict;
using testing::has;

const Tensor kX = tensor({{0.75, -1.5, 2.0}, {1.25, 0.5, -3.0}}, Dtype::f64);

Tensor leaf(const Tensor& x) { return kernel::copy(x).requires_grad_(); }

Tensor twice(const Tensor& a, const Tensor& b = {}, const char* name = "twice") {
  return apply(op::Made([](const Tensor& x, const Tensor&) { return x * 2.0; },
                        [](const Tensor&, const Tensor& dy) { return dy * 2.0; }, name),
               a, b);
}

/// x², whose backward is off by `error` in each number.
Tensor squared(const Tensor& a, const Tensor& error, const char* name = "squared") {
  return apply(
      op::Made([](const Tensor& x, const Tensor&) { return x * x; },
               [error](const Tensor& x, const Tensor& dy) { return dy * (2.0 * x + error); }, name),
      a, Tensor());
}

Report look(const std::function<Tensor()>& loss, check::GraphOptions options = {.seconds = 600}) {
  return check::graph(loss, options);
}

std::string notes_of(const Report& report) {
  std::string all;
  for (const std::string& note : report.notes) all += note + "\n";
  return all;
}

Tensor total(const std::vector<Tensor>& parts) {
  Tensor result = zeros({}, Dtype::f64);
  for (const Tensor& each : parts) result = result + sum(kernel::convert(each, Dtype::f64));
  return result;
}

}  // namespace

TEST_CASE("operations are of one kind where name, shapes, dtypes and what is wanted are the same") {
  const Tensor f64 = ones({3, 4}, Dtype::f64), f32 = ones({3, 4}), scalar = zeros({}, Dtype::f32);
  const Tensor wanted = leaf(f64), rough = leaf(f32), flat = leaf(ones({12}, Dtype::f64));
  const auto part = [](std::int64_t columns) {
    return [columns](const Tensor& x, int) {
      return apply(op::Made([=](const Tensor& a, const Tensor&) { return slice(a, 1, 0, columns); },
                            [](const Tensor& a, const Tensor&) { return a * 0.0; }, "part"),
                   x, Tensor());
    };
  };
  const auto kinds = [](const std::vector<std::function<Tensor()>>& calls) {
    std::vector<Tensor> results;
    const Report report = look([&] {
      for (const auto& call : calls) results.push_back(call());
      return results[0];
    });
    return std::stoi(report.notes[0].substr(report.notes[0].find(" of ") + 4));
  };
  const auto a = [&] { return twice(wanted, f64); };
  CHECK(kinds({a, a}) == 1);
  CHECK(kinds({a, [&] { return twice(wanted, f64, "double"); }}) == 2);
  CHECK(kinds({a, [&] { return twice(wanted, f32); }}) == 2);
  CHECK(kinds({a, [&] { return twice(wanted, wanted); }}) == 2);
  CHECK(kinds({a, [&] { return twice(rough, f64); }}) == 2);
  CHECK(kinds({a, [&] { return twice(flat, f64); }}) == 2);
  CHECK(kinds({a, [&] { return twice(wanted, scalar); }}) == 2);
  CHECK(kinds({[&] { return twice(wanted); }, [&] { return twice(wanted); }}) == 1);
  CHECK(kinds({[&] { return twice(wanted); }, [&] { return twice(wanted, scalar); }}) == 2);
  CHECK(kinds({[&] { return part(2)(wanted, 0); }, [&] { return part(3)(wanted, 0); }}) == 2);
}

TEST_CASE("the element of a finding is the tensor's, however many numbers may move") {
  const double inf = HUGE_VAL;
  const auto place = [](const Tensor& x, const std::vector<double>& error) {
    const Tensor off = tensor(error, x.shape());
    const Report report = look([&] { return squared(leaf(x), off); });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].input == 0);
    return report.findings[0].at;
  };
  using Place = check::Shape;
  CHECK(place(kX, {0, 0, 0, 0, 1, 0}) == Place{1, 1});
  CHECK(place(reshape(kX, {6}), {0, 0, 0, 0, 1, 0}) == Place{4});
  CHECK(place(tensor(2.0, Dtype::f64), {1}).empty());
  CHECK(place(tensor({{-inf, 1.0, 2.0}, {inf, 0.5, 3.0}}, Dtype::f64), {0, 0, 0, 0, 1, 0}) ==
        Place{1, 1});
  CHECK(place(tensor({-inf, 1.0, 2.0, inf, 3.0}, Dtype::f64), {0, 0, 1, 0, 0}) == Place{2});
}

TEST_CASE("the element of a finding is the tensor's where it alone may move") {
  const double inf = HUGE_VAL;
  const Tensor x = tensor({{-inf, inf, 2.0}, {inf, inf, inf}}, Dtype::f64);
  const Report report = look([&] { return squared(leaf(x), ones({2, 3}, Dtype::f64)); });
  REQUIRE(report.findings.size() == 1);
  CHECK(report.findings[0].at == check::Shape{0, 2});
}

TEST_CASE("what does not depend on an input, gets no gradient, or has no finite result passes") {
  const Tensor y = tensor({1.0, 2.0}, Dtype::f64);
  const auto of_first = [&](const Tensor& a, const Tensor& b) {
    return look([&] { return twice(leaf(a), leaf(b)); });
  };
  CHECK(of_first(y, y));
  const Report wrong = look([&] {
    return apply(op::Made([](const Tensor& a, const Tensor& b) { return a + b; },
                          [](const Tensor&, const Tensor& dy) { return dy; }, "sum"),
                 leaf(y), leaf(y));
  });
  REQUIRE(wrong.verdict == Verdict::fail);
  CHECK(wrong.findings[0].analytic == 0);
  CHECK(wrong.findings[0].input_name == "input 1 of sum");
  CHECK(wrong.findings[0].input == 0);
  const Tensor masked = tensor({{-HUGE_VAL, 1.0, 2.0}, {0.0, 0.5, std::nan("")}}, Dtype::f64);
  CHECK(look([&] { return twice(leaf(masked)); }));
}

TEST_CASE("what cannot be run again, or seen, is left out by its name, and then nothing passes") {
  const Tensor x = leaf(kX);
  const auto middle = [](const Tensor& a) { return a * 2.0; };
  const Report again = look([&] { return sum(checkpoint(middle, x)); });
  INFO(again.text());
  CHECK(again.verdict == Verdict::inconclusive);
  CHECK(has(notes_of(again), "left out: checkpoint (it cannot be run again)\n"));
  const auto jump = [](const Tensor& a, const Tensor&) {
    std::vector<double> all = kernel::convert(a, Dtype::f64).to_vector<double>();
    for (double& v : all) v = v > 0.75 ? 1 / (v - 0.75) : v < 0.75 ? 1 / (v - 0.75) : 1e300;
    return tensor(all, a.shape());
  };
  const auto unseen = [&](const Tensor& error) {
    const Tensor y = apply(op::Made(
                               jump, [](const Tensor&, const Tensor& dy) { return dy; }, "jump"),
                           leaf(tensor(0.75, Dtype::f64)), Tensor());
    return y + squared(leaf(tensor(2.0, Dtype::f64)), error);
  };
  const Report jumps = look([&] { return unseen(tensor(0.0, Dtype::f64)); });
  INFO(jumps.text());
  CHECK(jumps.verdict == Verdict::inconclusive);
  CHECK(has(notes_of(jumps), "left out: jump (cannot be seen)\n"));
  CHECK(look([&] { return unseen(tensor(1.0, Dtype::f64)); }).verdict == Verdict::fail);
}

TEST_CASE("a finding says its operation's layer and cause, and one is enough") {
  struct Wrong : nn::Layer<Wrong> {
    Tensor scale = nn::parameter(tensor({1.0, 2.0, 3.0}, Dtype::f64));
    nn::Members members() override { return {{"scale", scale}}; }
    Tensor forward(const Tensor& x) const { return squared(x * scale, ones({2, 3}, Dtype::f64)); }
  } wrong;
  const Report inside = look([&] { return total({wrong(kX)}); });
  REQUIRE(inside.findings.size() == 1);
  const std::string note = inside.findings[0].note;
  CAPTURE(note);
  CHECK(note.rfind("squared (node ", 0) == 0);
  CHECK(has(note, ") in Wrong"));
  CHECK(!has(note, "called from :"));
  const Report outside = look([&] { return total({squared(leaf(kX), ones({2, 3}, Dtype::f64))}); });
  CHECK(!has(outside.findings[0].note, " in "));
}

TEST_CASE("an error within atol of the largest derivative is none") {
  const Tensor x = tensor({1e-6, 3.0}, Dtype::f64), off = tensor({1e-4, 0.0}, Dtype::f64);
  CHECK(look([&] { return squared(leaf(x), off); }).verdict == Verdict::fail);
  CHECK(look([&] { return squared(leaf(x), off); }, {.seconds = 600, .atol = 100}));
}

}  // namespace gradus
