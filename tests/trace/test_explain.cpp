// Tests explain(), which returns the recorded formula as text.
#include "gradus/trace/explain.h"

#include <algorithm>
#include <string>
#include <vector>

#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/thrown.h"
#include "gradus/tests/trace/leaky.h"
#include "gradus/trace/watch.h"

namespace gradus::testing::test_explain {
namespace {

using testing::has;

Tensor leaf(std::initializer_list<double> values) {
  return tensor(values, Dtype::f64).requires_grad_();
}

std::vector<std::string> lines_of(const std::string& all) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  for (std::size_t end; (end = all.find('\n', begin)) != std::string::npos; begin = end + 1)
    lines.push_back(all.substr(begin, end - begin));
  return lines;
}

std::string id(const Tensor& x) { return "#" + std::to_string(x.node()->id); }

}  // namespace

TEST_CASE("explain writes a formula from its result to its leaves") {
  const Tensor a = leaf({1, 2}), b = leaf({3, 4});
  const Tensor product = a * b;
  const Tensor y = sum(tanh(product) + tensor({1, 1}, Dtype::f64));
  const std::vector<std::string> lines = lines_of(explain(y));
  REQUIRE(lines.size() == 6);
  CHECK(lines[0].rfind(id(y) + " sum(#", 0) == 0);
  CHECK(has(lines[0], "[]"));
  CHECK(has(lines[0], "3.995"));  // the value is tanh 3 + tanh 8 + 2
  CHECK(has(lines[1], ", constant)"));
  CHECK(has(lines[2], "tanh(" + id(product) + ")"));
  CHECK(lines[3].rfind(id(product) + " multiply(" + id(a) + ", " + id(b) + ")", 0) == 0);
  CHECK(has(lines[3], "[2]"));
  CHECK(lines[4].rfind("│ " + id(b) + " leaf", 0) == 0);  // leaves are indented
  CHECK(lines[5].rfind("│ " + id(a) + " leaf", 0) == 0);
}

TEST_CASE("explain shows a shared node once, below its last use") {
  const Tensor x = leaf({1, 2});
  const Tensor shared = exp(x);
  const Tensor y = shared + tanh(shared * 2.0);
  const std::string all = explain(y);
  const std::vector<std::string> lines = lines_of(all);
  REQUIRE(lines.size() == 5);
  CHECK(has(lines[0], "add(" + id(shared)));  // refers to the shared node below
  CHECK(has(lines[2], "scale(" + id(shared) + ")"));
  CHECK(lines[3].rfind(id(shared) + " exp", 0) == 0);  // the shared node
}

TEST_CASE("explain indents all inputs except one") {
  const Tensor a = leaf({1, 2}), b = leaf({3, 4});
  const Tensor older = exp(a), newer = tanh(b);
  const std::vector<std::string> lines = lines_of(explain(older * newer));
  REQUIRE(lines.size() == 5);
  CHECK(lines[1].rfind("│ " + id(newer), 0) == 0);
  CHECK(lines[2].rfind("│ │ " + id(b), 0) == 0);
  CHECK(lines[3].rfind(id(older), 0) == 0);
  CHECK(lines[4].rfind("│ " + id(a), 0) == 0);
}

TEST_CASE("explain names parameters with their values and gradients") {
  testing::Leaky m;
  const Tensor loss = testing::leaky_loss(m);
  const std::string all = explain(loss, m);
  CHECK(has(all, "leaf up.weight"));
  CHECK(has(all, "leaf down.bias"));
  CHECK_FALSE(has(explain(loss), "up.weight"));
  m.up.bias.requires_grad_(false);
  CHECK(has(explain(loss, m), "frozen leaf up.bias"));
  m.up.bias.requires_grad_();
  loss.backward({.keep_graph = true});
  CHECK(has(explain(loss, m), "gradient "));
  loss.backward();
  CHECK(has(explain(loss, m), "released by backward"));
}

TEST_CASE("explain shows layers and ranges after a forward under a watch") {
  const testing::Leaky m;
  const trace::Watch watch;
  const Tensor loss = testing::leaky_loss(m);
  bool found = false;
  for (const std::string& line : lines_of(explain(loss, m))) {
    if (!has(line, "linear(") || !has(line, "Leaky up")) continue;
    found = true;
    CHECK(has(line, " … "));  // separates the smallest and the largest value
  }
  CHECK(found);
}

TEST_CASE("explain describes undefined and unrecorded tensors") {
  CHECK(explain(Tensor()) == "an undefined tensor\n");
  const std::string all = explain(tensor({1, 3}));
  CHECK(has(all, "[2]"));
  CHECK(has(all, "1 … 3"));
  CHECK(has(all, "without a graph"));
}

TEST_CASE("explain abbreviates a chain of a million nodes and counts the omitted ones") {
  const Tensor x = leaf({1});
  Tensor y = x;
  for (int i = 0; i < 1'000'000; ++i) y = i % 2 == 0 ? y + 1.0 : y * 1.0;
  const std::vector<std::string> lines = lines_of(explain(y));
  // The lines: three nodes, the note about omitted nodes, three nodes, and the leaf.
  CHECK(lines.size() == 8);
  CHECK(has(lines[3], "999,994 nodes: 499,997 scale, 499,997 shift"));
  CHECK(has(lines.back(), "leaf"));
}

TEST_CASE("explain prints all nodes, or the given number of lines and a note") {
  for (std::size_t products = 1; products < 20; ++products) {
    Tensor y = leaf({1});
    for (std::size_t i = 0; i < products; ++i) y = y * leaf({1});
    for (std::size_t lines = 4; lines < 45; ++lines) {
      CAPTURE(products, lines);
      const std::string all = explain(y, lines);
      CHECK(lines_of(all).size() == std::min(2 * products, lines) + 1);
      CHECK(has(all, " nodes: ") == (2 * products > lines));
    }
  }
}

TEST_CASE("explain respects its line limit if no nodes form a chain") {
  const Tensor x = leaf({1}), w = leaf({1});
  Tensor y = x;
  for (int i = 0; i < 20'000; ++i) y = y * w;  // the shared w is printed last
  for (int i = 0; i < 20'000; ++i) y = y + tanh(y) * leaf({1});
  const std::vector<std::string> lines = lines_of(explain(y, std::size_t{40}));
  CHECK(lines.size() <= 41);  // the limit and the note
  std::size_t counted = 0, shown = 0;
  for (const std::string& line : lines) {
    const std::size_t at = line.find("… ");
    if (!has(line, " nodes: ")) {
      ++shown;
      continue;
    }
    std::string digits;
    for (std::size_t i = at + std::string("… ").size(); line[i] != ' '; ++i)
      if (line[i] != ',') digits += line[i];
    counted += std::stoul(digits);
  }
  CHECK(counted + shown == 20'000 + 20'000 * 4 + 2);
}

TEST_CASE("explain handles deep trees of branches") {
  Tensor y = leaf({1});
  for (int i = 0; i < 100'000; ++i) y = exp(leaf({1})) * y;  // each level is indented
  Tensor z = leaf({1});
  for (int i = 0; i < 100'000; ++i) z = z * tanh(z + leaf({0}) * leaf({1}));
  CHECK(lines_of(explain(y * z)).size() <= 210);
  for (int i = 0; i < 100; ++i) {
    Tensor chain = leaf({1});
    for (int k = 0; k < 30; ++k) chain = chain + 1.0;
    y = y * chain;
  }
  CHECK(lines_of(explain(y)).size() <= 210);  // the limit of 200, plus seven lines of a chain
  CHECK(has(explain(y, std::size_t{0}), " nodes: "));
}

}  // namespace gradus::testing::test_explain
