// Prints tensors like NumPy, with "…" inside long axes of large tensors, in the "C" locale.
#include <algorithm>
#include <cmath>
#include <iomanip>

#include "gradus/engine/tensor.h"

namespace gradus {
namespace {

constexpr std::int64_t kAll = 1000;  // larger tensors are abbreviated
constexpr std::int64_t kEdge = 3;    // positions shown at each end of an axis
constexpr std::size_t kLine = 80;    // columns per line

struct Printer {
  const Tensor& x;
  bool cut;
  bool whole = true, scientific = false;
  std::size_t width = 0, line_start = 0;
  std::string out = {};

  std::int64_t next(int axis, std::int64_t i) const {
    return cut && i == kEdge - 1 ? std::max(kEdge, x.size(axis) - kEdge) : i + 1;
  }

  template <class F>
  void each_number(int axis, std::int64_t at, F& f) const {
    if (axis == x.rank()) return f(at);
    for (std::int64_t i = 0; i < x.size(axis); i = next(axis, i))
      each_number(axis + 1, at + i * x.strides()[axis], f);
  }

  std::string number(std::int64_t at) const {
    const auto notation = scientific ? std::scientific : std::fixed;
    const auto digits = std::setprecision(whole && !scientific ? 0 : 4);
    std::string text;  // std::setw does not widen a bool in libc++
    dispatch(x.dtype(), [&]<class T>() {
      text = str_cat(std::boolalpha, std::showpoint, notation, digits, x.data<T>()[at]);
    });
    if (text.size() < width) text.insert(0, width - text.size(), ' ');
    return text;
  }

  void choose_style() {
    double largest = 0, smallest = INFINITY;
    const auto look = [&](std::int64_t at) {
      const double v = x.dtype() == Dtype::f32 ? double{x.data<float>()[at]} : x.data<double>()[at];
      if (!std::isfinite(v) || v == 0) return;
      largest = std::max(largest, std::abs(v));
      smallest = std::min(smallest, std::abs(v));
      whole = whole && v == std::trunc(v);
    };
    if (is_float(x.dtype())) each_number(0, 0, look);
    scientific = largest >= 1e8 || (!whole && (largest >= 1e5 || smallest < 1e-4));
    const auto measure = [&](std::int64_t at) { width = number(at).size(); };
    each_number(0, 0, measure);
  }

  /// Prints the part that starts at `at` and spans `axis` and later axes.
  void print(int axis, std::int64_t at) {
    if (axis == x.rank()) return static_cast<void>(out += number(at));
    const auto below = static_cast<std::size_t>(x.rank() - 1 - axis);  // 0: one row of values
    const auto separate = [&] {
      out += ',';
      const bool wrap = below > 0 || out.size() - line_start + width + 2 > kLine;
      if (wrap) line_start = out.append(std::max<std::size_t>(below, 1), '\n').size();
      out.append(wrap ? static_cast<std::size_t>(axis) + 1 : 1, ' ');
    };
    out += '[';
    for (std::int64_t i = 0; i < x.size(axis); i = next(axis, i)) {
      if (i > 0) separate();
      print(axis + 1, at + i * x.strides()[axis]);
      if (next(axis, i) == i + 1) continue;
      separate();
      out += "…";
    }
    out += ']';
  }
};

}  // namespace

std::string to_string(const Tensor& x) {
  if (!x.defined()) return "undefined";
  if (x.numel() == 0) return "[] of shape " + to_string(x.shape());
  Printer printer{x, x.numel() > kAll};
  printer.choose_style();
  printer.print(0, 0);
  return printer.out;
}

std::ostream& operator<<(std::ostream& out, const Tensor& x) { return out << to_string(x); }

}  // namespace gradus
