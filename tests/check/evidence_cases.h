// Made-up evidence for the hypotheses about wrong derivatives: Jacobians of some patterns, spoiled
// in many ways. No function is run.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gradus/check/raw/causes.h"
#include "gradus/tests/check/golden.h"

namespace gradus::check::evidence_cases {

using Index = std::size_t;
using Entry = std::function<double(Index i, Index j)>;

/// Numbers that are short in binary, none of them alike.
inline Values plain(Index count, double from = 0.75) {
  Values x(count);
  for (Index i = 0; i < count; ++i)
    x[i] = (i % 2 == 0 ? 1 : -1) * (from + 0.25 * static_cast<double>(i * i % 32));
  return x;
}

inline double real(Index i) { return static_cast<double>(i); }

/// Like the entries of a Jacobian: short in binary, both signs, no pattern, none 0.
inline double plain_entry(Index i, Index j) {
  const auto mixed = static_cast<double>((i * 37 + j * 11 + i * j * 5) % 64);
  return (mixed - 31.5) / 16;
}

inline Matrix matrix(Index rows, Index columns, const Entry& entry) {
  Matrix m{rows, columns};
  for (Index i = 0; i < rows; ++i)
    for (Index j = 0; j < columns; ++j) m(i, j) = entry(i, j);
  return m;
}

/// A right one, of "x" [in]; beside it stand "w" of x's last axis and the single value "s".
inline Evidence right(const Shape& in, const Shape& out, const Entry& entry) {
  Evidence e{.output_shape = out, .output = plain(count_of(out), 0.5)};
  const Index rows = count_of(out), n = count_of(in);
  const Index last = in.empty() ? 1 : static_cast<Index>(in.back());
  const Matrix jacobian = matrix(rows, n, entry);
  const Matrix other = matrix(rows, last, [](Index i, Index j) { return plain_entry(j + 3, i); });
  const Matrix single = matrix(rows, 1, [](Index i, Index) { return plain_entry(2, i); });
  e.inputs.push_back({"x", in, plain(n), jacobian, jacobian});
  e.inputs.push_back({"w", {static_cast<std::int64_t>(last)}, plain(last, 1.25), other, other});
  e.inputs.push_back({"s", {}, {0.7}, single, single});
  return e;
}

/// The same with another A of x.
inline Evidence spoiled(Evidence e, const Entry& entry) {
  Matrix& a = e.inputs[0].analytic;
  a = matrix(a.rows, a.columns, entry);
  return e;
}

using Hypothesis = Cause (*)(const Comparison&);

/// What each of these hypotheses says of the evidence, not the first of them alone.
inline void show(golden::Page& page, const std::string& what, const Evidence& e,
                 const std::vector<Hypothesis>& all) {
  const Comparison d(e);
  std::string said;
  for (const Hypothesis hypothesis : all) {
    const Cause cause = hypothesis(d);
    if (cause.name.empty()) continue;
    said += "  " + cause.name + " " + page.once(cause.why + " | " + cause.hint);
  }
  page.line(what + ":" + said);
}

struct Way {
  std::string name;
  Entry entry;
};

/// A and N differ by a number, here a little less and a little more than counts.
inline std::vector<Way> nearly(const Evidence& e, const Way& way) {
  const Evidence now = spoiled(e, way.entry);
  const Comparison d(now);
  const Index i = d.a.rows / 2, j = d.a.columns / 2;
  const auto moved = [=, fuzz = d.fuzz, entry = way.entry](double share) {
    return [=](Index p, Index q) { return entry(p, q) + (p == i && q == j ? share * fuzz : 0); };
  };
  return {way, {way.name + ", nearly", moved(0.95)}, {way.name + ", not quite", moved(-1.05)}};
}

}  // namespace gradus::check::evidence_cases
