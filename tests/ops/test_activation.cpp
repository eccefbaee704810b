// Activations: kinks, large inputs, infinities, NaN, memory, errors.
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "gradus/base/memory.h"
#include "gradus/base/parallel.h"
#include "gradus/engine/backward.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/ops/activation.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/thrown.h"

namespace gradus {
namespace {

using testing::has;
using testing::message_of;

using List = std::vector<double>;
using Function = std::function<Tensor(const Tensor&)>;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Tensor gelu_erf(const Tensor& x) { return gelu(x, Gelu::erf); }
Tensor gelu_tanh(const Tensor& x) { return gelu(x, Gelu::tanh); }

List slope(const Function& f, std::initializer_list<double> at, Dtype dtype = Dtype::f64) {
  const Tensor x = tensor(at, dtype).requires_grad_();
  f(x).backward(ones_like(x));
  return x.grad().to(Dtype::f64).to_vector<double>();
}

}  // namespace

TEST_CASE("activation: derivatives at kinks are as documented, by kernel and by formula") {
  const auto both = [](const Function& f, std::initializer_list<double> at) {
    const Tensor x = tensor(at, Dtype::f64).requires_grad_();
    const List recorded =
        grad({f(x)}, {x}, {ones_like(x)}, {.create_graph = true})[0].to_vector<double>();
    CHECK(recorded == slope(f, at));
    return recorded;
  };
  CHECK(both(relu, {-1, 0, -0.0, 1}) == List{0, 0, 0, 1});
  CHECK(both([](const Tensor& x) { return leaky_relu(x, 0.25); }, {-1, 0, 1}) ==
        List{0.25, 0.25, 1});
  CHECK(both([](const Tensor& x) { return elu(x, 2); }, {0, 1}) == List{2, 1});
  CHECK(both(softplus, {0}) == List{0.5});
}

TEST_CASE("activation: second derivatives of relu and leaky_relu are 0") {
  const Tensor x = tensor({-2, 3}, Dtype::f64).requires_grad_();
  for (const Function& f :
       {Function(relu), Function([](const Tensor& v) { return leaky_relu(v); })}) {
    const Tensor y = f(x) * x;  // has one: 2 f'(x), by the product rule
    const Tensor dx = grad({y}, {x}, {ones_like(x)}, {.create_graph = true})[0];
    const List d2 = grad({dx}, {x}, {ones_like(x)})[0].to_vector<double>();
    CHECK(d2[1] == 2);
    CHECK(std::abs(d2[0]) <= 0.02);
  }
}

TEST_CASE("activation: large and infinite inputs give the limits") {
  for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
    const Tensor x = tensor({-kInf, -1e4, 1e4, kInf}, dtype);
    for (const Function& f :
         {Function(relu), Function(silu), Function(gelu_tanh), Function(gelu_erf)})
      CHECK(f(x).to(Dtype::f64).to_vector<double>() == List{0, 0, 1e4, kInf});
    CHECK(softplus(x).to(Dtype::f64).to_vector<double>() == List{0, 0, 1e4, kInf});
    CHECK(elu(x, 2).to(Dtype::f64).to_vector<double>() == List{-2, -2, 1e4, kInf});
    for (const Function& f :
         {Function(relu), Function(silu), Function(gelu_tanh), Function(gelu_erf),
          Function(softplus), Function([](const Tensor& v) { return elu(v); })})
      CHECK(slope(f, {-kInf, -1e4, 1e4, kInf}, dtype) == List{0, 0, 1, 1});
  }
}

TEST_CASE("activation: second derivatives of large inputs are 0") {
  const Tensor x = tensor({-1e4, 1e4}, Dtype::f64).requires_grad_();
  for (const Function& f : {Function(silu), Function(gelu_tanh), Function(gelu_erf),
                            Function(softplus), Function([](const Tensor& v) { return elu(v); })}) {
    const Tensor dx = grad({f(x)}, {x}, {ones_like(x)}, {.create_graph = true})[0];
    CHECK(grad({dx}, {x}, {ones_like(x)})[0].to_vector<double>() == List{0, 0});
  }
}

TEST_CASE("activation: NaN stays NaN") {
  const Tensor x = tensor({kNan, kNan, 1});
  for (const Tensor& y : {relu(x), leaky_relu(x), elu(x), softplus(x), silu(x), gelu(x),
                          gelu_erf(x), swiglu(x, ones({3})), swiglu(ones({3}), x)}) {
    CHECK(std::isnan(y.data<float>()[0]));
    CHECK(std::isnan(y.data<float>()[1]));
    CHECK(std::isfinite(y.data<float>()[2]));
  }
}

TEST_CASE("activation: the next op recomputes the output instead of keeping it") {
  const std::int64_t n = 1 << 16;
  const Tensor w = rand({n});
  Tensor x = rand({n}).requires_grad_();
  for (const Function& f : {Function(silu), Function(gelu_tanh), Function(gelu_erf),
                            Function([&](const Tensor& v) { return swiglu(v, v); })}) {
    const std::int64_t before = memory::usage().live_bytes;
    const Tensor y = square(f(x));                       // square would keep f(x)
    CHECK(memory::usage().live_bytes - before < 5 * n);  // y: 4 n bytes
    y.backward(w);
    x.set_grad({});
  }
}

TEST_CASE("activation: gradients reuse the buffer of an input without other users") {
  const std::int64_t n = 1 << 16;
  Tensor x = rand({n}).requires_grad_();
  for (const Function& f : {Function(silu), Function(gelu_tanh), Function(gelu_erf),
                            Function([](const Tensor& v) { return shift(relu(v), 1.0); })}) {
    const Tensor dy = rand({n});
    const Tensor y = f(2.0 * x);  // 2 x belongs to f alone; relu's y to relu
    const std::vector<float> values = y.to_vector<float>();
    const std::int64_t before = memory::usage().live_bytes;
    memory::reset_peak();
    y.backward(dy);
    CHECK(memory::usage().peak_bytes - before < 6 * n);  // 4 n: the leaf's own
    CHECK(y.to_vector<float>() == values);
    x.set_grad({});
  }
}

TEST_CASE("activation: a gradient in a reused buffer is outside the graph") {
  const Tensor x = tensor({1, -2, 3}).requires_grad_();
  int seen = 0;
  const auto activated = [&](const std::function<Tensor(const Tensor&)>& f) {
    const Tensor twice = x * 2.0;  // nobody holds it when backward comes
    twice.register_hook([&](const Tensor& dy) {
      ++seen;
      CHECK(!dy.requires_grad());
      return dy;
    });
    return sum(f(twice));
  };
  activated([](const Tensor& in) { return silu(in); }).backward();
  activated([](const Tensor& in) { return relu(in); }).backward();
  CHECK(seen == 2);
}

TEST_CASE("activation: a second backward through a kept graph gives the same gradients") {
  Tensor x = tensor({-1, 0.5, 2}).requires_grad_();
  for (const Function& f : {Function(silu), Function(gelu_tanh), Function(gelu_erf), Function(relu),
                            Function([](const Tensor& v) { return swiglu(v, 3.0 * v); })}) {
    const Tensor y = f(2.0 * x), dy = tensor({1, -2, 3});
    y.backward(dy, {.keep_graph = true});
    const std::vector<float> once = x.grad().to_vector<float>();
    x.set_grad({});
    y.backward(dy);
    CHECK(x.grad().to_vector<float>() == once);
    CHECK(dy.to_vector<float>() == std::vector<float>{1, -2, 3});
    x.set_grad({});
  }
}

TEST_CASE("activation: the gradient of swiglu reads inputs of any strides") {
  const auto gradients = [](const Tensor& g, const Tensor& x, const Tensor& dy) {
    const Tensor gate = g.detach().requires_grad_(), up = x.detach().requires_grad_();
    List all;
    for (const Tensor& d : grad({swiglu(gate, up)}, {gate, up}, {dy}))
      for (const double v : d.to_vector<double>()) all.push_back(v);
    return all;
  };
  const Tensor long_row = linspace(-3, 4, 10, Dtype::f64);
  const Tensor steps[] = {slice(long_row, 0, 0, 10, 2), expand(slice(long_row, 0, 2, 3), {5})};
  for (const Tensor& one : steps)
    for (const int which : {0, 1, 2}) {
      std::vector<Tensor> in = {linspace(-2, 3, 5, Dtype::f64), linspace(2, -1, 5, Dtype::f64),
                                linspace(1, 2, 5, Dtype::f64)};
      in[static_cast<std::size_t>(which)] = one.clone();
      const List wanted = gradients(in[0], in[1], in[2]);
      in[static_cast<std::size_t>(which)] = one;
      const List got = gradients(in[0], in[1], in[2]);
      CAPTURE(which, one.strides());
      for (std::size_t i = 0; i < got.size(); ++i) CHECK(std::abs(got[i] - wanted[i]) < 1e-14);
    }
}

TEST_CASE("activation: errors report the function and the shapes") {
  std::string message = message_of<ShapeError>([] { glu(zeros({2, 3})); });
  CHECK((has(message, "glu") && has(message, "[2, 3]") && has(message, "even")));
  message = message_of<IndexError>([] { glu(zeros({2, 2}), 2); });
  CHECK((has(message, "glu") && has(message, "2")));
  message = message_of<ShapeError>([] { swiglu(zeros({2, 3}), zeros({3})); });
  CHECK((has(message, "swiglu") && has(message, "[2, 3]") && has(message, "[3]")));
  message = message_of<DtypeError>([] { swiglu(zeros({2}), zeros({2}, Dtype::f64)); });
  CHECK((has(message, "swiglu") && has(message, "f32") && has(message, "f64")));
  message = message_of<DtypeError>([] { gelu(indices({1})); });
  CHECK((has(message, "gelu") && has(message, "i64")));
  CHECK_THROWS_AS(relu(Tensor()), ValueError);
  CHECK_THROWS_AS(glu(Tensor()), ValueError);
  CHECK_THROWS_AS(swiglu(Tensor(), zeros({1})), ValueError);
  const FormulaScope formula;
  CHECK_THROWS_AS(softplus(Tensor()), ValueError);
  CHECK_THROWS_AS(gelu(indices({1})), DtypeError);
}

TEST_CASE("activation: results have the same bits with one thread and two") {
  const int threads = num_threads();
  const Tensor x = linspace(-6, 6, 100003), g = linspace(5, -7, 100003);
  const auto all = [&] {
    std::vector<std::vector<float>> out;
    for (const Function& f :
         {Function(silu), Function(gelu_tanh), Function(gelu_erf), Function(softplus),
          Function([&](const Tensor& v) { return swiglu(g, v); })}) {
      const Tensor leaf = x.clone().requires_grad_();
      const Tensor y = f(leaf);
      y.backward(g);
      out.push_back(y.to_vector<float>());
      out.push_back(leaf.grad().to_vector<float>());
    }
    return out;
  };
  set_num_threads(1);
  const auto one = all();
  set_num_threads(2);
  const auto two = all();
  set_num_threads(threads);
  CHECK(one == two);
}

}  // namespace gradus
