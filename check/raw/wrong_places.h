// Hypotheses about misplaced gradients: swapped, transposed, shifted, lost, leaked. Most predict
// that A has the values of N at other indices.
#pragma once

#include <functional>
#include <numeric>
#include <optional>

#include "gradus/check/raw/evidence.h"

namespace gradus::check {

inline Cause swapped(const Comparison& d) {
  for (std::size_t t = 0; t < d.e.inputs.size(); ++t) {
    const SmallMatrix& other = d.e.inputs[t].numeric;
    if (t == d.e.input || other.columns != d.n.columns) continue;
    if (!d.explains([&](auto i, auto j) { return other(i, j); })) continue;
    const bool both = !close(d.e.inputs[t].analytic.values, other.values, 1e-6);
    return {both ? "SWAPPED" : "SAME AS ANOTHER",
            d.dx + " is the gradient of '" + d.e.inputs[t].name + "'",
            "the gradients are written or returned in another order than the inputs"};
  }
  return {};
}

/// An index map that is easily confused with the identity. A has the value of N at source(element),
/// or 0 if source returns nothing. `how` completes the sentence "dx is written …".
struct Confusion {
  std::string name, how, hint;
  std::function<std::optional<std::size_t>(std::size_t element)> source;
};
using Confusions = std::vector<Confusion>;

inline Confusions axis_orders(const Dims& shape) {
  Confusions result;
  std::vector<std::size_t> axes(shape.size());
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  while (shape.size() <= 4 && std::next_permutation(axes.begin(), axes.end())) {
    Dims other;
    for (const std::size_t axis : axes) other.push_back(shape[axis]);
    const auto source = [shape, axes, other](std::size_t element) {
      const Dims there = index_of(element, other);
      Dims here(shape.size());
      for (std::size_t a = 0; a < axes.size(); ++a) here[axes[a]] = there[a];
      return element_at(here, shape);
    };
    result.push_back({"TRANSPOSED",
                      " as if its axes were in the order " + list({axes.begin(), axes.end()}),
                      "row-major: element [i,j] of [rows,columns] is at i·columns + j", source});
  }
  return result;
}

inline Confusions reversal(const Dims& shape) {
  const std::size_t count = count_of(shape);
  if (count < 5) return {};
  return {{"FLIPPED", " backwards along all axes",
           "convolution and correlation differ by a flip: is a kernel flipped one time too many?",
           [count](std::size_t element) { return count - 1 - element; }}};
}

inline Confusions shifts(const Dims& shape) {
  Confusions result;
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    for (const std::int64_t step : {1, -1})
      for (const bool rolled : {true, false}) {
        if (shape[axis] < 3) continue;
        const auto source = [=](std::size_t element) -> std::optional<std::size_t> {
          Dims at = index_of(element, shape);
          at[axis] += step;
          if (rolled) at[axis] = (at[axis] + shape[axis]) % shape[axis];
          if (at[axis] < 0 || at[axis] >= shape[axis]) return {};
          return element_at(at, shape);
        };
        result.push_back({"OFF BY ONE", " shifted by one along " + axis_text(axis, shape),
                          "check the first index of that loop, and i + 1 or i - 1 inside", source});
      }
  return result;
}

/// Tests the maps of candidates(shape) on the input's elements and on the outputs.
template <Confusions (*candidates)(const Dims& shape)>
Cause confused(const Comparison& d) {
  for (const bool upstream : {false, true}) {
    const Dims& shape = upstream ? d.e.output_shape : d.self.shape;
    for (const Confusion& c : candidates(shape)) {
      std::vector<std::optional<std::size_t>> from;
      for (std::size_t element = 0; element < count_of(shape); ++element)
        from.push_back(c.source(element));
      const auto predicted = [&](std::size_t i, std::size_t j) {
        const std::optional<std::size_t> source = from[upstream ? i : j];
        return !source ? 0.0 : upstream ? d.n(*source, j) : d.n(i, *source);
      };
      if (d.explains(predicted))
        return {c.name, (upstream ? "dy is read" : d.dx + " is written") + c.how, c.hint};
    }
  }
  return {};
}

/// Tests whether a matrix was used instead of its transpose. This mistake swaps an index of the
/// output with one of the input.
inline Cause operand_transposed(const Comparison& d) {
  const Dims &out = d.e.output_shape, &in = d.self.shape;
  for (std::size_t p = 0; p < out.size(); ++p) {
    for (std::size_t q = 0; q < in.size(); ++q) {
      if (out[p] != in[q] || out[p] < 2) continue;
      const auto predicted = [&](std::size_t i, std::size_t j) {
        Dims oi = index_of(i, out), ij = index_of(j, in);
        std::swap(oi[p], ij[q]);
        return d.n(element_at(oi, out), element_at(ij, in));
      };
      if (!d.explains(predicted)) continue;
      return {"OPERAND TRANSPOSED", d.dx + " uses a matrix in place of its transpose",
              "C = A·B: dA = dC·Bᵀ, dB = Aᵀ·dC"};
    }
  }
  return {};
}

inline Cause column_major(const Comparison& d) {
  if (!d.e.jacobian || d.n.rows < 2 || d.n.columns < 2) return {};
  const auto predicted = [&](std::size_t i, std::size_t j) {
    const std::size_t p = i * d.n.columns + j;
    return d.n(p % d.n.rows, p / d.n.rows);
  };
  if (!d.explains(predicted)) return {};
  return {"COLUMN MAJOR",
          "the Jacobian with respect to '" + d.self.name + "' is in column-major order",
          "write one row per output, or pass jacobian(f, Order::column_major)"};
}

inline bool rows_shuffled(const SmallMatrix& a, const SmallMatrix& n, double fuzz) {
  if (a.rows < 3 || a.rows > 512) return false;
  std::vector<bool> used(a.rows, false);
  for (std::size_t i = 0; i < a.rows; ++i) {
    const auto same = [&](std::size_t k) {
      for (std::size_t j = 0; j < a.columns; ++j)
        if (!(std::abs(a(i, j) - n(k, j)) <= fuzz)) return false;
      return true;
    };
    std::size_t k = 0;
    while (k < a.rows && (used[k] || !same(k))) ++k;
    if (k == a.rows) return false;
    used[k] = true;
  }
  return true;
}

inline Cause permuted(const Comparison& d) {
  const bool elements = rows_shuffled(transposed(d.a), transposed(d.n), d.fuzz);
  if (!elements && !rows_shuffled(d.a, d.n, d.fuzz)) return {};
  const std::vector<bool> read = d.live_elements();
  if (elements && std::find(read.begin(), read.end(), false) != read.end())
    return {"WRONG CHOICE", d.dx + " goes to other elements than those that the output selected",
            "use forward's choice in backward (an index, the position of a maximum)"};
  return {"PERMUTED",
          elements ? d.dx + " has the right values in the wrong positions"
                   : d.dx + " uses each dy in the position of another",
          "is an index or a permutation used in place of its inverse?"};
}

inline Cause left_out(const Comparison& d) {
  if (!d.explains([&](auto i, auto j) { return d.wrong(i, j) ? 0.0 : d.a(i, j); })) return {};
  const std::vector<bool> bad = d.wrong_elements();
  const std::vector<bool> reached =
      d.having(false, [&](auto i, auto j) { return std::abs(d.a(i, j)) > d.fuzz; });
  bool none = true, all = true;
  for (std::size_t j = 0; j < bad.size(); ++j) (reached[j] ? none : all) &= !bad[j];
  if (none) {
    const std::string where = location(bad, d.self.shape, d.self.values);
    return {"LEFT OUT",
            "some elements of '" + d.self.name +
                "' get no gradient: " + (where.empty() ? "those marked 0 in the map" : where),
            "does the loop end too soon, or does a condition exclude them?"};
  }
  const std::string where =
      location(d.having(true, [&](auto i, auto j) { return d.wrong(i, j); }), d.e.output_shape, {});
  return {"PARTIAL SUM",
          "an element that several outputs depend on gets the gradient of only some of them" +
              (all || where.empty() ? "" : "; missing are those " + where),
          "is there an = in place of +=, or a slice in place of a sum?"};
}

inline Cause gradient_leak(const Comparison& d) {
  if (!d.explains([&](auto i, auto j) { return d.zero(i, j) ? d.a(i, j) : d.n(i, j); })) return {};
  const std::string where = location(d.wrong_elements(), d.self.shape, d.self.values);
  return {"LEAK",
          "gradient flows where the output does not depend on '" + d.self.name + "'" +
              (where.empty() ? "" : ": " + where),
          "is a mask or a condition of the forward pass missing from the backward pass?"};
}

inline Cause subset(const Comparison& d) {
  const std::vector<bool> bad = d.wrong_elements(), live = d.live_elements();
  const std::string where = location(bad, d.self.shape, d.self.values);
  if (where.empty() || std::count(live.begin(), live.end(), true) < 3) return {};
  const auto j = static_cast<std::size_t>(std::find(bad.begin(), bad.end(), true) - bad.begin());
  return {
      "SUBSET", d.dx + " is wrong " + where + " and correct everywhere else",
      "which branch or loop iteration treats " + list(index_of(j, d.self.shape)) + " differently?"};
}

}  // namespace gradus::check
