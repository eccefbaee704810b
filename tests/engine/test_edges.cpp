// Edge cases of the engine: the largest sizes, undefined tensors, observers, printing.
#include <locale>
#include <string>
#include <vector>

#include "gradus/engine/accumulate.h"
#include "gradus/engine/apply.h"
#include "gradus/engine/backward.h"
#include "gradus/engine/broadcast.h"
#include "gradus/engine/node.h"
#include "gradus/engine/observer.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/thrown.h"

namespace gradus {
namespace op {

/// y = 2 x by a kernel, in backward too: create_graph would lose its part.
struct Twice final : Op {
  const char* name() const override { return "twice"; }
  Tensor forward(const Tensor& x) { return doubled(x); }
  Gradients backward(const Tensor& dy, const Wanted&) override { return {doubled(dy)}; }
  static Tensor doubled(const Tensor& x) {
    Tensor y = kernel::copy(x);
    add_(y, x.detach());
    return y;
  }
};

}  // namespace op
namespace {

using testing::has;
using testing::message_of;

Tensor leaf(const Shape& shape, Dtype dtype = Dtype::f64) {
  return full(shape, 3, dtype).requires_grad_();
}

/// What walks tell beside what test_observer.cpp looks at.
struct WalkRecorder : Observer {
  std::vector<std::string> lines;
  bool walking = false;  // then backward's own operations save too
  void saved(const Tensor& x) override {
    if (!walking) lines.push_back(str_cat("saved ", x.shape()));
  }
  void walk_begin(std::span<const Tensor> outputs, bool create_graph) override {
    lines.push_back(str_cat("walk of ", outputs.size(), create_graph ? ", recorded" : ""));
    walking = true;
  }
  void seeded(const Node& node, const Tensor& dy) override {
    lines.push_back(str_cat(node.name(), " starts with ", dy.item()));
  }
  void added(const Node& node, std::size_t k, const Tensor& sum) override {
    lines.push_back(str_cat(node.name(), " added ", k, ": ", sum.item()));
  }
  void walk_end() noexcept override { lines.emplace_back("end"), walking = false; }
};

}  // namespace

TEST_CASE("an observer sees the start of a backward pass, its additions and its end") {
  WalkRecorder seen;
  const ObserverScope scope(seen);
  const Tensor x = leaf({});
  (x * x).backward();
  const std::vector<std::string> told = {"saved []",
                                         "saved []",
                                         "walk of 1",
                                         "multiply starts with 1",
                                         "multiply added 0: 3",
                                         "multiply added 1: 6",
                                         "end"};
  CHECK(seen.lines == told);
  seen.lines.clear();
  const Tensor y = negative(leaf({}));
  y.register_hook([](const Tensor&) -> Tensor { fail<ValueError>("on purpose"); });
  CHECK_THROWS_AS(y.backward(), ValueError);
  CHECK(seen.lines == std::vector<std::string>{"walk of 1", "negative starts with 1", "end"});
}

TEST_CASE("create_graph names an op whose backward records no graph") {
  for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
    const Tensor x = leaf({2}, dtype);
    const Tensor y = sum(apply(op::Twice{}, x));
    CHECK(grad(y, x, {.keep_graph = true}).to(Dtype::f64).to_vector<double>() ==
          std::vector<double>{2, 2});
    const std::string said = message_of<GraphError>([&] { grad(y, x, {.create_graph = true}); });
    CHECK(has(said, "twice (node "));
    CHECK(has(said, "cannot be differentiated twice"));
  }
}

TEST_CASE("where_am_i names both the layer and the op whose backward runs") {
  struct Layer : Named {
    std::string name_of(const Named&) const override { return ""; }
    std::string type_name() const override { return "Layer"; }
  } layer;
  struct Asker : Observer {
    std::string said;
    void op_begin(const Op&, std::span<const Tensor* const>) override { said = where_am_i(); }
  } asker;
  const Tensor y = negative(leaf({}));
  const Scope scope(layer);
  const ObserverScope observing(asker);
  y.backward();
  CHECK(has(asker.said, "Layer, backward of negative, node "));
}

TEST_CASE("expand and sum_to report their shapes in errors") {
  const Tensor none, x = ones({2, 1}), y = ones({2, 3});
  CHECK_REFUSES(ValueError, expand(none, {2}), "expand", "undefined");
  CHECK_REFUSES(ValueError, sum_to(none, {}), "sum_to", "undefined");
  CHECK_REFUSES(ShapeError, expand(y, {3}), "expand", "[3]", "[2, 3]");
  CHECK_REFUSES(ShapeError, expand(x, {-1, 2, 4}), "-1", "0");
  CHECK_REFUSES(ShapeError, expand(x, {2, -3}), "-3", "1");
  CHECK(expand(x, {-1, -1}).shape() == Shape{2, 1});
  CHECK(expand(x, {4, -1, 0}).shape() == Shape{4, 2, 0});
  CHECK(broadcasts_to({2, 1}, {4, 2, 3}));
  CHECK_FALSE(broadcasts_to({1, 3}, {3}));
  CHECK_FALSE(broadcasts_to({3}, {4}));
}

TEST_CASE("sizes are refused from the first that no memory can hold") {
  const std::int64_t most = std::int64_t{1} << 47;
  const char* too_many = "more than any machine's memory";
  CHECK(has(message_of<MemoryError>([&] { Tensor::empty({most}, Dtype::bool_); }), too_many));
  CHECK_FALSE(
      has(message_of<MemoryError>([&] { Tensor::empty({most - 1}, Dtype::f64); }), too_many));
  CHECK_REFUSES(ShapeError, numel({2, -3}), "-3");
  CHECK_REFUSES(ShapeError, numel({-1}), "-1");
}

TEST_CASE("an undefined tensor throws an error that names the called function") {
  const Tensor none;
  Tensor x = ones({2});
  CHECK_REFUSES(GraphError, none.item(), "item", "undefined");
  CHECK_REFUSES(GraphError, x.copy_(none), "copy_", "undefined");
  CHECK_REFUSES(GraphError, kernel::copy(none), "copy", "undefined");
}

TEST_CASE("kernel views and copies are outside the graph") {
  const Tensor x = leaf({2, 3});
  CHECK_FALSE(kernel::transposed(x, 0, 1).requires_grad());
  CHECK_FALSE(kernel::convert(x, Dtype::f64).requires_grad());
  CHECK(kernel::convert(x, Dtype::f64).storage() == x.storage());  // no copy
  CHECK_FALSE(kernel::convert(x, Dtype::f32).requires_grad());
}

TEST_CASE("a kernel view stays within its storage") {
  const Tensor x = arange(6);
  const auto view = [&](const Shape& shape, const Strides& strides, std::int64_t offset) {
    return message_of<ShapeError>([&] { kernel::strided_view(x, shape, strides, offset); });
  };
  const std::string fits = "nothing was thrown";
  CHECK(view({2, 3}, {3, 1}, 0) == fits);
  CHECK(has(view({2, 3}, {3, 1}, 1), "from 1 reaches 1 to 6 of 6 elements"));
  CHECK(view({6}, {-1}, 5) == fits);
  CHECK(has(view({6}, {-1}, 4), "from 4 reaches -1 to 4 of 6 elements"));
  CHECK(view({2, 2}, {4, -1}, 1) == fits);  // 1, 0, 5, 4
  CHECK(has(view({2, 2}, {5, -1}, 1), "reaches 0 to 6"));
  CHECK(view({}, {}, 5) == fits);
  CHECK(has(view({}, {}, 6), "reaches 6 to 6"));
  CHECK(view({0}, {1}, 99) == fits);  // empty: reaches nothing
  CHECK(view({1, 1}, {99, 99}, 5) == fits);
  CHECK_REFUSES(ShapeError, kernel::reshaped(x, {7}), "reshape", "[6]", "6");
  CHECK(kernel::sliced(x, 0, 4, 0, 1).offset() == 0);
  CHECK(kernel::sliced(x, 0, 4, 1, 1).offset() == 4);
}

TEST_CASE("dispatch_number refuses types without an order") {
  const auto nothing = []<class T>() {};
  CHECK_REFUSES(DtypeError, dispatch_number("op", Dtype::bool_, nothing), "op", "f32", "f64");
}

TEST_CASE("run_again returns nothing for a node that backward used up") {
  const Tensor x = leaf({2});
  const Tensor y = negative(x);
  CHECK(y.node()->run_again({x}).to_vector<double>() == std::vector<double>{-3, -3});
  sum(y).backward();
  CHECK_FALSE(y.node()->run_again({x}).defined());
}

TEST_CASE("print aligns columns and abbreviates from 1001 elements") {
  CHECK(to_string(arange(8).reshape({1, 4, 2})) == "[[[0, 1],\n  [2, 3],\n  [4, 5],\n  [6, 7]]]");
  CHECK(to_string(arange(1000)).find("…") == std::string::npos);
  CHECK(to_string(arange(1001)).find("…") != std::string::npos);
  const std::string six = to_string(arange(1200).reshape({200, 6}));
  CHECK(six.starts_with("[[   0,    1,    2,    3,    4,    5],\n"));
  const std::string seven = to_string(arange(1400).reshape({200, 7}));
  CHECK(seven.starts_with("[[   0,    1,    2, …,    4,    5,    6],\n"));
  const auto f64 = [](std::initializer_list<double> all) {
    return to_string(tensor(all, Dtype::f64));
  };
  CHECK(f64({99'999'999.0, 1}) == "[99999999.,        1.]");
  CHECK(f64({100'000'000.0, 1}) == "[1.0000e+08, 1.0000e+00]");
  CHECK(f64({-100'000'000.0, 1}) == "[-1.0000e+08,  1.0000e+00]");
  CHECK(f64({99'999.5, 1}) == "[99999.5000,     1.0000]");
  CHECK(f64({100'000.5, 1}) == "[1.0000e+05, 1.0000e+00]");
  CHECK(f64({100'000.0, 0.5}) == "[1.0000e+05, 5.0000e-01]");
  CHECK(f64({0.0001, 0.5}) == "[0.0001, 0.5000]");
  CHECK(f64({0.00009999, 0.5}) == "[9.9990e-05, 5.0000e-01]");
  CHECK(f64({-123'456.5, 2}) == "[-1.2346e+05,  2.0000e+00]");
  // 79 columns with the comma: the next number goes on in the line, one of 81 does not
  CHECK(to_string(arange(100, 116)).find('\n') == std::string::npos);
  CHECK(to_string(arange(100, 117)).find('\n') != std::string::npos);
  CHECK(to_string(arange(1'000'000, 1'000'009)).find('\n') != std::string::npos);  // 81 columns
}

TEST_CASE("print writes numbers in the C locale") {
  struct Comma : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };
  const std::locale before = std::locale::global(std::locale(std::locale(), new Comma));
  const std::string written = to_string(tensor({1234.5}));
  std::locale::global(before);
  CHECK(written == "[1234.5000]");
}

}  // namespace gradus
