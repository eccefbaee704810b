// Compares stored values with naive loops.
#include "gradus/trace/values.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/trace/tape.h"

namespace gradus::testing::test_values {
namespace {

using trace::Detail;
using trace::KeptValues;

constexpr Detail kNone = {0, true};
constexpr Detail kAll = {1 << 30, true};

std::vector<double> some_numbers(std::int64_t n) {
  std::vector<double> out(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<double>(i * i * 7 % 13 + i * 5 % 11) / 2 - 3;
  return out;
}

struct Matrix {
  std::vector<double> x;
  std::size_t rows, columns;
  double at(std::size_t r, std::size_t c) const { return x[r * columns + c]; }
};

std::vector<double> finite(const std::vector<double>& x) {
  std::vector<double> out;
  for (const double v : x)
    if (std::isfinite(v)) out.push_back(v);
  return out;
}

std::vector<double> stats_of(const std::vector<double>& all) {
  const std::vector<double> x = finite(all);
  const double n = std::max<double>(1, static_cast<double>(x.size()));
  double sum = 0, squares = 0, spread = 0;
  for (const double v : x) sum += v, squares += v * v;
  for (const double v : x) spread += (v - sum / n) * (v - sum / n);
  const auto count = [&](auto is) {
    return static_cast<double>(std::count_if(all.begin(), all.end(), is));
  };
  return {x.empty() ? 0 : *std::min_element(x.begin(), x.end()),
          x.empty() ? 0 : *std::max_element(x.begin(), x.end()),
          sum / n,
          std::sqrt(spread / n),
          std::sqrt(squares),
          count([](double v) { return v == 0; }),
          count([](double v) { return std::isnan(v); }),
          count([](double v) { return std::isinf(v); })};
}

/// Element i of n is in box j if ⌊j n / boxes⌋ ≤ i < ⌊(j + 1) n / boxes⌋, or equivalently j = ⌊((i
/// + 1) boxes − 1) / n⌋.
std::vector<double> picture_of(const Matrix& m) {
  const std::size_t down = std::min<std::size_t>(m.rows, 24),
                    across = std::min<std::size_t>(m.columns, 24);
  std::vector<double> sums(down * across), counts(down * across);
  const auto box = [](std::size_t i, std::size_t n, std::size_t boxes) {
    std::size_t j = 0;
    while ((j + 1) * n / boxes <= i) ++j;
    return j;
  };
  for (std::size_t r = 0; r < m.rows; ++r)
    for (std::size_t c = 0; c < m.columns; ++c)
      if (std::isfinite(m.at(r, c))) {
        const std::size_t k = box(r, m.rows, down) * across + box(c, m.columns, across);
        sums[k] += m.at(r, c), counts[k] += 1;
      }
  for (std::size_t k = 0; k < sums.size(); ++k) sums[k] /= counts[k];
  return sums;
}

std::vector<double> corners_of(const Matrix& m) {
  std::vector<double> out;
  const auto shown = [](std::size_t i, std::size_t n) { return n <= 8 || i < 4 || i >= n - 4; };
  for (std::size_t r = 0; r < m.rows; ++r)
    for (std::size_t c = 0; c < m.columns; ++c)
      if (shown(r, m.rows) && shown(c, m.columns)) out.push_back(m.at(r, c));
  return out;
}

std::vector<double> histogram_of(const std::vector<double>& all) {
  std::vector<double> bins(32);
  const std::vector<double> x = finite(all);
  if (x.empty()) return bins;
  const double low = *std::min_element(x.begin(), x.end()),
               high = *std::max_element(x.begin(), x.end());
  for (const double v : x)
    ++bins[static_cast<std::size_t>(
        std::min(31.0, high > low ? std::floor((v - low) / (high - low) * 32) : 0))];
  return bins;
}

std::vector<double> doubles_of(const Json& list) {
  std::vector<double> out;
  for (const Json& each : list)
    out.push_back(each.is_string() ? std::numeric_limits<double>::quiet_NaN() : each.get<double>());
  return out;
}

/// Compares up to the f32 rounding of sums of a few thousand f64 values. NaN equals NaN.
bool near(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) {
    return x == y || (std::isnan(x) && std::isnan(y)) ||
           std::abs(x - y) <= 2e-7 * std::abs(y) + 1e-12;
  });
}

void check_matrix(const Tensor& x, const Matrix& m) {
  CAPTURE(m.rows, m.columns);
  const Json json = Json::parse(KeptValues(x, kNone).json());
  CHECK(near(doubles_of(json.at("stats")), stats_of(m.x)));
  CHECK(near(ReadTape::numbers_of(json.at("picture")), picture_of(m)));
  CHECK(json.at("picture").at("rows") == std::min<std::size_t>(m.rows, 24));
  CHECK(json.at("picture").at("columns") == std::min<std::size_t>(m.columns, 24));
  CHECK(near(ReadTape::numbers_of(json.at("corners")), corners_of(m)));
  CHECK(json.at("corners").at("rows") == std::min<std::size_t>(m.rows, 8));
  CHECK(json.at("corners").at("columns") == std::min<std::size_t>(m.columns, 8));
  CHECK(near(doubles_of(json.at("histogram")), histogram_of(m.x)));
  CHECK(ReadTape::numbers_of(Json::parse(KeptValues(x, kAll).json())).size() == m.x.size());
}

}  // namespace

TEST_CASE("statistics, pictures, corners and histograms equal those of a naive loop") {
  for (const std::int64_t rows : {1, 2, 7, 8, 9, 24, 25, 50})
    for (const std::int64_t columns : {1, 8, 9, 24, 25, 49}) {
      const Matrix m{some_numbers(rows * columns), static_cast<std::size_t>(rows),
                     static_cast<std::size_t>(columns)};
      const Tensor wide = tensor(m.x, {rows, columns});
      check_matrix((rows + columns) % 2 ? wide.to(Dtype::f32) : wide, m);
    }
}

TEST_CASE("NaN and infinity are counted and excluded from sums") {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = INFINITY;
  for (const std::vector<double>& each :
       {std::vector<double>{nan, 1, -inf, 0, inf, 5},
        std::vector<double>{nan, nan, inf, inf, -inf, inf}, std::vector<double>{7, 7, 7, 7, 7, 7},
        std::vector<double>{0, -0.0, 0, nan, 0, 0}, std::vector<double>{1, 2, nan, inf, -2, -1},
        std::vector<double>{-5, -4, -3, -inf, -inf, -inf}})
    for (const auto& [rows, columns] : {std::pair<int, int>{2, 3}, {3, 2}, {6, 1}, {1, 6}})
      check_matrix(tensor(each, {rows, columns}),
                   {each, static_cast<std::size_t>(rows), static_cast<std::size_t>(columns)});
}

TEST_CASE("equal values have deviation 0 despite rounding") {
  for (int i = 1; i <= 60; ++i)
    for (const int n : {3, 7, 11}) {
      const Json stats = Json::parse(KeptValues(full({n}, i / 7.0, Dtype::f64), kNone).json());
      const Json deviation = stats.at("stats").at(3);
      CAPTURE(i, n, deviation);
      REQUIRE(deviation.is_number());
      CHECK(deviation.get<double>() < 1e-6 * i);  // the square root of a few f64 rounding errors
    }
}

TEST_CASE("values of every dtype, rank and layout are stored") {
  const std::vector<double> x = some_numbers(24);
  const Tensor wide = tensor(x, {2, 3, 4});
  check_matrix(wide, {x, 6, 4});
  check_matrix(tensor(x, {24}), {x, 1, 24});
  check_matrix(tensor(std::vector<double>{2.5}, {}), {{2.5}, 1, 1});
  std::vector<double> turned, whole;
  for (int c = 0; c < 4; ++c)
    for (int r = 0; r < 6; ++r) turned.push_back(x[static_cast<std::size_t>(4 * r + c)]);
  check_matrix(transpose(tensor(x, {6, 4}), 0, 1), {turned, 4, 6});
  for (int i = 0; i < 24; ++i) whole.push_back(i);
  check_matrix(arange(24).reshape({4, 6}), {whole, 4, 6});
  const Json numbers = Json::parse(KeptValues(arange(24), kAll).json());
  CHECK(numbers.contains("f64"));
  CHECK(ReadTape::numbers_of(numbers) == whole);
  CHECK(Json::parse(KeptValues(wide.to(Dtype::f32), kAll).json()).contains("f32"));
  CHECK(Json::parse(KeptValues(wide, kAll).json()).contains("f64"));
  const Json flags = Json::parse(KeptValues(greater(wide, 0), kAll).json());
  CHECK(flags.contains("f32"));
  CHECK(ReadTape::numbers_of(Json::parse(KeptValues(zeros({0, 3}), kAll).json())).empty());
  CHECK(ReadTape::numbers_of(Json::parse(KeptValues(zeros({3, 0}), kNone).json())).empty());
}

TEST_CASE("detail decreases from all values to pictures, to statistics, to nothing") {
  const Tensor x = tensor(some_numbers(12), {3, 4});
  const auto state = [](const KeptValues& v) {
    return std::string(v.has_all() ? "a" : "-") + (v.has_stats() ? "s" : "-") +
           (v.has_pictures() ? "p" : "-") + (v.has_any() ? "" : "!") +
           (v.json().empty() ? " none" : "");
  };
  CHECK(state(KeptValues(x, {12, true})) == "a--");
  CHECK(state(KeptValues(x, {11, true})) == "-sp");
  CHECK(state(KeptValues(x, {11, false})) == "-s-");
  CHECK(state(KeptValues(x, {1, true}, 12)) == "a--");
  CHECK(state(KeptValues(x, {1, true}, 11)) == "-sp");
  KeptValues kept(x, {12, false});
  const std::string whole = kept.json();
  kept.reduce({12, true});
  CHECK(kept.json() == whole);
  for (const Detail& less : {Detail{11, true}, Detail{11, false}}) {
    kept.reduce(less);
    CHECK(kept.json() == KeptValues(x, less).json());
  }
  kept.drop();
  CHECK(state(kept) == "---! none");
  CHECK(kept.bytes() == 0);
  CHECK(state(KeptValues(zeros({0}), {0, true})) == "a--");
}

}  // namespace gradus::testing::test_values
