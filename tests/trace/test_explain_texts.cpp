// explain, why and to_dot of the same graphs, against tests/golden/trace/texts.txt: every line of
// them, with nodes numbered from 1.
#include <algorithm>
#include <array>
#include <sstream>
#include <string>
#include <vector>

#include "gradus/base/thread_state.h"
#include "gradus/engine/backward.h"
#include "gradus/nn/module.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/io/comma_locale.h"
#include "gradus/tests/io/golden.h"
#include "gradus/tests/trace/leaky.h"
#include "gradus/trace/dot.h"
#include "gradus/trace/explain.h"
#include "gradus/trace/watch.h"
#include "gradus/trace/why.h"

namespace gradus::testing {
namespace {

Tensor leaf(std::initializer_list<double> values) {
  return tensor(values, Dtype::f64).requires_grad_();
}

/// A line's formula, shape, values and layer; a note is a formula alone.
using Cells = std::array<std::string, 4>;

std::string trimmed(const std::string& text) {
  const std::size_t first = std::min(text.find_first_not_of(' '), text.size());
  return text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

Cells cells_of(const std::string& line) {
  const std::size_t shape = line.find(" [");
  if (shape == line.npos) return {line, "", "", ""};
  const std::size_t after = line.find(']', shape) + 1;
  std::size_t layer = after;  // begins with a large letter
  while (layer < line.size() && !(line[layer] >= 'A' && line[layer] <= 'Z')) ++layer;
  return {trimmed(line.substr(0, shape)), trimmed(line.substr(shape, after - shape)),
          trimmed(line.substr(after, layer - after)), line.substr(layer)};
}

std::size_t columns(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

/// Each column is as wide as its widest cell, but the first has at most 48.
std::string laid_out(const std::vector<Cells>& rows) {
  std::size_t widths[4] = {};
  for (const Cells& row : rows)
    for (std::size_t k = 0; k < 3; ++k)
      widths[k] = std::max(widths[k], std::min(columns(row[k]), k == 0 ? std::size_t{48} : 999));
  std::string out;
  for (const Cells& row : rows) {
    std::string line;
    for (std::size_t k = 0; k < 4; ++k)
      line += row[k] + std::string(widths[k] - std::min(widths[k], columns(row[k])), ' ') + "  ";
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

/// What explain says, with a bar between cells: how wide they are depends on the nodes' numbers.
std::string explained(const std::string& text) {
  if (!text.starts_with("#")) return text;
  std::vector<Cells> rows;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) rows.push_back(cells_of(line));
  CHECK(laid_out(rows) == text);
  std::string out;
  for (const Cells& row : rows) out += row[0] + "|" + row[1] + "|" + row[2] + "|" + row[3] + "\n";
  return out;
}

std::string texts(const std::string& name, const Tensor& x) {
  return "== " + name + "\n" + renumbered(explained(explain(x)) + why(x) + to_dot(x), {"#", "n"}) +
         "\n";
}
std::string texts(const std::string& name, const Tensor& x, const nn::Module& model) {
  return "== " + name + "\n" +
         renumbered(explained(explain(x, model)) + why(x, model) + to_dot(x, model), {"#", "n"}) +
         "\n";
}
std::string lines_text(const std::string& name, const Tensor& x, std::size_t lines) {
  return "== " + name + ", " + std::to_string(lines) + " lines\n" +
         renumbered(explained(explain(x, lines)) + to_dot(x, lines), {"#", "n"}) + "\n";
}

/// A branch inside a branch, so many times; the older one goes on at its depth.
Tensor deep(int depth) {
  std::vector<Tensor> older;
  for (int i = 0; i < depth; ++i) older.push_back(exp(leaf({0})));
  Tensor y = tanh(leaf({0}));
  for (const Tensor& each : older) y = each * y;
  return y;
}

/// A chain of so many nodes and kinds of them.
Tensor chain(Tensor y, int length, int kinds) {
  Tensor (*const ops[])(const Tensor&) = {exp, tanh, negative, sigmoid, square, abs, sqrt};
  for (int i = 0; i < length; ++i) y = i % kinds == 7 ? y + 1.0 : ops[i % kinds](y);
  return y;
}

std::string graphs() {
  const Tensor a = leaf({1, 2}), b = leaf({3, 4}), shared = a * b;
  Tensor(b).requires_grad_(false);
  std::string out = texts("a leaf", a) + texts("a constant", tensor({1, 2})) +
                    texts("undefined", Tensor()) + texts("whole numbers", indices({1, 2}));
  out += texts("small", sum(tanh(shared) + tensor({1, 1}, Dtype::f64) + shared));
  const Tensor used = exp(a);
  sum(used).backward();
  out += texts("used up, beside a gradient", sum(used * a));
  out += texts("deep", deep(14));
  out += texts("wide", cat({shared, shared, a, a, a, a, a, a, a, a, a, a}) * 2.0);
  for (const int length : {8, 9}) {
    const Tensor two_kinds = chain(leaf({0.5}), length, 2);
    out += texts("chain", two_kinds * chain(leaf({0.5}), length, 1));
  }
  for (const int kinds : {5, 6, 7, 8}) out += texts("kinds", chain(leaf({0.5}), 27, kinds));
  return out;
}

std::string limits() {
  Tensor y = leaf({1});
  for (int i = 0; i < 5; ++i) y = y * exp(leaf({1}));
  y = chain(y, 9, 1);
  std::string out;
  for (const std::size_t lines : {0, 1, 3, 4, 5, 8, 11, 16, 23, 24, 25, 26, 27, 40})
    out += lines_text("limits", y, lines);
  Tensor many = leaf({1});
  for (int i = 0; i < 40; ++i) many = many * leaf({1});
  return out + texts("41 leaves", many);
}

struct Inner : nn::Layer<Inner> {
  nn::Linear low{2, 2};
  nn::Members members() override { return {{"low", low}}; }
  Tensor forward(const Tensor& x) const { return tanh(low(x)); }
};
struct Outer : nn::Layer<Outer> {
  Inner inner;
  Tensor scale = nn::parameter(ones({2})), frozen = nn::parameter(ones({2}));
  nn::Members members() override {
    return {{"inner", inner}, {"scale", scale}, {"frozen", frozen}};
  }
  Tensor forward(const Tensor& x) const { return inner(x) * scale + frozen; }
};

/// Weights that are the same in each run.
template <class Model>
Model filled(Model model) {
  const NoGrad off;
  double next = 1;
  for (nn::NamedTensor& each : model.parameters()) {
    Tensor x = each.tensor.detach();
    x.fill_((next += 1) / 16);
  }
  return model;
}

std::string layers() {
  Outer model = filled(Outer());
  const Leaky leaky = filled(Leaky());
  model.frozen.requires_grad_(false);
  const auto loss = [&] {
    const Tensor of_model = mean(square(model(ones({3, 2}))));
    return of_model + sum(tensor({1.0}).requires_grad_());
  };
  std::string out = texts("without a watch", loss(), model) +
                    texts("leaky, without a watch", leaky_loss(leaky), leaky);
  const trace::Watch watch;
  const Tensor seen = loss();
  out += texts("under a watch", seen, model) + texts("without its model", seen);
  out += texts("leaky, under a watch", leaky_loss(leaky), leaky);
  seen.backward({.keep_graph = true});
  out += texts("with gradients", seen, model);
  seen.backward();
  out += texts("used up", seen, model);
  const Tensor x = leaf({1, 2}), frozen = tensor({1, 2}, Dtype::f64);
  const Tensor off = [&] {
    const NoGrad no;
    return exp(x);
  }();
  for (const Tensor& each : {exp(x).detach(), off, exp(frozen), frozen})
    out += texts("not recorded", each);
  return out;
}

/// Explains its own results under a watch that began inside it.
struct Looking : nn::Layer<Looking> {
  nn::Linear low{2, 2};
  nn::Members members() override { return {{"low", low}}; }
  Tensor forward(const Tensor& x) const {
    const trace::Watch watch;
    const Tensor before = tanh(x), y = low(before) * 2.0;
    thread_state.parallel = true;
    const Tensor unseen = exp(y);
    thread_state.parallel = false;
    said = texts("from inside", exp(unseen) + y);
    return y;
  }
  mutable std::string said;
};

}  // namespace

TEST_CASE("explain, why and to_dot write golden/trace/texts.txt") {
  const Looking looking = filled(Looking());
  looking(tensor({{0.5, 1.0}}).requires_grad_());
  check_golden("trace/texts.txt", graphs() + limits() + layers() + looking.said);
}

TEST_CASE("ranges are written the same in every locale") {
  const CommaLocale commas;
  CHECK(trace::to_string(trace::range_of(tensor({1234.25, 0.25}))) == "0.25 … 1234");
  CHECK(explain(tensor({0.5, 12345.0})) ==
        "a tensor [2] of f32, 0.5 … 1.234e+04: nothing is recorded behind it (why(x) says more)\n");
}

}  // namespace gradus::testing
