// Samples at kinks and ties. There, references use the derivative that the headers in ops/
// document, because finite differences give different values.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "gradus/ops/activation.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/indexing.h"
#include "gradus/ops/loss.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/sort.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing {
namespace {

void add(Samples& all, std::string op, std::string what, Inputs inputs,
         std::function<Tensor(const Inputs&)> f, Reference reference, std::string function = {}) {
  all.push_back({.op = std::move(op),
                 .what = std::move(what),
                 .inputs = std::move(inputs),
                 .f = std::move(f),
                 .reference = std::move(reference),
                 .differences = false,
                 .function = std::move(function)});
}

Tensor row(std::initializer_list<double> values) { return tensor(values, Dtype::f64); }

void add_each(Samples& all, const char* op, const char* what, const Tensor& x,
              Tensor (*f)(const Tensor&), const Generic<OfOne>& of_number) {
  add(
      all, op, what, {x}, [f](const Inputs& in) { return f(in[0]); },
      [of_number]<class T>(const Arguments<T>& in) {
        List<T> y = in[0].values;
        for (T& v : y) v = of_number(v);
        return y;
      });
}

void add_activations(Samples& all) {
  const Tensor zeros = row({-1.25, 0, 0.75, 0, 2});
  add_each(all, "relu", "derivative 0 at 0", zeros, relu,
           []<class T>(const T& x) { return x > 0 ? x : T(0); });
  add_each(
      all, "leaky_relu", "derivative `slope` at 0", zeros,
      [](const Tensor& x) { return leaky_relu(x, 0.25); },
      []<class T>(const T& x) { return x > 0 ? x : 0.25 * x; });
  add_each(
      all, "elu", "derivative alpha at 0", zeros, [](const Tensor& x) { return elu(x, 1.5); },
      []<class T>(const T& x) { return x > 0 ? x : 1.5 * math::expm1(x); });
  add_each(all, "abs", "derivative 0 at 0", zeros, abs, []<class T>(const T& x) {
    return x > 0 ? x : x < 0 ? -x : T(0);
  });
  add_each(
      all, "clamp", "derivative 1 at the bounds", row({-0.5, 1, -2, 2, 0.25}),
      [](const Tensor& x) { return clamp(x, -0.5, 1); },
      []<class T>(const T& x) { return x < -0.5 ? T(-0.5)
                                       : x > 1  ? T(1)
                                                : x; });
}

void add_steps(Samples& all) {
  const Tensor steps = row({-1, 0, 0.5, 1.5, 2});
  add_each(all, "floor", "derivative 0 at a step", steps, floor,
           []<class T>(const T& x) { return math::floor(x); });
  add_each(all, "round", "half to even, with derivative 0", steps, round,
           []<class T>(const T& x) { return math::nearest_even(x); });
  add_each(all, "sign", "0 at 0, derivative 0", steps, sign, []<class T>(const T& x) {
    return T(x > 0 ? 1.0 : x < 0 ? -1.0 : 0.0);
  });
}

Tensor pow_of_each(const Inputs& in) { return pow(in[0], in[1]); }

void add_powers(Samples& all) {
  for (const double exponent : {0.0, 1.0, 3.0})  // exponent 2 is recorded as square
    add(
        all, "pow", "base 0, exponent " + std::to_string(static_cast<int>(exponent)),
        {row({0, -1.5, 2})}, [exponent](const Inputs& in) { return pow(in[0], exponent); },
        [exponent]<class T>(const Arguments<T>& in) {
          List<T> y(in[0].values.size(), T(1));
          for (std::size_t i = 0; i < y.size(); ++i)
            for (int k = 0; k < exponent; ++k) y[i] *= in[0].values[i];
          return y;
        });
  add(
      all, "power", "base 0, derivative 0 in the exponent", {row({0, 2}), row({3, 3})}, pow_of_each,
      []<class T>(const Arguments<T>& in) {
        const T x = in[0].values[0];
        return List<T>{x * x * x, math::pow(in[0].values[1], in[1].values[1])};
      },
      "pow");
}

void add_pairs(Samples& all) {
  const Inputs tied = {row({1, 2, -1, 0}), row({1, 3, -1, -2})};
  const auto add_pair = [&](const char* op, Tensor (*f)(const Tensor&, const Tensor&),
                            const Generic<OfTwo>& of_two) {
    add(
        all, op, "each operand of a tie gets half", tied,
        [f](const Inputs& in) { return f(in[0], in[1]); },
        [of_two]<class T>(const Arguments<T>& in) {
          List<T> y;
          for (std::size_t i = 0; i < in[0].values.size(); ++i) {
            const T &a = in[0].values[i], &b = in[1].values[i];
            y.push_back(a == b ? 0.5 * a + 0.5 * b : of_two(a, b));
          }
          return y;
        });
  };
  add_pair("maximum", maximum, [](const auto& a, const auto& b) { return math::max(a, b); });
  add_pair("minimum", minimum, [](const auto& a, const auto& b) { return math::min(a, b); });
}

/// Averages the elements that equal the row's extreme.
template <class T>
List<T> shared_extremes(const List<T>& x, std::size_t n, double sign) {
  List<T> y;
  for (std::size_t first = 0; first < x.size(); first += n) {
    T extreme = x[first];
    for (std::size_t i = 1; i < n; ++i)
      if (sign * x[first + i] > sign * extreme) extreme = x[first + i];
    T total = 0;
    double count = 0;
    for (std::size_t i = 0; i < n; ++i)
      if (x[first + i] == extreme) total += x[first + i], ++count;
    y.push_back(total / count);
  }
  return y;
}

void add_reductions(Samples& all) {
  const Tensor rows = tensor({{1, 3, 3}, {-2, -2, -2}, {1, 1, 5}, {4, 0, 0.5}}, Dtype::f64);
  add(
      all, "max", "two or all elements tie and share the gradient", {rows},
      [](const Inputs& in) { return max(in[0], {1}); },
      []<class T>(const Arguments<T>& in) { return shared_extremes(in[0].values, 3, 1); });
  add(
      all, "min", "two or all elements tie and share the gradient", {rows},
      [](const Inputs& in) { return min(in[0], {1}); },
      []<class T>(const Arguments<T>& in) { return shared_extremes(in[0].values, 3, -1); });
  add(
      all, "norm", "derivative 0 at 0", {tensor({{0, 0}, {3, -4}}, Dtype::f64)},
      [](const Inputs& in) { return norm(in[0], {1}); },
      []<class T>(const Arguments<T>& in) {
        const T &a = in[0].values[2], &b = in[0].values[3];
        return List<T>{T(0), math::sqrt(a * a + b * b)};
      });
  all.back().second = false;  // the second derivative is infinite at 0
}

void add_losses(Samples& all) {
  const Inputs inputs = {row({1, 2, -0.5, 3}), row({1, 1.5, 0, 1})};  // differences 0, ±½, 2
  add(
      all, "abs", "derivative 0 at 0", inputs,
      [](const Inputs& in) { return l1_loss(in[0], in[1], Reduction::none); },
      []<class T>(const Arguments<T>& in) {
        List<T> y;
        for (std::size_t i = 0; i < in[0].values.size(); ++i) {
          const T d = in[0].values[i] - in[1].values[i];
          y.push_back(d > 0 ? d : d < 0 ? -d : T(0));
        }
        return y;
      },
      "l1_loss");
  add(
      all, "clamp", "quadratic up to and including |d| = delta", inputs,
      [](const Inputs& in) { return huber_loss(in[0], in[1], 0.5, Reduction::none); },
      []<class T>(const Arguments<T>& in) {
        List<T> y;
        for (std::size_t i = 0; i < in[0].values.size(); ++i) {
          const T d = in[0].values[i] - in[1].values[i];
          y.push_back(math::abs(d) <= 0.5 ? 0.5 * d * d : 0.5 * (math::abs(d) - 0.25));
        }
        return y;
      },
      "huber_loss");
}

void add_orders(Samples& all) {
  const Tensor tied = row({2, -1, 2, 5, -1});
  const auto sorted = []<class T>(const List<T>& x) {
    List<T> y = x;
    std::stable_sort(y.begin(), y.end());
    return y;
  };
  add(
      all, "gather", "ties keep their order", {tied},
      [](const Inputs& in) { return sort(in[0]).values; },
      [sorted]<class T>(const Arguments<T>& in) { return sorted(in[0].values); }, "sort");
  add(
      all, "gather", "the first of equal elements is selected", {tied},
      [](const Inputs& in) { return topk(in[0], 2).values; },
      []<class T>(const Arguments<T>& in) {
        return List<T>{in[0].values[3], in[0].values[0]};
      },
      "topk");
}

void add_padding(Samples& all) {
  add(
      all, "embedding", "the row of the padding id gets no gradient",
      {values({5, 3}), tensor(std::vector<std::int64_t>{4, 1, 3, 0, 1, 3}, {2, 3})},
      [](const Inputs& in) { return embedding(in[0], in[1], 3); },
      []<class T>(const Arguments<T>& in) {
        List<T> y;
        for (const std::int64_t id : in[1].integers)
          for (std::size_t c = 0; c < 3; ++c) {
            const T& weight = in[0].values[static_cast<std::size_t>(id) * 3 + c];
            y.push_back(id == 3 ? math::constant(weight) : weight);
          }
        return y;
      });
}

}  // namespace

Samples kink_samples() {
  Samples all;
  add_activations(all);
  add_steps(all);
  add_powers(all);
  add_pairs(all);
  add_reductions(all);
  add_losses(all);
  add_orders(all);
  add_padding(all);
  return all;
}

}  // namespace gradus::testing
