// Hypotheses about gradients that are wrong by a sign, a factor, or a term.
#pragma once

#include "gradus/check/raw/evidence.h"

namespace gradus::check {

inline Cause upstream_only(const Comparison& d) {
  if (d.a.rows != d.a.columns || d.a.rows < 2) return {};
  if (!d.explains([](auto i, auto j) { return i == j ? 1.0 : 0.0; })) return {};
  return {"UPSTREAM ONLY", d.dx + " is dy itself: the local derivative is missing",
          d.dx + " = dy · f'(" + d.self.name + ")"};
}

/// Describes c in terms of an axis length or a scalar input. Returns "" if c matches none.
inline std::string name_of(const Comparison& d, double c) {
  struct Known {
    double value;
    std::string text, where;
  };
  std::vector<Known> known;
  for (const InputEvidence& input : d.e.inputs) {
    if (input.values.size() == 1) known.push_back({input.values[0], input.name, ""});
    for (std::size_t a = 0; a < input.shape.size(); ++a)
      known.push_back({static_cast<double>(input.shape[a]), std::to_string(input.shape[a]),
                       joined(" (axis ", a, " of '", input.name, "')")});
  }
  for (const double v : {2.0, 3.0, 4.0, static_cast<double>(d.a.rows)})
    known.push_back({v, number(v, 3), ""});
  known.push_back({std::acos(-1.0), "π", ""});
  for (const auto& [v, text, where] : known) {
    if (v == 0 || v == 1) continue;
    const std::pair<double, std::string> forms[] = {{v, text},
                                                    {1 / v, "1/" + text},
                                                    {std::sqrt(v), "√" + text},  // not equal if NaN
                                                    {1 / std::sqrt(v), "1/√" + text},
                                                    {v / (v - 1), text + "/(" + text + " - 1)"},
                                                    {(v - 1) / v, "(" + text + " - 1)/" + text}};
    for (std::size_t i = 0; i < (v < 1 ? 4U : 6U); ++i)
      if (std::abs(c - forms[i].first) <= 1e-6 * std::abs(forms[i].first))
        return forms[i].second + where;
  }
  return "";
}

inline Cause constant_factor(const Comparison& d) {
  double an = 0, nn = 0;
  std::size_t terms = 0;
  for (std::size_t p = 0; p < d.a.values.size(); ++p) {
    an += d.a.values[p] * d.n.values[p];
    nn += d.n.values[p] * d.n.values[p];
    terms += std::abs(d.n.values[p]) > d.fuzz ? 1U : 0U;
  }
  const double c = an / nn;  // NaN if N is 0
  const bool none = largest_of(d.a.values) <= d.fuzz, sign = std::abs(c + 1) < 1e-6;
  if (none)
    return {"NO GRADIENT", "nothing reaches '" + d.self.name + "': every derivative is 0",
            "is " + d.dx + " computed, and written to the right place?"};
  if ((terms < 2 && !sign) || !d.explains([&](auto i, auto j) { return c * d.n(i, j); })) return {};
  if (sign)
    return {"SIGN", d.dx + " is correct except for its sign",
            "is a minus missing, or one too many?"};
  const std::string named = name_of(d, c);
  return {"SCALE",
          d.dx + " is " + number(c, 7) + " times what it should be" +
              (named.empty() ? "" : ", which is " + named),
          "multiply " + d.dx + " by " + number(1 / c, 7) +
              (named.empty() ? "" : ", 1/(" + named + ")")};
}

/// True if A - N = c·v along each group, with one c per output and group.
inline bool is_term(const Comparison& d, const Groups& groups, const Values& v) {
  std::size_t agreeing = 0;
  for (std::size_t i = 0; i < d.a.rows; ++i) {
    for (const auto& group : groups) {
      double dv = 0, vv = 0;
      for (const std::size_t j : group) {
        dv += (d.a(i, j) - d.n(i, j)) * v[j];
        vv += v[j] * v[j];
      }
      const double c = vv > 0 ? dv / vv : 0;
      std::size_t seen = 0;
      for (const std::size_t j : group) {
        if (!(std::abs(d.a(i, j) - d.n(i, j) - c * v[j]) <= d.fuzz)) return false;
        seen += d.wrong(i, j) ? 1U : 0U;
      }
      agreeing += std::max<std::size_t>(seen, 1) - 1;
    }
  }
  return agreeing >= 4;
}

/// Tests for a missing term that is proportional along an axis to 1, to the output, or to an input.
inline Cause missing_term(const Comparison& d) {
  const std::string& x = d.self.name;
  const bool same_shape = d.e.output_shape == d.self.shape;
  Values exponential = d.e.output, centered = d.self.values;
  for (double& v : exponential) v = std::exp(v);
  for (std::size_t axis = 0; axis <= d.self.shape.size(); ++axis) {
    const Groups groups = groups_along(axis, d.self.shape);
    const std::string along = axis_text(axis, d.self.shape);
    if (groups.empty() || groups[0].size() < 3) continue;
    for (const auto& group : groups) {
      double mean = 0;
      for (const std::size_t j : group)
        mean += d.self.values[j] / static_cast<double>(group.size());
      for (const std::size_t j : group) centered[j] = d.self.values[j] - mean;
    }
    Cause found;
    const auto is = [&](const Values& v, const std::string& text, const std::string& hint) {
      if (!is_term(d, groups, v)) return false;
      found = {"MISSING TERM", "the error of " + d.dx + " is " + text + " along " + along, hint};
      return true;
    };
    if (is(Values(d.a.columns, 1.0), "the same for all elements",
           "subtract a mean or a sum over " + along + ": " + d.dx + " = … - mean(…)") ||
        (same_shape && is(d.e.output, "proportional to the output y",
                          d.dx + " = … - y · sum(dy · …) over " + along + ", as in softmax")) ||
        (same_shape &&
         is(exponential, "proportional to exp(y)",
            d.dx + " = … - exp(y) · sum(dy) over " + along + ", as in log_softmax")) ||
        is(d.self.values, "proportional to '" + x + "'",
           d.dx + " = … - " + x + " · mean(dy · " + x + " · …) over " + along +
               ", as in a quotient or an RMS norm") ||
        is(centered, "proportional to " + x + " - mean(" + x + ")",
           d.dx + " = … - x̂ · mean(g · x̂) over " + along +
               ", as in a layer norm (x̂ is the normalized " + x + ")"))
      return found;
  }
  return {};
}

/// Returns r with A = r·N per element (or output), with NaN where N is 0. Returns nothing if no
/// such r exists.
inline Values ratios(const Comparison& d, bool by_output) {
  Values an(by_output ? d.a.rows : d.a.columns, 0.0), nn = an;
  for (std::size_t i = 0; i < d.a.rows; ++i) {
    for (std::size_t j = 0; j < d.a.columns; ++j) {
      if (d.zero(i, j)) continue;
      an[by_output ? i : j] += d.a(i, j) * d.n(i, j);
      nn[by_output ? i : j] += d.n(i, j) * d.n(i, j);
    }
  }
  for (std::size_t g = 0; g < an.size(); ++g) an[g] /= nn[g];
  const auto predicted = [&](std::size_t i, std::size_t j) {
    return d.zero(i, j) ? 0.0 : an[by_output ? i : j] * d.n(i, j);
  };
  return d.explains(predicted) ? an : Values();
}

/// Returns c if r = c · v^power for enough distinct v, otherwise NaN.
inline double common_factor(const Values& r, const Values& v, int power) {
  double c = std::numeric_limits<double>::quiet_NaN();
  Values different;
  for (std::size_t g = 0; g < v.size(); ++g) {
    if (std::isnan(r[g])) continue;
    const double now = r[g] / std::pow(v[g], power);
    if (different.empty()) c = now;
    if (!(std::abs(now - c) <= 1e-6 * std::abs(c))) return std::nan("");
    const bool known = std::find(different.begin(), different.end(), v[g]) != different.end();
    if (!known && different.size() < 3) different.push_back(v[g]);
  }
  return different.size() < (std::abs(std::abs(c) - 1) < 1e-6 ? 2 : 3) ? std::nan("") : c;
}

/// Explains a ratio r that equals an input or the output.
inline Cause known_factor(const Comparison& d, const Values& r, const Dims& shape) {
  std::vector<std::pair<std::string, Values>> known;
  for (const InputEvidence& in : d.e.inputs)
    known.emplace_back(in.name, spread(in.values, in.shape, shape));
  known.emplace_back("y (the output)", spread(d.e.output, d.e.output_shape, shape));
  for (const auto& [name, v] : known) {
    for (const int power : {-1, 1, -2, 2}) {
      const double c = common_factor(r, v, power);
      if (std::isnan(c)) continue;
      const std::string what = name + (std::abs(power) == 2 ? "²" : "");
      const bool missing = power < 0;
      return {"FACTOR",
              d.dx + (missing ? " lacks a factor " : " has an extra factor ") + what +
                  (std::abs(c - 1) < 1e-6 ? "" : " and lacks one of " + number(1 / c, 7)),
              (missing ? "multiply " : "divide ") + d.dx + " by " + what};
    }
  }
  return {};
}

/// True if r is constant in each group, but not overall.
inline bool same_in_groups(const Values& r, const Groups& groups) {
  std::size_t agreeing = 0, filled = 0, live = 0;
  for (const auto& group : groups) {
    double first = std::nan("");
    for (const std::size_t g : group) {
      if (std::isnan(r[g])) continue;
      ++live;
      if (std::isnan(first) && r[g] != 0) {
        first = r[g];
        ++filled;
      }
      agreeing += std::abs(r[g] - first) <= 1e-6 * std::abs(first) ? 1U : 0U;
    }
  }
  return filled >= 2 && agreeing == live && agreeing >= filled + 2;
}

inline Cause varying_factor(const Comparison& d) {
  for (const bool by_output : {false, true}) {
    const Dims& shape = by_output ? d.e.output_shape : d.self.shape;
    const Values r = ratios(d, by_output);
    if (r.size() < 2) continue;
    if (Cause cause = known_factor(d, r, shape); !cause.name.empty()) return cause;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (!same_in_groups(r, groups_along(axis, shape))) continue;
      return {"FACTOR",
              d.dx + " is off by a factor that is the same along " + axis_text(axis, shape) +
                  (by_output ? " of the output" : ""),
              "is a statistic of each row (its sum, norm or 1/std) missing or used twice?"};
    }
  }
  return {};
}

inline Cause local_derivative(const Comparison& d) {
  if (d.a.rows != d.a.columns || d.a.rows < 3) return {};
  for (std::size_t i = 0; i < d.a.rows; ++i)
    for (std::size_t j = 0; j < d.a.columns; ++j)
      if (i != j && !(std::max(std::abs(d.a(i, j)), std::abs(d.n(i, j))) <= d.fuzz)) return {};
  return {"LOCAL DERIVATIVE",
          "each " + d.dx +
              "[i] depends only on dy[i], as it should, but the "
              "factor of dy[i] is wrong",
          "check f'(" + d.self.name + "): at " + d.self.name + " = " + number(d.self.values[0], 5) +
              " it is " + number(d.n(0, 0), 7) + ", not " + number(d.a(0, 0), 7)};
}

}  // namespace gradus::check
