#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "gradus/engine/node.h"
#include "gradus/engine/observer.h"
#include "gradus/engine/op.h"
#include "gradus/engine/tensor.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"

namespace gradus::examples {

/// If set, expect() calls this function when a claim is false. It must throw. The playground sets
/// it.
inline void (*on_false_claim)(const char* claim) = nullptr;

/// Exits with code 1 if `holds` is false and on_false_claim is not set.
inline void expect(bool holds, const char* claim) {
  if (holds) return;
  if (on_false_claim != nullptr) on_false_claim(claim);
  std::printf("NOT TRUE: %s\n", claim);
  std::exit(1);
}

/// Returns whether a and b differ by less than 1e-12 times the largest value or 1. This tolerance
/// exceeds rounding errors, but not the errors that mistakes cause.
inline bool same(const Tensor& a, const Tensor& b) {
  const std::vector<double> left = a.to_vector<double>(), right = b.to_vector<double>();
  double largest = 1;
  for (const double each : left) largest = std::max(largest, std::abs(each));
  bool equal = a.shape() == b.shape();
  for (std::size_t i = 0; equal && i < left.size(); ++i)
    equal = std::abs(left[i] - right[i]) < 1e-12 * largest;
  return equal;
}

using Row = std::vector<double>;
using Rows = std::vector<Row>;

inline Row flat(const Rows& rows) {
  Row values;
  for (const Row& row : rows) values.insert(values.end(), row.begin(), row.end());
  return values;
}

inline Tensor matrix(const Rows& rows) {
  return squeeze(tensor(flat(rows), {1, std::ssize(rows), std::ssize(rows.at(0))}), 0);
}

/// Returns a leaf of shape [B 1, H 1, rows, width].
inline Tensor head(const Rows& rows) {
  const Tensor x = matrix(rows);
  return reshape(x, {1, 1, x.size(0), x.size(1)}).requires_grad_();
}

/// Prints an f64 tensor as a table with optional row labels:
///
///   scores = q kᵀ / √D   [1, 1, 2, 3]
///     cat      1.000    2.500   -0.500
inline void show(const std::string& title, const Tensor& x,
                 const std::vector<std::string>& rows = {}) {
  std::printf("%s   %s\n", title.c_str(), to_string(x.shape()).c_str());
  const std::vector<double> numbers = x.to_vector<double>();
  const auto columns = static_cast<std::size_t>(x.rank() == 0 ? 1 : x.size(-1));
  bool integers = true;
  for (const double each : numbers) integers = integers && each == std::trunc(each);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t row = i / columns;
    if (i % columns == 0) std::printf("  %-5s", row < rows.size() ? rows[row].c_str() : "");
    const double shown = std::abs(numbers[i]) < 0.0005 ? 0 : numbers[i];  // no "-0.000"
    std::printf("%9.*f%s", integers ? 0 : 3, shown, i % columns == columns - 1 ? "\n" : "");
  }
}

/// Prints pictures next to each other, with titles.
inline void draw(const std::vector<std::pair<std::string, std::string>>& drawings) {
  std::vector<std::istringstream> texts;
  for (const auto& [title, picture] : drawings) texts.emplace_back(title + "\n" + picture);
  for (std::string line = " "; !line.empty(); std::printf("%s\n", line.c_str())) {
    line.clear();
    for (std::size_t i = 0; i < texts.size(); ++i)
      if (std::string row; std::getline(texts[i], row)) {
        line.resize(28 * i, ' ');
        line += row;
      }
  }
}

/// Draws weights of shape [T, S], with one row per output letter and one column per input letter.
inline void draw_weights(const Tensor& weights, const std::string& read,
                         const std::string& written) {
  std::printf("\ncross-attention weights: . < 0.1 < + < 0.5 < #\n    %s\n", read.c_str());
  for (std::int64_t t = 0; t < weights.size(0); ++t) {
    std::printf("  %c ", written[static_cast<std::size_t>(t)]);
    for (const double p : weights[t].to_vector<double>())
      std::printf("%c", p > 0.5 ? '#' : p > 0.1 ? '+' : '.');
    std::printf("\n");
  }
}

/// The scores' standard deviation, the mean largest weight, and the mean |d scores| for d weights
/// of variance 1.
struct Spread {
  double deviation, largest, gradient;

  explicit Spread(const Tensor& scores) {
    const Tensor s = scores.detach().requires_grad_();
    const Tensor p = softmax(s);
    p.backward(randn(p.shape()));
    deviation = gradus::std(s).item();
    largest = mean(max(p, {1})).item();
    gradient = mean(abs(s.grad())).item();
  }
};

/// Records each op's result y and its gradient dy.
struct Recorder : Observer {
  struct Entry {
    std::string name;
    Tensor y, dy;
  };
  std::map<std::uint64_t, Entry> entries;  // by node id

  void on_op_end(const Op& op, std::span<const Tensor* const>, const Tensor& y) override {
    if (y.requires_grad()) entries[y.node()->id] = {op.name(), y, {}};
  }
  void on_backward_begin(const Node& node, const Tensor& dy) override { entries[node.id].dy = dy; }

  const Entry& operator[](const std::string& name) const {
    for (const auto& [id, entry] : entries)
      if (entry.name == name) return entry;
    expect(false, "the operation has run");
    return entries.begin()->second;
  }
};

}  // namespace gradus::examples
