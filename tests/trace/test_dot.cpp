// Tests Graphviz output.
#include "gradus/trace/dot.h"

#include <string>

#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/thrown.h"
#include "gradus/tests/trace/leaky.h"
#include "gradus/trace/watch.h"

namespace gradus::testing::test_dot {
namespace {

using testing::has;

Tensor leaf(std::initializer_list<double> values) {
  return tensor(values, Dtype::f64).requires_grad_();
}

std::string n(const Tensor& x) { return "n" + std::to_string(x.node()->id); }

/// True if quotes are balanced on each line, and braces in the entire text.
bool is_balanced(const std::string& dot) {
  int braces = 0;
  bool inside = false, escaped = false;
  for (const char c : dot) {
    if (inside && c == '\n') return false;
    if (escaped) {
      escaped = false;
    } else if (inside && c == '\\') {
      escaped = true;
    } else if (c == '"') {
      inside = !inside;
    } else if (!inside && (c == '{' || c == '}')) {
      braces += c == '{' ? 1 : -1;
    }
  }
  return braces == 0 && !inside;
}

}  // namespace

TEST_CASE("to_dot draws nodes, and edges with shapes") {
  const Tensor x = leaf({1, 2, 3}), frozen = leaf({1});
  const Tensor squared = x * x;
  const Tensor y = sum(squared * frozen);
  Tensor(frozen).requires_grad_(false);
  const std::string dot = to_dot(y);
  CHECK(is_balanced(dot));
  CHECK(dot.rfind("digraph gradus {", 0) == 0);
  CHECK(has(dot, n(y) + " [label=\"sum #" + std::to_string(y.node()->id) + " []\"]"));
  CHECK(has(dot, n(x) + " [label=\"leaf #" + std::to_string(x.node()->id) + " [3]\", shape=box]"));
  CHECK(has(dot, "shape=box, style=dashed"));
  const std::string edge = n(x) + " -> " + n(squared) + " [label=\"[3]\"];\n";
  const std::size_t first = dot.find(edge);
  REQUIRE(first != std::string::npos);
  CHECK(dot.find(edge, first + 1) != std::string::npos);  // each use has one edge
  CHECK(!has(dot, "gray"));
  y.backward();
  CHECK(has(to_dot(y), n(y) + " [label=\"sum #" + std::to_string(y.node()->id) +
                           " []\", color=gray];"));  // backward has released it
}

TEST_CASE("to_dot groups layers into clusters after a watch") {
  const testing::Leaky m;
  const trace::Watch watch;
  const std::string dot = to_dot(testing::leaky_loss(m), m);
  CHECK(is_balanced(dot));
  const std::size_t model = dot.find("label=\"Leaky\""), up = dot.find("label=\"up\""),
                    linear = dot.find("linear #", up);
  CHECK(model < up);
  CHECK(linear < dot.find('}', up));
  CHECK(has(dot, "up.weight #"));
}

TEST_CASE("to_dot escapes any name") {
  struct Odd : nn::Layer<Odd> {
    Tensor w = nn::parameter(ones({1}));
    nn::Members members() override { return {{"a \"b\" \\ c\nd\re}", w}}; }
    Tensor forward(const Tensor& x) const { return x * w; }
  } m;
  const std::string dot = to_dot(m(ones({1})), m);
  CHECK(is_balanced(dot));
  CHECK(has(dot, R"(a \"b\" \\ c d e})"));
}

TEST_CASE("to_dot draws the newest nodes of a large graph and counts the others") {
  Tensor y = leaf({1});
  for (int i = 0; i < 1'000'000; ++i) y = y + 1.0;
  const std::string dot = to_dot(y, std::size_t{10});
  CHECK(is_balanced(dot));
  CHECK(has(dot, "999,991 older nodes"));
  CHECK(has(dot, "older -> n"));
  CHECK(dot.size() < 2000);
  CHECK_FALSE(has(to_dot(leaf({1}) * 2.0), "older"));
  CHECK(is_balanced(to_dot(tensor({1.0}))));  // draws an empty graph
}

}  // namespace gradus::testing::test_dot
