// Operations: numbers far from 0, edges of masks, which way is taken, shapes.
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "gradus/base/parallel.h"
#include "gradus/base/random.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/activation.h"
#include "gradus/ops/attention/attention.h"
#include "gradus/ops/batch_norm.h"
#include "gradus/ops/dropout.h"
#include "gradus/ops/indexing.h"
#include "gradus/ops/linear.h"
#include "gradus/ops/logic.h"
#include "gradus/ops/loss.h"
#include "gradus/ops/matmul.h"
#include "gradus/ops/members.h"
#include "gradus/ops/normalization.h"
#include "gradus/ops/softmax.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/expect.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// (x − mean) / √(mean (x − mean)² + eps), in two passes.
Numbers normalised(const Numbers& x, double eps) {
  double mean = 0, square = 0;
  for (const double v : x) mean += v / static_cast<double>(x.size());
  for (const double v : x) square += (v - mean) * (v - mean) / static_cast<double>(x.size());
  Numbers y;
  for (const double v : x) y.push_back((v - mean) / std::sqrt(square + eps));
  return y;
}

/// Here the difference of two large squares would lose six digits more than the square of a
/// difference, whose own error is about 3000 · 2⁻⁵³ = 3e-13.
TEST_CASE("far from zero") {
  const Tensor row = values({1, 9}) + 3000.0;
  expect(near(numbers(layer_norm(row)), normalised(numbers(row), 1e-5), 1e-11),
         "layer_norm far off");
  const Tensor column = values({9, 1}) + 3000.0;
  const Tensor y = batch_norm(column, {}, {}, {}, {}, true);
  expect(near(numbers(y), normalised(numbers(column), 1e-5), 1e-11), "batch_norm far off");
}

/// Names of the operations that run during the backward of y.
std::set<std::string> run_backward(const Tensor& y) {
  Seen seen;
  const ObserverScope scope(seen);
  sum(y).backward();
  return seen.names;
}

/// Kernels by default, and the formula where it is asked for.
TEST_CASE("which way") {
  const Tensor x = values({2, 3, 4}).requires_grad_();
  const Tensor w = values({4}, 1).requires_grad_(), b = values({4}, 2).requires_grad_();
  const Tensor square = values({4, 4}, 3).requires_grad_();
  const Tensor channels = values({3}, 4).requires_grad_();
  const std::vector<std::function<Tensor()>> fused = {
      [&] { return softmax(x); },
      [&] { return log_softmax(x); },
      [&] { return layer_norm(x, w, b); },
      [&] { return rms_norm(x, w); },
      [&] { return batch_norm(x, channels, channels, {}, {}, true); },
      [&] {
        return cross_entropy(x, ids({0, 1, 2, 3, 0, 1}, {2, 3}));
      }};
  for (const auto& f : fused) {
    const std::string name = f().node()->name();
    expect(run_backward(f()).count("multiply") == 0, name + ": a kernel goes back");
    const Tensor y = f();
    const FormulaScope formula;
    expect(run_backward(y).count("multiply") == 1, name + ": the formula where it is asked for");
  }
  expect(run_backward(linear(x, square, b)).count("matmul") == 0, "linear: a kernel goes back");
}

TEST_CASE("composed") {
  const Tensor x = values({2, 3, 4}).requires_grad_(), w = values({4}, 1);
  const Tensor square = values({4, 4}, 3), channels = values({3}, 4);
  const Tensor heads = values({1, 2, 3, 4}, 5).requires_grad_();
  const Tensor packed = values({1, 3, 24}, 6).requires_grad_();
  const Tensor target = ids({0, 1, 2, 3, 0, 1}, {2, 3});
  const std::vector<std::pair<std::string, std::function<Tensor()>>> fused = {
      {"linear", [&] { return linear(x, square, w); }},
      {"gelu", [&] { return gelu(x, Gelu::tanh); }},
      {"silu", [&] { return silu(x); }},
      {"swiglu", [&] { return swiglu(x, x); }},
      {"softplus", [&] { return softplus(x); }},
      {"layer_norm", [&] { return layer_norm(x); }},
      {"rms_norm", [&] { return rms_norm(x); }},
      {"batch_norm", [&] { return batch_norm(x, channels, channels, {}, {}, true); }},
      {"cross_entropy", [&] { return cross_entropy(x, target); }},
      {"attention", [&] { return scaled_dot_product_attention(heads, heads, heads); }},
      {"packed_attention", [&] { return packed_self_attention(packed, 2, causal_mask()); }}};
  const std::set<std::string> composing{"multiply", "matmul", "softmax", "masked_fill", "where"};
  for (const auto& [name, f] : fused) {
    expect(f().node()->name() == name, name + " is one operation");
    const std::set<std::string> ran = run_backward(f());
    for (const std::string& op : composing)
      expect(name == "softplus" || ran.count(op) == 0,
             name + ": a kernel goes back, without " + op);
    const FormulaScope formula;
    expect(f().node()->name() != name, name + " is composed under FormulaScope");
  }
  for (const auto& f : {+[](const Tensor& in) { return gelu(in, Gelu::erf); }, relu,
                        +[](const Tensor& in) { return dropout(in, 0.5); }})
    for (const std::string& op : composing)
      expect(run_backward(f(x)).count(op) == 0, "a kernel goes back, without " + op);
}

/// A saved view that is the only one of its numbers, and does not lie row by row.
TEST_CASE("lonely views") {
  const Tensor x = values({3, 4}).requires_grad_();
  for (const auto& f : {silu, +[](const Tensor& in) { return gelu(in); }, relu,
                        +[](const Tensor& in) { return gelu(in, Gelu::erf); }}) {
    const Tensor up = values({4, 3}, 2);
    const Tensor expected = grad(sum(f(transpose(x * 2.0)) * up), x, {.create_graph = true});
    const Tensor loss = sum(f(transpose(x * 2.0)) * up);  // alone: nobody holds x · 2 any more
    const Tensor found = grad(loss, x);
    expect(near(numbers(found), numbers(expected)), "an activation of a transposed temporary");
  }
}

TEST_CASE("shapes") {
  const Tensor m = values({2, 3}), v = values({3});
  expect(matmul(m, v).shape() == Shape{2}, "matrix times vector");
  expect(matmul(v, v).shape() == Shape{}, "vector times vector");
  expect(matmul(values({2}), m).shape() == Shape{3}, "vector times matrix");
  expect(matmul(values({2}), values({5, 2, 3})).shape() == Shape{5, 3}, "vector times matrices");
  expect(matmul(values({5, 2, 3}), v).shape() == Shape{5, 2}, "matrices times vector");
  expect(repeat(v, {1, 1}).shape() == Shape{1, 3}, "repeat with an axis more");
  expect(repeat(m, {1, 2, 1}).shape() == Shape{1, 4, 3}, "repeat along the middle");
  const Tensor cube = values({2, 3, 4, 5});
  expect(flatten(cube, 1, 2).shape() == Shape{2, 12, 5}, "flatten in the middle");
  expect(flatten(cube, -3, -2).shape() == Shape{2, 12, 5}, "flatten counted from the end");
  expect(flatten(cube, 1).shape() == Shape{2, 60}, "flatten to the end");
  expect(flatten(cube, 0, 1).shape() == Shape{6, 4, 5}, "flatten at the front");
  expect(flatten(cube, 3, 3).shape() == cube.shape(), "flatten of one axis");
  expect(flatten(tensor(2.0)).shape() == Shape{1}, "flatten of a number");
  expect(flatten(v).shape() == Shape{3}, "flatten of a vector");
}

TEST_CASE("slices") {
  const Tensor x = arange(10).to(Dtype::f64).requires_grad_();
  expect(numbers(slice(x, 0, 1, 5, 3)) == Numbers{1, 4}, "two of a step");
  expect(numbers(slice(x, 0, -20, 2)) == Numbers{0, 1}, "a start before the first");
  expect(numbers(slice(x, 0, 8, 30)) == Numbers{8, 9}, "a stop after the last");
  expect(numbers(slice(x, 0, -3, -1)) == Numbers{7, 8}, "counted from the end");
  expect(numbers(slice(x, 0, -1, 10)) == Numbers{9}, "the last one");
  expect(slice(x, 0, 20, 30).numel() == 0, "all of it after the last");
  expect(slice(x, 0, 5, 2).numel() == 0 && slice(x, 0, 3, 0).numel() == 0,
         "stops before it starts");
  expect(slice(x, 0, 0, 0).numel() == 0, "nothing at the front");
  for (const bool recorded : {false, true}) {
    const Tensor d = grad(sum(slice(x, 0, 1, 5, 3) * tensor({2.0, 3.0}, Dtype::f64)), x,
                          {.create_graph = recorded});
    expect(numbers(d) == Numbers{0, 2, 0, 0, 3, 0, 0, 0, 0, 0},
           "the gradient of a slice with a step");
  }
}

/// The element whose random word is the threshold stays; thresholds are rounded, and never 2³².
TEST_CASE("dropout's thresholds") {
  const Tensor x = values({3000});
  const auto mask_of = [](double p) { return seed(9), make_dropout_mask(p); };
  const double word = mask_of(0.5).stream.word(5);
  for (const auto& [more, kept] : {std::pair(0.0, true), {-0.4, true}, {0.6, false}}) {
    const double p = (word + more) / 4294967296.0;
    const Numbers y = numbers((seed(9), dropout(x, p))), v = numbers(x);
    expect((y[5] != 0) == kept, "a word at the threshold is kept");
    const DropoutMask mask = mask_of(p);
    for (std::int64_t i = 0; i < 3000; ++i) {
      const auto k = static_cast<std::size_t>(i);
      const double expected = mask.stream.word(i) >= mask.threshold ? v[k] / (1 - p) : 0;
      expect(std::abs(y[k] - expected) <= 1e-12 * 10, "each element by its own word");
    }
  }
  expect(mask_of(1 - 1e-12).threshold == 4294967295u, "almost everything is dropped");
}

/// What is computed again for those who need it is what it was.
TEST_CASE("made again") {
  const Tensor x = values({3, 4}).requires_grad_(), g = values({3, 4}, 1).requires_grad_();
  const Tensor w = values({4}, 2), up = values({3, 5}, 3);
  const Tensor into = values({5, 4}, 4).requires_grad_();
  const std::vector<std::function<Tensor()>> cheap = {[&] { return silu(x); },
                                                      [&] { return gelu(x, Gelu::tanh); },
                                                      [&] { return gelu(x, Gelu::erf); },
                                                      [&] { return swiglu(g, x); },
                                                      [&] { return layer_norm(x, w, w); },
                                                      [&] { return rms_norm(x, w); }};
  for (const auto& f : cheap) {
    const Tensor h = f();
    const Numbers found = numbers(grad(sum(linear(h, into) * up), into));
    const Numbers expected = numbers(grad(sum(linear(h.detach(), into) * up), into));
    expect(near(found, expected), std::string(h.node()->name()) + " made again");
  }
}

/// running ← running + momentum (seen − running), the variance with n − 1, in strided buffers.
TEST_CASE("running statistics") {
  Tensor kept = tensor({1.0, 9.0, 2.0, 9.0, 3.0, 9.0}, Dtype::f64);
  Tensor mean = kernel::strided_view(kept, {3}, {2}, 0),
         var = Tensor::empty({3}, Dtype::f64).fill_(1);
  const Tensor x = tensor(std::vector<double>{1, 2, 3, 3, 6, 9}, {2, 3});
  batch_norm(x, {}, {}, mean, var, true, {.momentum = 0.5});
  expect(near(numbers(kept), {1.5, 9, 3, 9, 4.5, 9}), "running means with gaps");
  expect(near(numbers(var), {1.5, 4.5, 9.5}), "running variances of two values");
  Tensor spread = kernel::strided_view(kept, {3}, {2}, 1);
  batch_norm(x, {}, {}, {}, spread, true, {.momentum = 0.5});
  expect(near(numbers(kept), {1.5, 5.5, 3, 8.5, 4.5, 13.5}), "running variances with gaps");
  batch_norm(Tensor::empty({0, 3}, Dtype::f64), {}, {}, mean, var, true, {.momentum = 0.5});
  expect(near(numbers(mean), {1.5, 3, 4.5}), "nothing seen changes nothing");
}

TEST_CASE("indices from the end") {
  const Tensor x = values({2, 3}), source = values({2, 2}, 1);
  const Tensor index = ids({2, 0, 1, 1}, {2, 2});
  expect(numbers(scatter_add(x, -1, index, source)) == numbers(scatter_add(x, 1, index, source)),
         "scatter_add counts axes from the end");
}

}  // namespace
}  // namespace gradus::testing
