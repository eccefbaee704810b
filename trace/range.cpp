#include "gradus/trace/range.h"
#include "gradus/engine/strided.h"

#include <algorithm>
#include <cmath>
#include <iomanip>

namespace gradus::trace {
namespace {

template <class T>
ValueRange range_of_numbers(const T* x, std::int64_t n) {
  ValueRange range;
  range.count = n;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto v = static_cast<double>(x[i]);
    if (std::isnan(v)) {
      ++range.nans;
    } else if (std::isinf(v)) {
      ++(v > 0 ? range.plus_infs : range.minus_infs);
    } else {
      const bool first = i == range.nans + range.infs();
      range.lowest = first ? v : std::min(range.lowest, v);
      range.highest = first ? v : std::max(range.highest, v);
    }
  }
  return range;
}

std::string short_number(double value) { return str_cat(std::setprecision(4), value); }

}  // namespace

ValueRange range_of(const Tensor& x) {
  if (!x.defined()) return {};
  const Tensor packed = kernel::contiguous(x);
  return dispatch(packed.dtype(),
                  [&]<class T>() { return range_of_numbers(packed.data<T>(), packed.numel()); });
}

std::string to_string(const ValueRange& range) {
  if (range.count == 0) return "no elements";
  std::string out;
  if (range.finite() > 0) {
    out = short_number(range.lowest);
    if (range.highest != range.lowest) out += " … " + short_number(range.highest);
  }
  const auto add = [&](std::int64_t n, const char* what) {
    if (n > 0) out += (out.empty() ? "" : ", ") + std::to_string(n) + " " + what;
  };
  add(range.nans, "nan");
  add(range.plus_infs, "inf");
  add(range.minus_infs, "-inf");
  if (!range.all_finite()) out += " of " + std::to_string(range.count);
  return out;
}

}  // namespace gradus::trace
