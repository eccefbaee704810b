#include "gradus/ops/derivatives.h"

#include <cmath>

#include "gradus/engine/backward.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/registry_run.h"

namespace gradus::testing::test_derivatives {
namespace {

/// Returns a direction with the shape and dtype of x.
Tensor along(const Tensor& x, int which) { return values(x.shape(), which).to(x.dtype()); }

double dot(const Tensor& a, const Tensor& b) {
  const Numbers u = numbers(a), v = numbers(b);
  double total = 0;
  for (std::size_t i = 0; i < u.size(); ++i) total += u[i] * v[i];
  return total;
}

Tensor attend(const std::vector<Tensor>& in) {
  return scaled_dot_product_attention(in[0], in[1], in[2], causal_mask());
}

std::vector<Tensor> attention_inputs() {
  return {values({1, 2, 3, 5}, 1), values({1, 2, 3, 5}, 2), values({1, 2, 3, 2}, 3)};
}

}  // namespace

TEST_CASE("jvp and vjp are adjoint for every sample of the registry") {
  for (const Sample& sample : all_samples()) {
    if (!sample.second) continue;
    INFO(sample.op << ": " << sample.what);
    const std::vector<bool> wanted = wanted_inputs(sample);
    std::vector<Tensor> x, v;
    for (std::size_t k = 0; k < wanted.size(); ++k)
      if (wanted[k]) {
        x.push_back(sample.inputs[k].detach());
        v.push_back(along(x.back(), 5));
      }
    const auto f = [&](const std::vector<Tensor>& some) {
      Inputs all = sample.inputs;
      for (std::size_t k = 0, i = 0; k < wanted.size(); ++k)
        if (wanted[k]) all[k] = some[i++];
      return sample.f(all);
    };
    const ValueAndTangent forward = jvp(f, x, v);
    const Tensor u = upstream_for(forward.value);
    const ValueAndGradients back = vjp(f, x, u);
    double right = 0, scale = 1;
    for (std::size_t i = 0; i < x.size(); ++i) {
      right += dot(back.gradients[i], v[i]);
      scale += largest(numbers(back.gradients[i])) * static_cast<double>(v[i].numel());
    }
    // The two sides sum the same products in different orders. This causes a few hundred rounding
    // errors of 1.1e-16 each, relative to `scale`.
    CHECK(std::abs(dot(u, forward.tangent) - right) <= 1e-12 * scale);
  }
}

TEST_CASE("jvp equals the finite difference along its direction") {
  const std::vector<Tensor> x = attention_inputs();
  std::vector<Tensor> v, ahead, behind;
  const double h = 1e-4;
  for (const Tensor& each : x) {
    v.push_back(along(each, 7));
    ahead.push_back(each + h * v.back());
    behind.push_back(each - h * v.back());
  }
  const Numbers exact = numbers(jvp(attend, x, v).tangent);
  const Numbers differences = numbers((attend(ahead) - attend(behind)) / (2 * h));
  // The error is h²/6 times a third derivative below 10, plus rounding of 1e-16 / h.
  CHECK(distance(exact, differences) < 1e-7);
}

TEST_CASE("hessian_vector_product of a quadratic form is its matrix times v") {
  const Tensor A = values({3, 3}, 1), x = values({3}, 2), v = values({3}, 4);
  const auto f = [&](const std::vector<Tensor>& in) { return 0.5 * sum(in[0] * matmul(A, in[0])); };
  const auto [value, product] = hessian_vector_product(f, {x}, {v});
  CHECK(!value.requires_grad());
  const Tensor wanted = 0.5 * (matmul(A, v) + matmul(transpose(A, 0, 1), v));
  CHECK(distance(numbers(product[0]), numbers(wanted)) < 1e-14);
}

TEST_CASE("hessian_vector_product through attention is symmetric and has both forms") {
  const auto f = [](const std::vector<Tensor>& in) { return sum(square(attend(in))); };
  std::vector<Tensor> x = attention_inputs(), u, v;
  for (const Tensor& each : x) u.push_back(along(each, 5)), v.push_back(along(each, 8));
  const auto Hu = hessian_vector_product(f, x, u).product;
  const auto Hv = hessian_vector_product(f, x, v).product;
  double left = 0, right = 0;
  for (std::size_t i = 0; i < x.size(); ++i) left += dot(v[i], Hu[i]), right += dot(u[i], Hv[i]);
  CHECK(std::abs(left) > 0.01);
  CHECK(std::abs(left - right) < 1e-11);  // terms of order 10
  for (Tensor& each : x) each.requires_grad_();
  const Tensor loss = f(x);
  const std::vector<Tensor> again = hessian_vector_product(loss, x, v);
  for (std::size_t i = 0; i < x.size(); ++i)
    CHECK(distance(numbers(again[i]), numbers(Hv[i])) < 1e-12);
  loss.backward();
  CHECK(x[0].grad().defined());
}

TEST_CASE("vjp with create_graph supports a gradient penalty") {
  Tensor w = values({2, 3}, 1).requires_grad_();
  const Tensor x = values({3}, 2);
  const auto f = [&](const std::vector<Tensor>& in) { return sum(tanh(matmul(w, in[0]))); };
  const auto penalty = [&] {
    return sum(square(vjp(f, {x}, {}, {.create_graph = true}).gradients[0]));
  };
  const Tensor exact = grad(penalty(), w);
  const double h = 1e-5;
  for (std::int64_t i = 0; i < w.numel(); ++i) {
    double sides[2];
    for (const int side : {0, 1}) {
      const NoGrad quiet;
      double& one = w.mutable_data<double>()[i];
      const double before = one;
      one += side ? h : -h;
      sides[side] = penalty().item();
      one = before;
    }
    // As above, the error is that of a central difference plus rounding of 1e-16 / h.
    CHECK(std::abs(numbers(exact)[static_cast<std::size_t>(i)] - (sides[1] - sides[0]) / (2 * h)) <
          1e-8);
  }
}

TEST_CASE("derivatives of independent and linear functions are zero") {
  const Tensor x = values({2, 3}), c = values({2, 3}, 1);
  const auto other = [&](const std::vector<Tensor>&) { return c * 2.0; };
  const auto straight = [](const std::vector<Tensor>& in) { return sum(3.0 * in[0]); };
  CHECK(largest(numbers(vjp(other, {x}, c).gradients[0])) == 0);
  CHECK(largest(numbers(jvp(other, {x}, {c}).tangent)) == 0);
  CHECK(largest(numbers(hessian_vector_product(straight, {x}, {c}).product[0])) == 0);
  CHECK(std::abs(jvp(straight, {x}, {c}).tangent.item() - 3.0 * sum(c).item()) <= 1e-13);
}

TEST_CASE("derivatives leave no gradients behind and work under NoGrad") {
  const Tensor x = values({3}).requires_grad_();
  const NoGrad quiet;
  const auto f = [](const std::vector<Tensor>& in) { return square(in[0]); };
  CHECK(numbers(jvp(f, {x}, {values({3}, 1)}).tangent) == numbers(2.0 * x * values({3}, 1)));
  CHECK(!x.grad().defined());
  CHECK(!GradMode::enabled());
}

TEST_CASE("derivatives are recorded only if create_graph is set") {
  const Tensor x = values({3}).requires_grad_(), v = values({3}, 1);
  const auto f = [](const std::vector<Tensor>& in) { return sum(exp(in[0])); };
  for (const bool create : {false, true}) {
    const DerivativeOptions options{.create_graph = create};
    const ValueAndGradients back = vjp(f, {x}, {}, options);
    const ValueAndTangent forward = jvp(f, {x}, {v}, options);
    const ValueAndProduct second = hessian_vector_product(f, {x}, {v}, options);
    for (const Tensor& result : {back.value, back.gradients[0], forward.value, forward.tangent,
                                 second.value, second.product[0]})
      CHECK(result.requires_grad() == create);
  }
}

TEST_CASE("an unused input has derivative 0") {
  const Tensor x = values({3}), other = values({2});
  const auto f = [](const std::vector<Tensor>& in) { return sum(exp(in[0])); };
  CHECK(numbers(vjp(f, {x, other}).gradients[1]) == Numbers{0, 0});
  CHECK(numbers(hessian_vector_product(f, {x, other}, {x, other}).product[1]) == Numbers{0, 0});
}

TEST_CASE("derivatives reject wrong arguments and report them") {
  const Tensor x = values({2, 3}), ids = Tensor::empty({2}, Dtype::i64).fill_(1);
  const auto f = [](const std::vector<Tensor>& in) { return square(in[0]); };
  using V = std::vector<Tensor>;
  CHECK_REFUSES(ValueError, vjp(f, V{}), "differentiate");
  CHECK_REFUSES(ValueError, vjp(f, V{Tensor()}), "undefined");
  CHECK_REFUSES(DtypeError, vjp(f, V{ids}), "i64", "0");
  CHECK_REFUSES(ShapeError, vjp(f, V{x}), "[2, 3]");
  CHECK_REFUSES(ShapeError, vjp(f, V{x}, values({3})), "[3]", "[2, 3]");
  CHECK_REFUSES(ValueError, hessian_vector_product(Tensor(), V{x}, V{x}), "hessian_vector_product",
                "undefined");
  const auto nothing = [](const std::vector<Tensor>&) { return Tensor(); };
  CHECK_REFUSES(ValueError, vjp(nothing, V{x}), "vjp", "function");
  CHECK_REFUSES(ValueError, jvp(nothing, V{x}, V{x}), "jvp", "function");
  CHECK_REFUSES(ValueError, hessian_vector_product(nothing, V{x}, V{x}), "hessian_vector_product",
                "function");
  CHECK_REFUSES(ValueError, jvp(f, V{x}, V{}), "0", "1");
  CHECK_REFUSES(ShapeError, jvp(f, V{x}, V{values({3})}), "[3]", "0");
  CHECK_REFUSES(DtypeError, jvp(f, V{x}, V{x.to(Dtype::f32)}), "f32");
  CHECK_REFUSES(ShapeError, hessian_vector_product(f, V{x}, V{x}), "hessian_vector_product",
                "[2, 3]");
}

}  // namespace gradus::testing::test_derivatives
