// Tests each binary op with the same broadcasts, and each unary op with the same layouts.
#include <algorithm>
#include <functional>
#include <utility>

#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing {
namespace {

using Dims = Sizes;

std::int64_t product(const Dims& shape) {
  std::int64_t n = 1;
  for (const std::int64_t size : shape) n *= size;
  return n;
}

/// Returns the position in `shape` from which element i of `out_shape` was broadcast.
std::size_t source(std::int64_t i, const Dims& out_shape, const Dims& shape) {
  std::int64_t position = 0, weight = 1;
  for (std::size_t back = 1; back <= out_shape.size(); ++back) {
    const std::int64_t size = out_shape[out_shape.size() - back];
    const std::int64_t coordinate = i % size;
    i /= size;
    if (back > shape.size()) continue;
    const std::int64_t own = shape[shape.size() - back];
    if (own != 1) position += coordinate * weight;
    weight *= own;
  }
  return static_cast<std::size_t>(position);
}

Dims broadcast(const Dims& a, const Dims& b) {
  Dims out(std::max(a.size(), b.size()), 1);
  for (std::size_t back = 1; back <= out.size(); ++back) {
    std::int64_t& size = out[out.size() - back];
    if (back <= a.size()) size = a[a.size() - back];
    if (back <= b.size() && b[b.size() - back] != 1) size = b[b.size() - back];
  }
  return out;
}

template <class T>
List<T> combined(const List<T>& a, const Dims& a_shape, const List<T>& b, const Dims& b_shape,
                 const Generic<OfTwo>& f) {
  const Dims out_shape = broadcast(a_shape, b_shape);
  List<T> out;
  for (std::int64_t i = 0; i < product(out_shape); ++i)
    out.push_back(f(a[source(i, out_shape, a_shape)], b[source(i, out_shape, b_shape)]));
  return out;
}

template <class T>
List<T> turned(const List<T>& x, std::size_t rows, std::size_t columns) {
  List<T> out;
  for (std::size_t c = 0; c < columns; ++c)
    for (std::size_t r = 0; r < rows; ++r) out.push_back(x[r * columns + c]);
  return out;
}

struct Binary {
  std::string op;
  std::function<Tensor(const Tensor&, const Tensor&)> f;
  Generic<OfTwo> of_numbers;
  bool positive_base = false;
};

struct Pair {
  std::string what;
  Shape a, b;
};

std::vector<Pair> pairs() {
  return {
      {"equal shapes", {3, 5}, {3, 5}},
      {"a row on the right", {3, 5}, {5}},
      {"a column on the left", {3, 1}, {3, 5}},
      {"broadcast on both sides, unequal primes", {3, 1, 2}, {5, 1}},
      {"rank 0 on the left", {}, {2, 3}},
      {"rank 0 on both sides", {}, {}},
      {"one element, ranks 1 and 3", {1}, {1, 1, 1}},
      {"no elements", {0, 3}, {3}},
  };
}

void add_binary(Samples& out, const Binary& binary) {
  const auto base = binary.positive_base ? positive : values;
  const Generic<OfTwo> g = binary.of_numbers;
  const auto add_sample = [&](const std::string& what, const Inputs& inputs, auto f,
                              auto reference) {
    out.push_back({binary.op, what, inputs, f, reference});
  };
  for (const Pair& pair : pairs())
    add_sample(
        pair.what, {base(pair.a, 0), values(pair.b, 1)},
        [f = binary.f](const Inputs& x) { return f(x[0], x[1]); },
        [g]<class T>(const Arguments<T>& x) {
          return combined(x[0].values, x[0].shape, x[1].values, x[1].shape, g);
        });
  add_sample(
      "a transposed view on the left", {base({5, 3}, 0), values({3, 5}, 1)},
      [f = binary.f](const Inputs& x) { return f(transpose(x[0]), x[1]); },
      [g]<class T>(const Arguments<T>& x) {
        return combined(turned(x[0].values, 5, 3), {3, 5}, x[1].values, {3, 5}, g);
      });
  // The next sample combines a row with itself, which is a tie for maximum and minimum.
  if (binary.positive_base || binary.op == "maximum" || binary.op == "minimum") return;
  add_sample(
      "a tensor with its own slice", {values({4, 3}, 2)},
      [f = binary.f](const Inputs& x) { return f(x[0], slice(x[0], 0, 1, 2)); },
      [g]<class T>(const Arguments<T>& x) {
        const List<T> v = x[0].values;
        return combined(v, {4, 3}, List<T>(v.begin() + 3, v.begin() + 6), {1, 3}, g);
      });
}

struct Unary {
  std::string op;
  std::function<Tensor(const Tensor&)> f;
  Generic<OfOne> of_number;
  bool positive_input = false;
  std::string note = {};
};

void add_unary(Samples& out, const Unary& unary) {
  const auto input = unary.positive_input ? positive : values;
  const auto each = [g = unary.of_number]<class T>(List<T> x) {
    for (T& v : x) v = g(v);
    return x;
  };
  const std::string note = unary.note.empty() ? "" : unary.note + ", ";
  const auto add_sample = [&](const std::string& what, const Tensor& x, auto f, auto reference) {
    out.push_back({unary.op, note + what, {x}, f, reference});
  };
  for (const Shape& shape : {Shape{3, 5}, Shape{}, Shape{1, 1}, Shape{2, 0}})
    add_sample(
        "shape " + to_string(shape), input(shape, 3),
        [f = unary.f](const Inputs& x) { return f(x[0]); },
        [each]<class T>(const Arguments<T>& x) { return each(x[0].values); });
  add_sample(
      "a transposed view", input({2, 7}, 4),
      [f = unary.f](const Inputs& x) { return f(transpose(x[0])); },
      [each]<class T>(const Arguments<T>& x) { return each(turned(x[0].values, 2, 7)); });
}

std::vector<Binary> binaries() {
  return {
      {"add", add, [](auto a, auto b) { return a + b; }},
      {"subtract", subtract, [](auto a, auto b) { return a - b; }},
      {"multiply", multiply, [](auto a, auto b) { return a * b; }},
      {"divide", divide, [](auto a, auto b) { return a / b; }},
      {"maximum", maximum, [](auto a, auto b) { return math::max(a, b); }},
      {"minimum", minimum, [](auto a, auto b) { return math::min(a, b); }},
      {"power", [](const Tensor& a, const Tensor& b) { return pow(a, b); },
       [](auto a, auto b) { return math::pow(a, b); }, true},
  };
}

Unary pow_by(double c, bool positive_input) {
  return {c == 2 ? "square" : "pow", [c](const Tensor& x) { return pow(x, c); },
          [c](auto x) { return math::pow(x, c); }, positive_input,

          "exponent " + std::to_string(c)};
}

std::vector<Unary> with_numbers() {
  return {
      {"scale", [](const Tensor& x) { return x * -2.5; }, [](auto x) { return x * -2.5; }},
      {"shift", [](const Tensor& x) { return x + 0.75; }, [](auto x) { return x + 0.75; }},
      {"shift", [](const Tensor& x) { return 2.0 - x; }, [](auto x) { return 2.0 - x; }},
      {"scale", [](const Tensor& x) { return 3.0 / x; }, [](auto x) { return 3.0 / x; }},
      {"negative", negative, [](auto x) { return -x; }},
      pow_by(3, false),
      pow_by(2, false),
      pow_by(1, false),
      pow_by(0, false),
      pow_by(-1.5, true),
      pow_by(0.5, true),
      {"clamp", [](const Tensor& x) { return clamp(x, -0.6, 0.9); },
       [](auto x) { return x < -0.6  ? -0.6
                           : 0.9 < x ? 0.9
                                     : x; }},
  };
}

std::vector<Unary> functions() {
  return {
      {"square", square, [](auto x) { return x * x; }},
      {"exp", exp, [](auto x) { return math::exp(x); }},
      {"expm1", expm1, [](auto x) { return math::expm1(x); }},
      {"log", log, [](auto x) { return math::log(x); }, true},
      {"log1p", log1p, [](auto x) { return math::log1p(x); }, true},
      {"log1p", [](const Tensor& x) { return log1p(-0.5 * x); },
       [](auto x) { return math::log1p(-0.5 * x); }, false, "negative numbers"},
      {"sqrt", sqrt, [](auto x) { return math::sqrt(x); }, true},
      {"rsqrt", rsqrt, [](auto x) { return 1 / math::sqrt(x); }, true},
      {"reciprocal", reciprocal, [](auto x) { return 1 / x; }},
      {"sin", sin, [](auto x) { return math::sin(x); }},
      {"cos", cos, [](auto x) { return math::cos(x); }},
      {"tanh", tanh, [](auto x) { return math::tanh(x); }},
      {"sigmoid", sigmoid, [](auto x) { return 1 / (1 + math::exp(-x)); }},
      {"erf", erf, [](auto x) { return math::erf(x); }},
      {"abs", abs, [](auto x) { return math::abs(x); }},
      {"floor", floor, [](auto x) { return math::floor(x); }},
      {"round", round, [](auto x) { return math::nearest_even(x); }},
      {"sign", sign, [](auto x) { return decltype(x)(x > 0 ? 1.0 : -1.0); }},
  };
}

void add_sum_to(Samples& out) {
  using Case = std::pair<Shape, Shape>;
  for (const Case& c :
       {Case{{5, 3}, {3}}, Case{{5, 3}, {5, 1}}, Case{{5, 3}, {}}, Case{{2, 3, 5}, {1, 3, 1}},
        Case{{2, 3, 5}, {3, 1}}, Case{{2, 1, 5}, {2, 1, 1}}, Case{{0, 3}, {3}},
        Case{{3, 0}, {1, 0}}, Case{{1, 1}, {}}})
    out.push_back(
        {.op = "sum_to",
         .what = to_string(c.first) + " to " + to_string(c.second),
         .inputs = {values(c.first, 5)},
         .f = [to = c.second](const Inputs& x) { return sum_to(x[0], to); },
         .reference =
             [to = Dims(c.second.begin(), c.second.end())]<class T>(const Arguments<T>& x) {
               const List<T> v = x[0].values;
               List<T> sums(static_cast<std::size_t>(product(to)), T(0));
               for (std::size_t i = 0; i < v.size(); ++i)
                 sums[source(static_cast<std::int64_t>(i), x[0].shape, to)] += v[i];
               return sums;
             }});
  out.push_back({.op = "sum_to",
                 .what = "a transposed view to a row",
                 .inputs = {values({3, 7}, 6)},
                 .f = [](const Inputs& x) { return sum_to(transpose(x[0]), {3}); },
                 .reference =
                     []<class T>(const Arguments<T>& x) {
                       const List<T> v = x[0].values;
                       List<T> sums(3, T(0));
                       for (std::size_t i = 0; i < 21; ++i) sums[i / 7] += v[i];
                       return sums;
                     }});
}

Sample convert_integers() {
  return {.op = "to",
          .what = "integers, to the dtype of the other factor",
          .inputs = {values({3}, 7), indices({-4, 9, 9})},
          .f = [](const Inputs& x) { return x[0] * to(x[1], x[0].dtype()); },
          .reference =
              []<class T>(const Arguments<T>& x) {
                const List<T> v = x[0].values;
                return List<T>{-4 * v[0], 9 * v[1], 9 * v[2]};
              }};
}

/// Converts signs, because finite differences of other values require more digits than f32 has.
Sample convert_and_back() {
  return {.op = "to",
          .what = "signs, to the other dtype and back",
          .inputs = {values({2, 5}, 8)},
          .f =
              [](const Inputs& x) {
                const Dtype other = x[0].dtype() == Dtype::f64 ? Dtype::f32 : Dtype::f64;
                return x[0] * to(to(sign(x[0]), other), x[0].dtype());
              },
          .reference =
              []<class T>(const Arguments<T>& x) {
                List<T> out = x[0].values;
                for (T& v : out) v = math::abs(v);
                return out;
              }};
}

}  // namespace

Samples arithmetic_samples() {
  Samples out;
  for (const Binary& each : binaries()) add_binary(out, each);
  for (Sample& sample : out)
    if (sample.op == "power") sample.function = "pow";
  for (const Unary& each : with_numbers()) add_unary(out, each);
  for (const Unary& each : functions()) add_unary(out, each);
  add_sum_to(out);
  out.push_back(convert_integers());
  out.push_back(convert_and_back());
  return out;
}

}  // namespace gradus::testing
