#include "gradus/trace/values.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "gradus/engine/strided.h"
#include "gradus/trace/json.h"

namespace gradus::trace {
namespace {

constexpr std::int64_t kBoxes = 24;  // maximum cells per side of a grid of means
constexpr std::int64_t kCorner = 4;  // values shown at each end
constexpr std::int64_t kBins = 32;

template <class T>
Json encoded(const std::vector<T>& numbers, Id rows, Id columns) {
  return object(
      "rows", rows, "columns", columns, sizeof(T) == 4 ? "f32" : "f64",
      base64({reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T)}));
}

template <class T>
struct Summary {
  const T* x;
  Id rows, columns;
  double low = INFINITY, high = -INFINITY, sum = 0, squares = 0;
  Id zeros = 0, nans = 0, infs = 0;
  std::vector<float> means = std::vector<float>(static_cast<std::size_t>(down() * across()));

  Id down() const { return std::min(rows, kBoxes); }
  Id across() const { return std::min(columns, kBoxes); }

  void look() {
    std::vector<double> sums(means.size()), counts(means.size());
    for (Id r = 0; r < rows; ++r) {
      const Id box = ((r + 1) * down() - 1) / rows * across();
      for (Id c = 0; c < across(); ++c) {
        const auto k = static_cast<std::size_t>(box + c);
        counts[k] += span(x + r * columns + c * columns / across(),
                          x + r * columns + (c + 1) * columns / across(), sums[k]);
      }
    }
    for (std::size_t k = 0; k < means.size(); ++k)
      means[k] = static_cast<float>(sums[k] / counts[k]);
    for (const double total : sums) sum += total;
  }

  /// Adds the finite values to `total`; returns their number.
  double span(const T* from, const T* to, double& total) {
    const T* const first = from;
    const Id strange = nans + infs;
    for (; from != to; ++from) {
      const auto v = static_cast<double>(*from);
      if (!std::isfinite(v)) [[unlikely]] {
        ++(std::isnan(v) ? nans : infs);
        continue;
      }
      total += v;
      squares += v * v;
      zeros += v == 0;
      low = std::min(low, v);
      high = std::max(high, v);
    }
    return static_cast<double>(to - first - (nans + infs - strange));
  }

  std::string stats() const {
    const double n = static_cast<double>(rows * columns - nans - infs), mean = n > 0 ? sum / n : 0;
    const double variance = std::max(0.0, squares / n - mean * mean);  // NaN becomes 0
    std::vector<double> numbers{n > 0 ? low : 0, n > 0 ? high : 0, mean, std::sqrt(variance),
                                std::sqrt(squares)};
    for (double& v : numbers) v = static_cast<float>(v);
    std::string out, counts;
    put(out, numbers);
    put(counts, std::vector<Id>{zeros, nans, infs});
    out.back() = ',';
    return out + counts.substr(1);
  }

  Json corners() const {
    const Id m = std::min(rows, 2 * kCorner), n = std::min(columns, 2 * kCorner);
    std::vector<T> edge;
    for (Id r = 0; r < m; ++r)
      for (Id c = 0; c < n; ++c)
        edge.push_back(
            x[(r < kCorner ? r : rows - m + r) * columns + (c < kCorner ? c : columns - n + c)]);
    return encoded(edge, m, n);
  }

  std::vector<Id> histogram() const {
    std::vector<Id> bins(kBins);
    const double scale = high > low ? kBins / (high - low) : 0;
    for (Id i = 0; i < rows * columns; ++i)
      if (const auto v = static_cast<double>(x[i]); std::isfinite(v))
        ++bins[static_cast<std::size_t>(std::min(kBins - 1, static_cast<Id>((v - low) * scale)))];
    return bins;
  }
};

}  // namespace

KeptValues::KeptValues(const Tensor& x, const Detail& detail, std::int64_t favour)
    : wide_(x.dtype() == Dtype::f64 || x.dtype() == Dtype::i64),
      favour_(favour),
      columns_(x.rank() > 0 ? x.size(-1) : 1) {
  rows_ = x.numel() / std::max(columns_, Id{1});
  const Tensor own = kernel::contiguous(kernel::convert(x, wide_ ? Dtype::f64 : Dtype::f32));
  const auto n = static_cast<std::size_t>(x.numel());
  const void* numbers = wide_ ? static_cast<const void*>(own.data<double>()) : own.data<float>();
  if (x.numel() > favour * detail.all)
    summarize(numbers);
  else
    numbers_.assign(static_cast<const char*>(numbers), n * (wide_ ? 8 : 4));
  reduce(detail);
}

void KeptValues::summarize(const void* numbers) {
  const auto with = [&]<class T>(const T* x) {
    Summary<T> summary{x, rows_, columns_};
    summary.look();
    stats_ = summary.stats();
    const Json picture = encoded(summary.means, summary.down(), summary.across());
    pictures_ =
        object("picture", picture, "corners", summary.corners(), "histogram", summary.histogram())
            .text;
    pictures_.front() = ',';
  };
  wide_ ? with(static_cast<const double*>(numbers)) : with(static_cast<const float*>(numbers));
}

void KeptValues::reduce(const Detail& detail) {
  if (rows_ * columns_ > favour_ * detail.all && !numbers_.empty()) {
    summarize(numbers_.data());
    numbers_ = {};
  }
  if (!detail.pictures) pictures_ = {};
}

std::size_t KeptValues::bytes() const {
  return (has_any() ? 12 : 0) + numbers_.size() * 4 / 3 + stats_.size() + pictures_.size();
}

std::string KeptValues::json() const {
  if (!stats_.empty()) return "{\"stats\":" + stats_ + (pictures_.empty() ? "}" : pictures_);
  return has_all() ? object(wide_ ? "f64" : "f32", base64(numbers_)).text : "";
}

}  // namespace gradus::trace
