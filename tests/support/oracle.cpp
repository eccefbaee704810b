#include "gradus/tests/support/oracle.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <limits>
#include <map>
#include <sstream>

#include "gradus/engine/base/error.h"

namespace gradus::testing {
namespace {

/// Calls visit(element, column) for each differentiable element.
template <class T, class Visit>
void each_wanted(const Sample& sample, Arguments<T>& x, Visit visit) {
  const std::vector<bool> wanted = wanted_inputs(sample);
  std::size_t column = 0;
  for (std::size_t k = 0; k < x.size(); ++k)
    if (wanted[k])
      for (T& number : x[k].values) visit(number, column++);
}

/// Returns J v.
Exact along(const Sample& sample, const Numbers& v) {
  Arguments<First> x = arguments<First>(sample);
  each_wanted(sample, x, [&](First& number, std::size_t c) { number.tangent = v[c]; });
  Exact out;
  for (const First& y : sample.reference(x)) out.push_back(y.tangent);
  return out;
}

/// Returns ∂(J u) / ∂v: the inner tangent is u, the outer one v.
Exact along_both(const Sample& sample, const Numbers& u, const Numbers& v) {
  Arguments<Second> x = arguments<Second>(sample);
  each_wanted(sample, x, [&](Second& number, std::size_t c) {
    number.value.tangent = u[c];
    number.tangent.value = v[c];
  });
  Exact out;
  for (const Second& y : sample.reference(x)) out.push_back(y.tangent.tangent);
  return out;
}

math::Bounded product(const Exact& a, const Numbers& b) {
  math::Bounded sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

List<Numbers> probes_of(const Sample& sample, std::size_t columns) {
  const std::vector<bool> wanted = wanted_inputs(sample);
  List<Numbers> probes;
  std::size_t first = 0;
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    if (!wanted[k]) continue;
    const Numbers all = numbers(values({kProbes * sample.inputs[k].numel()}, 47));
    const std::size_t count = all.size() / kProbes;
    for (std::size_t p = 0; p < kProbes; ++p) {
      probes.emplace_back(columns, 0.0);
      std::copy_n(all.data() + p * count, count, probes.back().data() + first);
    }
    first += count;
  }
  return probes;
}

Oracle make_oracle(const Sample& sample) {
  Oracle o;
  Arguments<First> x = arguments<First>(sample);
  each_wanted(sample, x, [&](First&, std::size_t) { ++o.columns; });
  for (const First& y : sample.reference(x)) o.y.push_back(y.value);
  o.dy = numbers(values({static_cast<std::int64_t>(o.y.size())}, 41));  // as in upstream_for()
  o.u = numbers(values({static_cast<std::int64_t>(o.columns)}, 43));
  o.along = along(sample, o.u);
  if (sample.large) o.probes = probes_of(sample, o.columns);
  if (!sample.large) o.jacobian.resize(o.y.size() * o.columns);
  const std::size_t directions = sample.large ? o.probes.size() : o.columns;
  for (std::size_t d = 0; d < directions; ++d) {
    Numbers v(o.columns, 0.0);
    if (sample.large)
      v = o.probes[d];
    else
      v[d] = 1;
    const Exact column = along(sample, v);
    o.gradient.push_back(product(column, o.dy));
    for (std::size_t i = 0; i < column.size() && !sample.large; ++i)
      o.jacobian[i * o.columns + d] = column[i];
    if (sample.second) o.second.push_back(product(along_both(sample, o.u, v), o.dy));
  }
  return o;
}

}  // namespace

const Oracle& oracle_of(const Sample& sample) {
  static std::map<const Sample*, Oracle> known;
  const auto at = known.find(&sample);
  return at != known.end() ? at->second : known.emplace(&sample, make_oracle(sample)).first->second;
}

Exact gradient_for(const Oracle& o, const Numbers& dy) {
  Exact g(o.columns);
  for (std::size_t i = 0; i < o.y.size(); ++i)
    for (std::size_t c = 0; c < o.columns; ++c) g[c] += o.jacobian[i * o.columns + c] * dy[i];
  return g;
}

Numbers seen(const Oracle& o, const Numbers& gradient) {
  if (o.probes.empty()) return gradient;
  Numbers out;
  for (const Numbers& probe : o.probes) {
    double sum = 0;
    for (std::size_t c = 0; c < probe.size(); ++c) sum += probe[c] * gradient[c];
    out.push_back(sum);
  }
  return out;
}

std::string difference(const Numbers& found, const Exact& right, double half_ulp) {
  if (found.size() != right.size())
    return str_cat(found.size(), " elements instead of ", right.size());
  double least = 0;
  for (const math::Bounded& each : right)
    if (std::isfinite(each.error)) least = std::max(least, 1e-3 * each.error);
  double worst = 0;
  std::string message;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double allowed = kOrders * half_ulp * std::max(right[i].error, least);
    const double apart = std::abs(found[i] - right[i].value);
    if (apart <= allowed || found[i] == right[i].value) continue;
    const double times = std::isnan(apart) ? std::numeric_limits<double>::infinity()
                                           : apart / std::max(allowed, 1e-300);
    if (times < worst) continue;
    worst = times;
    std::ostringstream out;
    out.precision(17);
    out << "element " << i << " is " << found[i] << " instead of " << right[i].value << ", "
        << std::setprecision(2) << times << " times the rounding bound";
    message = out.str();
  }
  return message;
}

}  // namespace gradus::testing
