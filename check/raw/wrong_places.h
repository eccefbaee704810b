// Hypotheses about gradients in the wrong place: swapped, transposed, shifted, lost, leaked.
#pragma once

#include <numeric>

#include "gradus/check/raw/evidence.h"

namespace gradus::check::core {

inline Cause swapped(const Comparison& d) {
  for (std::size_t t = 0; t < d.e.inputs.size(); ++t) {
    const Matrix& other = d.e.inputs[t].numeric;
    if (t == d.e.input || other.columns != d.n.columns) continue;
    if (!d.explains([&](auto i, auto j) { return other(i, j); })) continue;
    const bool both = !close(d.e.inputs[t].analytic.values, other.values, 1e-6);
    return {both ? "SWAPPED" : "SAME AS ANOTHER",
            d.dx + " is the gradient of '" + d.e.inputs[t].name + "'",
            "the gradients are written, or returned, in another order than the inputs stand in"};
  }
  return {};
}

/// The elements of `shape` in the order of its axes permuted so.
inline std::vector<std::size_t> permuted_order(const Shape& shape,
                                               const std::vector<std::size_t>& axes) {
  Shape other;
  for (const std::size_t axis : axes) other.push_back(shape[axis]);
  std::vector<std::size_t> order(static_cast<std::size_t>(count_of(shape)));
  for (std::size_t f = 0; f < order.size(); ++f) {
    const Shape there = place(static_cast<std::int64_t>(f), other);
    Shape here(shape.size());
    for (std::size_t a = 0; a < axes.size(); ++a) here[axes[a]] = there[a];
    order[f] = static_cast<std::size_t>(element_at(here, shape));
  }
  return order;
}

inline Cause transposed(const Comparison& d) {
  for (const bool upstream : {false, true}) {
    const Shape& shape = upstream ? d.e.output_shape : d.self.shape;
    if (shape.size() < 2 || shape.size() > 4) continue;
    std::vector<std::size_t> axes(shape.size());
    std::iota(axes.begin(), axes.end(), std::size_t{0});
    while (std::next_permutation(axes.begin(), axes.end())) {
      const std::vector<std::size_t> order = permuted_order(shape, axes);
      const auto predicted = [&](std::size_t i, std::size_t j) {
        return upstream ? d.n(order[i], j) : d.n(i, order[j]);
      };
      if (!d.explains(predicted)) continue;
      const Shape shown(axes.begin(), axes.end());
      return {"TRANSPOSED",
              (upstream ? "dy is read" : d.dx + " is written") +
                  std::string(" as if its axes stood in the order ") + list(shown),
              "row-major: element [i,j] of [rows,columns] stands at i·columns + j"};
    }
  }
  return {};
}

/// A matrix used where its transpose belongs: an index of the output and one of the input change
/// places in the Jacobian.
inline Cause exchanged(const Comparison& d) {
  const Shape &out = d.e.output_shape, &in = d.self.shape;
  for (std::size_t p = 0; p < out.size(); ++p) {
    for (std::size_t q = 0; q < in.size(); ++q) {
      if (out[p] != in[q] || out[p] < 2) continue;
      const auto predicted = [&](std::size_t i, std::size_t j) {
        Shape oi = place(static_cast<std::int64_t>(i), out);
        Shape ij = place(static_cast<std::int64_t>(j), in);
        std::swap(oi[p], ij[q]);
        return d.n(static_cast<std::size_t>(element_at(oi, out)),
                   static_cast<std::size_t>(element_at(ij, in)));
      };
      if (!d.explains(predicted)) continue;
      return {"OPERAND TRANSPOSED", "in " + d.dx + " a matrix stands where its transpose belongs",
              "C = A·B: dA = dC·Bᵀ, dB = Aᵀ·dC"};
    }
  }
  return {};
}

/// Does column j, or row i, of A hold the one `step` further along `axis` of N: rolled, or with
/// nothing at the end?
inline bool shifted_by(const Comparison& d, std::int64_t step, std::size_t axis, bool upstream,
                       bool rolled) {
  const Shape& shape = upstream ? d.e.output_shape : d.self.shape;
  return d.explains([&](std::size_t i, std::size_t j) {
    Shape at = place(static_cast<std::int64_t>(upstream ? i : j), shape);
    at[axis] += step;
    if (rolled) at[axis] = (at[axis] + shape[axis]) % shape[axis];
    if (at[axis] < 0 || at[axis] >= shape[axis]) return 0.0;
    const auto from = static_cast<std::size_t>(element_at(at, shape));
    return upstream ? d.n(from, j) : d.n(i, from);
  });
}

inline Cause shifted(const Comparison& d) {
  for (const bool upstream : {false, true}) {
    const Shape& shape = upstream ? d.e.output_shape : d.self.shape;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (shape[axis] < 3) continue;
      for (const std::int64_t step : {1, -1}) {
        if (!shifted_by(d, step, axis, upstream, true) &&
            !shifted_by(d, step, axis, upstream, false)) {
          continue;
        }
        return {"OFF BY ONE",
                (upstream ? "dy is read" : d.dx + " is written") +
                    std::string(" one place off along ") + axis_text(axis, shape),
                "look at the first index of that loop, and at i + 1 or i - 1 inside"};
      }
    }
  }
  return {};
}

/// Is each column (or row) of A one of N's, each used once?
inline bool shuffled(const Comparison& d, bool rows) {
  const std::size_t count = rows ? d.a.rows : d.a.columns, length = rows ? d.a.columns : d.a.rows;
  std::vector<bool> used(count, false);
  for (std::size_t j = 0; j < count; ++j) {
    bool found = false;
    for (std::size_t k = 0; k < count && !found; ++k) {
      bool same = !used[k];
      for (std::size_t i = 0; i < length && same; ++i) {
        same = std::abs(rows ? d.a(j, i) - d.n(k, i) : d.a(i, j) - d.n(i, k)) <= d.fuzz;
      }
      if (same) used[k] = found = true;
    }
    if (!found) return false;
  }
  return true;
}

inline Cause permuted(const Comparison& d) {
  if (d.a.columns >= 3 && d.a.columns <= 512 && shuffled(d, false)) {
    return {"PERMUTED", d.dx + " holds the right numbers in the wrong places",
            "is an index, or a permutation, used where its inverse belongs?"};
  }
  if (d.a.rows >= 3 && d.a.rows <= 512 && shuffled(d, true)) {
    return {"PERMUTED", "in " + d.dx + " each dy is used in another's place",
            "is an index, or a permutation, used where its inverse belongs?"};
  }
  return {};
}

inline std::vector<bool> wrong_elements(const Comparison& d) {
  return d.having(false, [&](auto i, auto j) { return d.wrong(i, j); });
}

inline Cause lost(const Comparison& d) {
  if (!d.explains([&](auto i, auto j) { return d.wrong(i, j) ? 0.0 : d.a(i, j); })) return {};
  const std::vector<bool> bad = wrong_elements(d);
  const std::vector<bool> reached =
      d.having(false, [&](auto i, auto j) { return std::abs(d.a(i, j)) > d.fuzz; });
  bool none = true, all = true;
  for (std::size_t j = 0; j < bad.size(); ++j) {
    none = none && !(bad[j] && reached[j]);
    all = all && (!bad[j] || reached[j]);
  }
  if (none) {
    const std::string where = location(bad, d.self.shape, d.self.values);
    return {"LEFT OUT",
            "some elements of '" + d.self.name +
                "' get no gradient: " + (where.empty() ? "those with 0 on the map" : where),
            "does the loop end too soon, or a condition keep them out?"};
  }
  const std::string where =
      location(d.having(true, [&](auto i, auto j) { return d.wrong(i, j); }), d.e.output_shape, {});
  return {"PARTIAL SUM",
          std::string("an element that several outputs depend on gets the gradient "
                      "of some of them only") +
              (all || where.empty() ? "" : "; lost are those " + where),
          "is there an = where += belongs, or a slice in place of a sum?"};
}

inline Cause leak(const Comparison& d) {
  const auto leaks = [&](auto i, auto j) { return std::abs(d.n(i, j)) <= d.fuzz; };
  if (!d.explains([&](auto i, auto j) { return leaks(i, j) ? d.a(i, j) : d.n(i, j); })) return {};
  const std::string where = location(wrong_elements(d), d.self.shape, d.self.values);
  return {"LEAK",
          "gradient flows where the output does not depend on '" + d.self.name + "'" +
              (where.empty() ? "" : ": " + where),
          "is a mask, or a condition, of the forward pass missing from the backward pass?"};
}

inline Cause subset(const Comparison& d) {
  const std::vector<bool> bad = wrong_elements(d);
  const std::string where = location(bad, d.self.shape, d.self.values);
  if (where.empty()) return {};
  const auto j = static_cast<std::size_t>(std::find(bad.begin(), bad.end(), true) - bad.begin());
  const auto live = d.having(false, [&](auto i, auto k) { return std::abs(d.n(i, k)) > d.fuzz; });
  if (std::count(live.begin(), live.end(), true) < 3) return {};
  return {"SUBSET", d.dx + " is wrong " + where + ", and right everywhere else",
          "which branch, or which turn of the loop, treats " +
              list(place(static_cast<std::int64_t>(j), d.self.shape)) + " otherwise?"};
}

}  // namespace gradus::check::core
