#include "gradus/engine/backward.h"
#include "gradus/engine/grad_mode.h"

#include <vector>

#include "gradus/engine/base/environment.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/expect.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing::test_backward {
namespace {

using testing::has;
using testing::leaf;
using testing::message_of;
using testing::numbers;
using List = std::vector<double>;

Tensor total(const Tensor& x) { return sum(x); }

}  // namespace

TEST_CASE("backward sets the gradients of leaves, which are initially undefined") {
  const Tensor a = leaf({2, 3}), b = leaf({5, 7});
  CHECK(!a.grad().defined());
  total(a * b).backward();
  CHECK(numbers(a.grad()) == List{5, 7});
  CHECK(numbers(b.grad()) == List{2, 3});
  CHECK(!a.grad().requires_grad());
}

TEST_CASE("backward from an empty tensor throws GraphError") {
  const Tensor x = zeros({0}, Dtype::f64).requires_grad_();
  CHECK_REFUSES(GraphError, x.backward(), "[0]");
  CHECK_REFUSES(GraphError, (x * 2.0).backward(), "[0]");
}

TEST_CASE("gradients of several backward passes accumulate until cleared") {
  Tensor x = leaf({1, 2});
  for (int i = 0; i < 3; ++i) total(x * 4.0).backward();
  CHECK(numbers(x.grad()) == List{12, 12});
  x.set_grad({});
  CHECK(!x.grad().defined());
  total(x).backward();
  CHECK(numbers(x.grad()) == List{1, 1});
}

TEST_CASE("a gradient that the user holds stays unchanged") {
  Tensor x = leaf({1, 2});
  total(x).backward();
  const Tensor first = x.grad();
  total(x).backward();
  CHECK(numbers(first) == List{1, 1});
  CHECK(numbers(x.grad()) == List{2, 2});
}

TEST_CASE("two leaves with equal gradients do not share memory") {
  Tensor a = leaf({1}), b = leaf({2});
  total(a + b).backward();
  total(a).backward();
  CHECK(numbers(a.grad()) == List{2});
  CHECK(numbers(b.grad()) == List{1});
}

TEST_CASE("backward never writes to the upstream gradient") {
  Tensor x = leaf({1, 2});
  const Tensor dy = tensor({3, 4}, Dtype::f64);
  const Tensor y = x + 0.0;
  y.backward(dy);
  total(x).backward();
  CHECK(numbers(dy) == List{3, 4});
  CHECK(numbers(x.grad()) == List{4, 5});
}

TEST_CASE("backward does not write to a borrowed upstream gradient") {
  std::vector<double> own = {3, 4};
  const Tensor x = leaf({1, 2});
  exp(exp(x * 1.0)).backward(borrow(std::span<double>(own), {2}));
  CHECK(own == List{3, 4});
}

TEST_CASE("set_grad requires the tensor's shape and dtype") {
  Tensor x = leaf({1, 2});
  const std::string shape = message_of<ShapeError>([&] { x.set_grad(zeros({3}, Dtype::f64)); });
  CHECK(has(shape, "[2]"));
  CHECK(has(shape, "[3]"));
  CHECK_THROWS_AS(x.set_grad(zeros({2}, Dtype::f32)), DtypeError);
  x.set_grad(leaf({2, 3}) * 3.0);
  CHECK_FALSE(x.grad().requires_grad());
  CHECK(numbers(x.grad()) == List{6, 9});
}

TEST_CASE("errors about missing gradients suggest requires_grad_()") {
  Tensor x = tensor({1.0});
  const std::string cure = "requires_grad_() on it";
  CHECK(has(message_of<GraphError>([&] { x.set_grad(x); }), cure));
  CHECK(has(message_of<GraphError>([&] { exp(x).retain_grad(); }), cure));
  CHECK(has(message_of<GraphError>([&] { x.register_hook([](const Tensor& dy) { return dy; }); }),
            cure));
  CHECK(
      has(message_of<GraphError>([&] { x.register_post_accumulate_hook([](Tensor&) {}); }), cure));
  const Tensor y = leaf({1}) * 2.0;
  CHECK_THROWS_AS(y.register_post_accumulate_hook([](Tensor&) {}), GraphError);
}

TEST_CASE("gradients of converging paths accumulate (a diamond, f(x, x), 1 to 9 uses)") {
  const Tensor x = leaf({3});
  const Tensor y = x * 2.0;
  total(y * y + y).backward();  // 4x² + 2x, whose derivative is 8x + 2
  CHECK(numbers(x.grad()) == List{26});
  for (int uses = 1; uses <= 9; ++uses) {
    CAPTURE(uses);
    const Tensor z = leaf({3});
    const Tensor shared = z * 1.0;
    Tensor added = shared * 0.0;
    for (int i = 0; i < uses; ++i) added += shared * double(i + 1);
    total(added).backward();
    CHECK(numbers(z.grad()) == List{uses * (uses + 1) / 2.0});
  }
}

TEST_CASE("backward requires one element, a recorded graph, and a matching gradient") {
  const Tensor x = leaf({1, 2, 3});
  CHECK_REFUSES(GraphError, (x * 2.0).backward(), "[3]");
  CHECK_THROWS_AS(tensor({1.0}).backward(), GraphError);
  CHECK_THROWS_AS(Tensor().backward(), GraphError);
  const std::string shape =
      message_of<ShapeError>([&] { (x * 2.0).backward(zeros({2}, Dtype::f64)); });
  CHECK(has(shape, "[3]"));
  CHECK(has(shape, "[2]"));
  const std::string dtype = message_of<DtypeError>([&] { (x * 2.0).backward(zeros({3})); });
  CHECK(has(dtype, "f64"));
  CHECK(has(dtype, "f32"));
  CHECK_THROWS_AS(backward({}), GraphError);
  CHECK_THROWS_AS(backward({total(x)}, {Tensor(), Tensor()}), GraphError);
}

TEST_CASE("backward accepts several outputs") {
  const Tensor x = leaf({1, 2});
  const Tensor shared = x * 3.0;
  backward({total(shared), shared * 2.0}, {Tensor(), tensor({1, 10}, Dtype::f64)});
  CHECK(numbers(x.grad()) == List{9, 63});
}

TEST_CASE("a second backward requires keep_graph") {
  const Tensor x = leaf({1.5});
  const Tensor y = total(exp(x));
  y.backward({.keep_graph = true});
  y.backward();
  CHECK(numbers(x.grad()) == List{2 * numbers(exp(x.detach()))[0]});
  const std::string message = message_of<GraphError>([&] { y.backward(); });
  CHECK(has(message, "sum"));
  CHECK(has(message, "keep_graph"));
  // backward() of a new output that depends on released nodes also throws.
  CHECK_THROWS_AS((y * 2.0).backward(), GraphError);
}

TEST_CASE("nothing is recorded under NoGrad or after detach()") {
  const Tensor x = leaf({1, 2});
  {
    const NoGrad off;
    CHECK(!(x * 2.0).requires_grad());
    const GradMode on(true);
    CHECK((x * 2.0).requires_grad());
  }
  CHECK((x * 2.0).requires_grad());
  CHECK(!(x.detach() * 2.0).requires_grad());
  CHECK(x.detach().data<double>() == x.data<double>());
  total(x * x.detach()).backward();
  CHECK(numbers(x.grad()) == List{1, 2});
  // A graph recorded earlier can run backward under NoGrad.
  const Tensor y = total(x);
  const NoGrad off;
  y.backward();
  CHECK(numbers(x.grad()) == List{2, 3});
}

TEST_CASE("formula_wanted follows the innermost scope") {
  const bool always = environment::is_on(environment::Variable::formula);
  {
    const FormulaScope on;
    CHECK(formula_wanted());
    {
      const FormulaScope off(false);
      CHECK(formula_wanted() == always);
    }
    CHECK(formula_wanted());
  }
  CHECK(formula_wanted() == always);
}

TEST_CASE("a frozen leaf is frozen for every handle and gets no gradient") {
  Tensor x = leaf({1, 2}), other = leaf({3, 4});
  const Tensor handle = x;
  const Tensor recorded_before = total(x * other);
  x.requires_grad_(false);
  CHECK(!handle.requires_grad());
  CHECK(!(handle * 2.0).requires_grad());
  recorded_before.backward();
  CHECK(!x.grad().defined());
  CHECK(numbers(other.grad()) == List{1, 2});
  x.requires_grad_();
  total(handle * 2.0).backward();
  CHECK(numbers(x.grad()) == List{2, 2});
}

TEST_CASE("requires_grad_ accepts only floating-point leaves") {
  const Tensor x = leaf({1});
  Tensor y = x * 2.0, i = indices({1}), none;
  CHECK_REFUSES(GraphError, y.requires_grad_(false), "scale");
  CHECK_THROWS_AS(i.requires_grad_(), DtypeError);
  CHECK_THROWS_AS(none.requires_grad_(), GraphError);
  CHECK(x.is_leaf());
  CHECK(!y.is_leaf());
}

TEST_CASE("retain_grad keeps the gradient of an intermediate tensor") {
  const Tensor x = leaf({2});
  const Tensor y = x * 3.0, z = y * y;
  y.retain_grad();
  total(z).backward();
  CHECK(numbers(y.grad()) == List{12});
  CHECK(!z.grad().defined());
  CHECK_THROWS_AS(tensor({1.0}).retain_grad(), GraphError);
  const Tensor u = x * 3.0;  // grad() also stores the retained u.grad()
  u.retain_grad();
  CHECK(numbers(grad(total(u * u), x)) == List{36});
  CHECK(numbers(u.grad()) == List{12});
}

TEST_CASE("an error about a value changed before backward locates the op and the write") {
  Tensor x = leaf({1, 2});
  const Tensor y = total(x * x);
  {
    const NoGrad off;
    x.fill_(7);
  }
  const std::string message = message_of<GraphError>([&] { y.backward(); });
  CHECK(has(message, "[2]"));
  CHECK(has(message, "test_backward.cpp"));
  CHECK(has(message, "multiply"));
  CHECK(has(message, "clone()"));
}

TEST_CASE("in-place writes to a tensor that requires a gradient throw while recording") {
  Tensor x = leaf({1, 2});
  CHECK_THROWS_AS(x.fill_(0), GraphError);
  CHECK_THROWS_AS(x.copy_(zeros({2}, Dtype::f64)), GraphError);
  const NoGrad off;
  x.copy_(tensor({8, 9}, Dtype::f64));
  CHECK(numbers(x) == List{8, 9});
}

TEST_CASE("grad() returns gradients of leaves and intermediates without changing .grad()") {
  const Tensor x = leaf({2}), w = leaf({5});
  const Tensor y = x * w, z = total(y * y);
  const std::vector<Tensor> d = grad({z}, {y, x, w, z}, {}, {.keep_graph = true});
  CHECK(numbers(d[0]) == List{20});
  CHECK(numbers(d[1]) == List{100});
  CHECK(numbers(d[2]) == List{40});
  CHECK(d[3].item() == 1);
  CHECK(!x.grad().defined());
  CHECK(!w.grad().defined());
  CHECK(!d[1].requires_grad());
  CHECK(numbers(grad(z, x)) == List{100});
  CHECK_THROWS_AS(grad(z, x), GraphError);  // the graph is freed
}

TEST_CASE("grad() does not visit nodes behind its inputs") {
  const Tensor x = leaf({2});
  const Tensor y = exp(x), z = total(y * y);
  CHECK(grad(z, y).defined());
  total(y).backward();  // exp was not freed
  CHECK(numbers(x.grad()) == numbers(y));
}

TEST_CASE("grad() rejects an unused input unless allow_unused is set") {
  const Tensor x = leaf({2}), other = leaf({1, 2, 3});
  const Tensor y = total(x * 2.0);
  CHECK_REFUSES(GraphError, grad({y}, {x, other}, {}, {.keep_graph = true}), "[3]");
  const std::vector<Tensor> d = grad({y}, {x, other}, {}, {.allow_unused = true});
  CHECK(numbers(d[0]) == List{2});
  CHECK(!d[1].defined());
  CHECK_THROWS_AS(grad(total(x), tensor({1.0})), GraphError);
}

TEST_CASE("create_graph yields derivatives of every order for x⁴") {
  const Tensor x = leaf({1.5});
  Tensor y = total(x * x * x * x);
  const double wanted[] = {4 * 1.5 * 1.5 * 1.5, 12 * 1.5 * 1.5, 24 * 1.5, 24};
  for (int order = 0; order < 4; ++order) {
    CAPTURE(order);
    const Tensor d = grad({y}, {x}, {}, {.create_graph = true})[0];
    CHECK(d.requires_grad() == (order < 3));  // the fourth derivative is constant
    CHECK(d.item() == wanted[order]);         // powers of 1.5 are exact
    y = total(d);
  }
  CHECK(!x.grad().defined());
}

TEST_CASE("with create_graph, a gradient has derivatives in the upstream gradient") {
  const Tensor x = leaf({2, 3}), w = leaf({5, 7});
  const Tensor dx = grad({x * x}, {x}, {w}, {.create_graph = true})[0];  // 2 x w
  total(dx).backward();
  CHECK(numbers(w.grad()) == List{4, 6});
  CHECK(numbers(x.grad()) == List{10, 14});
}

TEST_CASE("backward of a gradient penalty computes second derivatives") {
  const Tensor x = leaf({2}), w = leaf({3});
  const Tensor y = total(w * x * x);
  const Tensor dx = grad({y}, {x}, {}, {.create_graph = true})[0];  // 2 w x
  total(dx * dx).backward();                                        // 4 w² x²
  CHECK(numbers(w.grad()) == List{96});                             // 8 w x²
  CHECK(numbers(x.grad()) == List{144});                            // 8 w² x
}

}  // namespace gradus::testing::test_backward
