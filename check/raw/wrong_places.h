// Hypotheses about gradients in the wrong place: swapped, transposed, shifted, lost, leaked.
#pragma once

#include <numeric>
#include <optional>

#include "gradus/check/raw/evidence.h"

namespace gradus::check {

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

/// Does A hold at each element (of the output, if `upstream`) what N holds at source(element), and
/// 0 where there is no source?
template <class Source>
bool moved_from(const Comparison& d, bool upstream, Source source) {
  std::vector<std::optional<std::size_t>> from;
  for (std::size_t e = 0; e < (upstream ? d.n.rows : d.n.columns); ++e) from.push_back(source(e));
  return d.explains([&](std::size_t i, std::size_t j) {
    const std::optional<std::size_t> e = from[upstream ? i : j];
    return !e ? 0.0 : upstream ? d.n(*e, j) : d.n(i, *e);
  });
}

inline const Shape& shape_of(const Comparison& d, bool upstream) {
  return upstream ? d.e.output_shape : d.self.shape;
}

inline std::string read_or_written(const Comparison& d, bool upstream) {
  return upstream ? "dy is read" : d.dx + " is written";
}

inline Cause transposed(const Comparison& d) {
  for (const bool upstream : {false, true}) {
    const Shape& shape = shape_of(d, upstream);
    if (shape.size() > 4) continue;
    std::vector<std::size_t> axes(shape.size());
    std::iota(axes.begin(), axes.end(), std::size_t{0});
    while (std::next_permutation(axes.begin(), axes.end())) {
      Shape other, here(shape.size());
      for (const std::size_t axis : axes) other.push_back(shape[axis]);
      const auto source = [&](std::size_t e) {
        const Shape there = index_of(e, other);
        for (std::size_t a = 0; a < axes.size(); ++a) here[axes[a]] = there[a];
        return element_at(here, shape);
      };
      if (!moved_from(d, upstream, source)) continue;
      return {"TRANSPOSED",
              read_or_written(d, upstream) + " as if its axes stood in the order " +
                  list({axes.begin(), axes.end()}),
              "row-major: element [i,j] of [rows,columns] stands at i·columns + j"};
    }
  }
  return {};
}

/// A matrix used where its transpose belongs: an index of the output and one of the input change
/// places in the Jacobian.
inline Cause operand_transposed(const Comparison& d) {
  const Shape &out = d.e.output_shape, &in = d.self.shape;
  for (std::size_t p = 0; p < out.size(); ++p) {
    for (std::size_t q = 0; q < in.size(); ++q) {
      if (out[p] != in[q] || out[p] < 2) continue;
      const auto predicted = [&](std::size_t i, std::size_t j) {
        Shape oi = index_of(i, out), ij = index_of(j, in);
        std::swap(oi[p], ij[q]);
        return d.n(element_at(oi, out), element_at(ij, in));
      };
      if (!d.explains(predicted)) continue;
      return {"OPERAND TRANSPOSED", "in " + d.dx + " a matrix stands where its transpose belongs",
              "C = A·B: dA = dC·Bᵀ, dB = Aᵀ·dC"};
    }
  }
  return {};
}

/// Does A hold what N holds one `step` further along `axis`: rolled, or with nothing at the end?
inline bool shifted_by(const Comparison& d, bool upstream, std::size_t axis, std::int64_t step) {
  const Shape& shape = shape_of(d, upstream);
  const auto shifted = [&](bool rolled) {
    return moved_from(d, upstream, [&](std::size_t e) -> std::optional<std::size_t> {
      Shape at = index_of(e, shape);
      at[axis] += step;
      if (rolled) at[axis] = (at[axis] + shape[axis]) % shape[axis];
      if (at[axis] < 0 || at[axis] >= shape[axis]) return {};
      return element_at(at, shape);
    });
  };
  return shifted(true) || shifted(false);
}

inline Cause off_by_one(const Comparison& d) {
  for (const bool upstream : {false, true}) {
    const Shape& shape = shape_of(d, upstream);
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (shape[axis] < 3) continue;
      if (!shifted_by(d, upstream, axis, 1) && !shifted_by(d, upstream, axis, -1)) continue;
      return {"OFF BY ONE",
              read_or_written(d, upstream) + " one place off along " + axis_text(axis, shape),
              "look at the first index of that loop, and at i + 1 or i - 1 inside"};
    }
  }
  return {};
}

/// The whole Jacobian, read as if its columns stood one after the other.
inline Cause column_major(const Comparison& d) {
  if (!d.e.jacobian || d.n.rows < 2 || d.n.columns < 2) return {};
  const auto predicted = [&](std::size_t i, std::size_t j) {
    const std::size_t p = i * d.n.columns + j;  // of A as it lies, which is N's columns
    return d.n(p % d.n.rows, p / d.n.rows);
  };
  if (!d.explains(predicted)) return {};
  return {"COLUMN MAJOR", "the Jacobian by '" + d.self.name + "' has its columns where rows belong",
          "one row for each output; or say jacobian(f, Order::column_major)"};
}

/// Backwards along all axes, as a kernel is. (Along one it may be chance, or another permutation.)
inline Cause flipped(const Comparison& d) {
  for (const bool upstream : {false, true}) {
    const std::size_t count = count_of(shape_of(d, upstream));
    if (count < 5 || !moved_from(d, upstream, [&](std::size_t e) { return count - 1 - e; }))
      continue;
    return {"FLIPPED", read_or_written(d, upstream) + " backwards along all axes",
            "convolution and correlation differ by that: is a kernel turned round once too often?"};
  }
  return {};
}

/// Is each column (or row) of A one of N's, each used once?
inline bool shuffled(const Comparison& d, bool rows) {
  const std::size_t count = rows ? d.a.rows : d.a.columns, length = rows ? d.a.columns : d.a.rows;
  if (count < 3 || count > 512) return false;
  const auto at = [rows](const Matrix& m, std::size_t line, std::size_t i) {
    return rows ? m(line, i) : m(i, line);
  };
  std::vector<bool> used(count, false);
  for (std::size_t j = 0; j < count; ++j) {
    std::size_t k = 0;
    for (; k < count; ++k) {
      bool same = !used[k];
      for (std::size_t i = 0; i < length && same; ++i)
        same = std::abs(at(d.a, j, i) - at(d.n, k, i)) <= d.fuzz;
      if (same) break;
    }
    if (k == count) return false;
    used[k] = true;
  }
  return true;
}

inline Cause permuted(const Comparison& d) {
  const bool elements = shuffled(d, false);
  if (!elements && !shuffled(d, true)) return {};
  const std::vector<bool> read =
      d.having(false, [&](auto i, auto j) { return std::abs(d.n(i, j)) > d.fuzz; });
  if (elements && std::find(read.begin(), read.end(), false) != read.end())
    return {"WRONG CHOICE", d.dx + " pays other elements than those that the output took",
            "does backward keep the choice (an index, the place of a maximum) that forward made?"};
  return {"PERMUTED",
          elements ? d.dx + " holds the right numbers in the wrong places"
                   : "in " + d.dx + " each dy is used in another's place",
          "is an index, or a permutation, used where its inverse belongs?"};
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
                "' get no gradient: " + (where.empty() ? "those with 0 on the map" : where),
            "does the loop end too soon, or a condition keep them out?"};
  }
  const std::string where =
      location(d.having(true, [&](auto i, auto j) { return d.wrong(i, j); }), d.e.output_shape, {});
  return {"PARTIAL SUM",
          "an element that several outputs depend on gets the gradient of some of them only" +
              (all || where.empty() ? "" : "; lost are those " + where),
          "is there an = where += belongs, or a slice in place of a sum?"};
}

inline Cause gradient_leak(const Comparison& d) {
  const auto leaks = [&](auto i, auto j) { return std::abs(d.n(i, j)) <= d.fuzz; };
  if (!d.explains([&](auto i, auto j) { return leaks(i, j) ? d.a(i, j) : d.n(i, j); })) return {};
  const std::string where = location(d.wrong_elements(), d.self.shape, d.self.values);
  return {"LEAK",
          "gradient flows where the output does not depend on '" + d.self.name + "'" +
              (where.empty() ? "" : ": " + where),
          "is a mask, or a condition, of the forward pass missing from the backward pass?"};
}

inline Cause subset(const Comparison& d) {
  const std::vector<bool> bad = d.wrong_elements();
  const std::string where = location(bad, d.self.shape, d.self.values);
  if (where.empty()) return {};
  const auto j = static_cast<std::size_t>(std::find(bad.begin(), bad.end(), true) - bad.begin());
  const auto live = d.having(false, [&](auto i, auto k) { return std::abs(d.n(i, k)) > d.fuzz; });
  if (std::count(live.begin(), live.end(), true) < 3) return {};
  return {"SUBSET", d.dx + " is wrong " + where + ", and right everywhere else",
          "which branch, or which turn of the loop, treats " + list(index_of(j, d.self.shape)) +
              " otherwise?"};
}

}  // namespace gradus::check
