#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "gradus/engine/base/random.h"
#include "gradus/ops/attention/attention.h"
#include "gradus/ops/create.h"
#include "gradus/ops/linear.h"
#include "gradus/ops/loss.h"
#include "gradus/ops/matmul.h"
#include "gradus/ops/members.h"
#include "gradus/ops/normalization.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/softmax.h"
#include "gradus/tests/ops/large.h"
#include "gradus/tests/support/naive.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing {
namespace {

using large::push;
using naive::at;
using naive::numbers;

/// Reduces the rows, the columns, and all elements of x [90, 110].
void add_reduction(Samples& all, const char* op, Tensor (*f)(const Tensor&, const Axes&, bool),
                   const Generic<ListToNumber>& of_group) {
  for (const Axes& axes : {Axes{1}, Axes{0}, Axes{}})
    push(
        all, op, {values({90, 110})}, [=](const Inputs& x) { return f(x[0], axes, false); },
        [=]<class T>(const Arguments<T>& x) {
          const bool rows = axes.rank() == 1 && axes[0] == 1, all_axes = axes.rank() == 0;
          std::vector<List<T>> groups(all_axes ? 1 : rows ? 90 : 110);
          for (std::size_t i = 0; i < x[0].values.size(); ++i)
            groups[all_axes ? 0 : rows ? i / 110 : i % 110].push_back(x[0].values[i]);
          List<T> y;
          for (const List<T>& group : groups) y.push_back(of_group(group));
          return y;
        });
}

template <class T>
T total(const List<T>& x) {
  T sum = 0;
  for (const T& v : x) sum += v;
  return sum;
}

void add_reductions(Samples& all) {
  add_reduction(all, "sum", sum, [](const auto& x) { return total(x); });
  add_reduction(all, "mean", mean,
                [](const auto& x) { return total(x) / static_cast<double>(x.size()); });
  add_reduction(
      all, "var", [](const Tensor& x, const Axes& axes, bool keep) { return var(x, axes, keep); },
      []<class T>(const List<T>& x) {
        const double n = static_cast<double>(x.size());
        const T mean = total(x) / n;
        T squares = 0;
        for (const T& v : x) squares += (v - mean) * (v - mean);
        return squares / (n - 1);
      });
  add_reduction(all, "max", max,
                [](const auto& x) { return *std::max_element(x.begin(), x.end()); });
  add_reduction(all, "logsumexp", logsumexp, []<class T>(const List<T>& x) {
    T sum = 0;
    for (const T& v : x) sum += math::exp(v);
    return math::log(sum);
  });
  add_reduction(all, "norm", norm, []<class T>(const List<T>& x) {
    T squares = 0;
    for (const T& v : x) squares += v * v;
    return math::sqrt(squares);
  });
  push(
      all, "cumsum", {values({3, 1999})}, [](const Inputs& x) { return cumsum(x[0], 1); },
      []<class T>(const Arguments<T>& x) {
        List<T> y = x[0].values;
        for (std::size_t i = 1; i < y.size(); ++i)
          if (i % 1999 != 0) y[i] += y[i - 1];
        return y;
      });
}

/// Tests contiguous rows, and columns with stride 3.
void add_softmaxes(Samples& all) {
  for (const bool rows : {true, false})
    for (const bool log : {false, true})
      push(
          all, log ? "log_softmax" : "softmax", {rows ? values({3, 1999}) : values({1999, 3})},
          [=](const Inputs& x) {
            return log ? log_softmax(x[0], rows ? 1 : 0) : softmax(x[0], rows ? 1 : 0);
          },
          [=]<class T>(const Arguments<T>& x) {
            List<T> sums(3, T(0)), y;
            const auto group = [=](std::size_t i) { return rows ? i / 1999 : i % 3; };
            for (std::size_t i = 0; i < x[0].values.size(); ++i)
              sums[group(i)] += math::exp(x[0].values[i]);
            for (std::size_t i = 0; i < x[0].values.size(); ++i) {
              const T &v = x[0].values[i], &sum = sums[group(i)];
              y.push_back(log ? v - math::log(sum) : math::exp(v) / sum);
            }
            return y;
          });
}

void add_norms(Samples& all) {
  push(
      all, "layer_norm", {values({70, 131}), values({131}, 1), values({131}, 2)},
      [](const Inputs& x) { return layer_norm(x[0], x[1], x[2]); },
      []<class T>(const Arguments<T>& x) {
        return naive::layer_norm(x[0].values, 131, x[1].values, x[2].values);
      });
  push(
      all, "rms_norm", {values({70, 131}), values({131}, 1)},
      [](const Inputs& x) { return rms_norm(x[0], x[1]); },
      []<class T>(const Arguments<T>& x) {
        List<T> y;
        for (std::size_t row = 0; row < 70; ++row) {
          T squares = 0;
          for (std::size_t i = 0; i < 131; ++i)
            squares += x[0].values[row * 131 + i] * x[0].values[row * 131 + i];
          for (std::size_t i = 0; i < 131; ++i)
            y.push_back(x[0].values[row * 131 + i] / math::sqrt(squares / 131 + 1e-5) *
                        x[1].values[i]);
        }
        return y;
      });
}

void add_loss(Samples& all) {
  constexpr std::size_t V = 131;
  const Tensor weight = positive({131}, 4);
  std::vector<std::int64_t> target;
  for (std::int64_t r = 0; r < 70; ++r) target.push_back(r % 7 == 0 ? -100 : r * 37 % 131);
  push(
      all, "cross_entropy", {values({70, 131}), tensor(target, {70})},
      [=](const Inputs& x) {
        return cross_entropy(x[0], x[1],
                             {.label_smoothing = 0.25, .weight = weight.to(x[0].dtype())});
      },
      [w = numbers(weight)]<class T>(const Arguments<T>& x) {
        T loss = 0;
        double divisor = 0;
        for (std::size_t r = 0; r < 70; ++r) {
          if (x[1].integers[r] < 0) continue;
          const std::size_t t = at(x[1].integers[r]);
          T sum = 0;
          for (std::size_t v = 0; v < V; ++v) sum += math::exp(x[0].values[r * V + v]);
          for (std::size_t v = 0; v < V; ++v)
            loss -=
                ((v == t ? 0.75 : 0) + 0.25 / V) * w[v] * (x[0].values[r * V + v] - math::log(sum));
          divisor += w[t];
        }
        return List<T>{loss / divisor};
      });
}

void add_products(Samples& all) {
  push(
      all, "matmul", {values({3, 37, 41}), values({41, 29}, 1)},
      [](const Inputs& x) { return matmul(x[0], x[1]); },
      []<class T>(const Arguments<T>& x) {
        return naive::matmul(x[0].values, {3, 37, 41}, x[1].values, {41, 29});
      });
  push(
      all, "linear", {values({67, 41}), values({29, 41}, 1), values({29}, 2)},
      [](const Inputs& x) { return linear(x[0], x[1], x[2]); },
      []<class T>(const Arguments<T>& x) {
        return naive::affine(x[0].values, 41, x[1].values, x[2].values);
      });
}

/// Uses more keys than one tile and more queries than one block. Neither count is a multiple of
/// these sizes.
void add_attention(Samples& all) {
  const auto with = [&](const naive::Attention& a, const Mask& mask) {
    push(
        all, "attention",
        {values({a.B, a.H, a.T, a.D}), values({a.B, a.H, a.S, a.D}, 1),
         values({a.B, a.H, a.S, a.Dv}, 2)},
        [mask](const Inputs& x) { return scaled_dot_product_attention(x[0], x[1], x[2], mask); },
        [a](const auto& x) { return naive::attention(a, x[0].values, x[1].values, x[2].values); },
        "scaled_dot_product_attention");
  };
  with({1, 1, 67, 131, 5, 3}, {});
  with({1, 1, 131, 131, 3, 5, [](auto, auto, auto i, auto j) { return i >= j; }}, causal_mask());
  with({2, 1, 35, 131, 4, 4, [](auto b, auto, auto, auto j) { return j < (b == 0 ? 70 : 131); }},
       padding_mask({70, 131}));
  naive::Attention a{1, 2, 67, 67, 4, 4};
  a.allows = [](auto, auto, auto i, auto j) { return i >= j; };
  const RandomStream first = Generator(7).next();
  a.keep = [=](auto, auto h, auto i, auto j) {
    return first.word((h * 67 + i) * 67 + j) < 0x40000000u ? 0.0 : 1 / 0.75;
  };
  push(
      all, "packed_attention", {values({1, 67, 24})},
      [](const Inputs& x) {
        Generator own(7);
        const GeneratorScope scope(own);
        AttentionOptions options;
        options.dropout = 0.25;
        return packed_self_attention(x[0], 2, causal_mask(), options);
      },
      [a](const auto& x) { return naive::packed_attention(a, x[0].values); },
      "packed_self_attention");
}

}  // namespace

Samples large_row_samples() {
  Samples all;
  add_reductions(all);
  add_softmaxes(all);
  add_norms(all);
  add_loss(all);
  add_products(all);
  add_attention(all);
  return all;
}

}  // namespace gradus::testing
