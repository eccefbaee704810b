// Input of a diagnosis: two Jacobians per input, the one under test (A) and the measured one (N).
#pragma once

#include "gradus/check/raw/findings.h"
#include "gradus/check/raw/words.h"

namespace gradus::check {

inline char map_character(double analytic, double numeric) {
  if (!std::isfinite(analytic)) return '?';
  if (analytic == 0) return '0';
  if (numeric < 0 ? analytic > 0 : numeric > 0 && analytic < 0) return '!';
  return std::abs(analytic) < std::abs(numeric) ? '-' : '+';
}

struct InputEvidence {
  std::string name;
  Dims shape;
  Values values;
  SmallMatrix analytic, numeric;  // [outputs, elements]
  double unsure = 0;              // largest error estimate of `numeric`
  bool ignores_upstream = false;  // the gradient is the same for every dy
};

struct Evidence {
  std::vector<InputEvidence> inputs = {};
  std::size_t input = 0;
  bool jacobian = false;  // f returns a Jacobian
  Dims output_shape = {};
  Values output = {};
};

struct Comparison {
  explicit Comparison(const Evidence& evidence)
      : e(evidence),
        self(e.inputs[e.input]),
        a(self.analytic),
        n(self.numeric),
        dx("d" + self.name) {
    for (std::size_t p = 0; p < a.values.size(); ++p) {
      finite = finite && std::isfinite(a.values[p]);
      worst = std::max(worst, std::abs(a.values[p] - n.values[p]));
    }
    fuzz = 1e-6 * worst + 20 * self.unsure;
  }

  bool telling() const { return 20 * self.unsure <= 1e-3 * worst; }

  template <class Predicted>
  bool explains(Predicted predicted) const {
    for (std::size_t i = 0; i < a.rows; ++i)
      for (std::size_t j = 0; j < a.columns; ++j)
        if (!(std::abs(a(i, j) - predicted(i, j)) <= fuzz)) return false;
    return true;
  }

  bool wrong(std::size_t i, std::size_t j) const { return std::abs(a(i, j) - n(i, j)) > fuzz; }
  bool zero(std::size_t i, std::size_t j) const { return std::abs(n(i, j)) <= fuzz; }  // N is 0

  template <class Property>
  std::vector<bool> having(bool outputs, Property property) const {
    std::vector<bool> result(outputs ? a.rows : a.columns, false);
    for (std::size_t i = 0; i < a.rows; ++i)
      for (std::size_t j = 0; j < a.columns; ++j)
        if (property(i, j)) result[outputs ? i : j] = true;
    return result;
  }
  std::vector<bool> wrong_elements() const {
    return having(false, [this](auto i, auto j) { return wrong(i, j); });
  }
  std::vector<bool> live_elements() const {
    return having(false, [this](auto i, auto j) { return std::abs(n(i, j)) > fuzz; });
  }

  const Evidence& e;
  const InputEvidence& self;
  const SmallMatrix &a, &n;
  std::string dx;
  bool finite = true;
  double worst = 0;
  double fuzz = 0;  // smaller differences are ignored
};

inline std::string axis_text(std::size_t axis, const Dims& shape) {
  return axis >= shape.size() ? "all axes" : "axis " + std::to_string(axis);
}

/// Broadcasts x to shape `to`. Returns nothing if that is impossible or x is a scalar.
inline Values spread(const Values& x, const Dims& shape, const Dims& to) {
  if (x.size() < 2 || shape.size() > to.size()) return {};
  const std::size_t before = to.size() - shape.size();
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    if (shape[axis] != 1 && shape[axis] != to[axis + before]) return {};
  Values result(count_of(to));
  for (std::size_t j = 0; j < result.size(); ++j) {
    Dims at = index_of(j, to);
    at.erase(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(before));
    for (std::size_t axis = 0; axis < at.size(); ++axis) at[axis] *= shape[axis] == 1 ? 0 : 1;
    result[j] = x[element_at(at, shape)];
  }
  return result;
}

using Groups = std::vector<std::vector<std::size_t>>;

/// Groups elements that differ only in their index along `axis`. If axis equals the rank, all
/// elements form one group.
inline Groups groups_along(std::size_t axis, const Dims& shape) {
  Dims rest = axis < shape.size() ? shape : Dims(shape.size(), 1);
  if (axis < shape.size()) rest[axis] = 1;
  Groups groups(count_of(rest));
  for (std::size_t j = 0; j < count_of(shape); ++j) {
    Dims at = index_of(j, shape);
    for (std::size_t a = 0; a < at.size(); ++a) at[a] = rest[a] == 1 ? 0 : at[a];
    groups[element_at(at, rest)].push_back(j);
  }
  return groups;
}

/// Describes a set of elements. Returns "" if no simple description exists.
inline std::string location(const std::vector<bool>& in, const Dims& shape, const Values& x) {
  const std::int64_t count = std::count(in.begin(), in.end(), true);
  if (count == 0 || count == std::ssize(in)) return "";
  const auto are_those = [&](auto property) {  // whether exactly the marked elements have it
    for (std::size_t j = 0; j < in.size(); ++j)
      if (in[j] != property(j)) return false;
    return true;
  };
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    for (std::int64_t index = 0; index < shape[axis]; ++index) {
      if (!are_those([&](auto j) { return index_of(j, shape)[axis] == index; })) continue;
      const std::string which = index + 1 == shape[axis] ? "the last index"
                                : index == 0             ? "the first index"
                                                         : "index " + std::to_string(index);
      return "at " + which + " of axis " + std::to_string(axis);
    }
  }
  if (count == 1) {
    const auto j = std::find(in.begin(), in.end(), true) - in.begin();
    return "at " + list(index_of(static_cast<std::size_t>(j), shape));
  }
  const bool known = x.size() == in.size();
  if (known && are_those([&](auto j) { return x[j] < 0; })) return "where the input is negative";
  if (known && are_those([&](auto j) { return x[j] > 0; })) return "where the input is positive";
  const auto diagonal = [&](auto j) { return index_of(j, shape)[0] == index_of(j, shape)[1]; };
  return shape.size() == 2 && are_those(diagonal) ? "on the diagonal" : "";
}

}  // namespace gradus::check
