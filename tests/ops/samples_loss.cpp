// If a loss consists of other ops, its sample names one of them.
#include <algorithm>

#include "gradus/ops/create.h"
#include "gradus/ops/loss.h"
#include "gradus/ops/members.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing {
namespace {

using Count = std::size_t;

template <class T>
List<T> reduced(const List<T>& each, Reduction reduction, double divisor) {
  if (reduction == Reduction::none) return each;
  T total = 0;
  for (const T& v : each) total += v;
  if (reduction == Reduction::mean) total = divisor == 0 ? T(0) : total / divisor;
  return {total};
}

template <class T>
List<T> log_softmax_of(const List<T>& x, Count V) {
  List<T> y;
  for (Count i = 0; i < x.size(); ++i) {
    T total = 0;
    for (Count v = 0; v < V; ++v) total += math::exp(x[i / V * V + v]);
    y.push_back(x[i] - math::log(total));
  }
  return y;
}

/// Takes rows of V log-probabilities. w may be empty.
template <class T>
List<T> nll_of(const List<T>& log_p, Count V, const std::vector<std::int64_t>& target,
               const List<double>& w, const CrossEntropyOptions& o) {
  List<T> each;
  double divisor = 0;
  for (Count r = 0; r < target.size(); ++r) {
    T loss = 0;
    if (target[r] != o.ignore_index) {
      const Count t = static_cast<Count>(target[r]);
      for (Count v = 0; v < V; ++v) {
        const double meant =
            (v == t ? 1 - o.label_smoothing : 0) + o.label_smoothing / static_cast<double>(V);
        loss -= meant * (w.empty() ? 1 : w[v]) * log_p[r * V + v];
      }
      divisor += w.empty() ? 1 : w[t];
    }
    each.push_back(loss);
  }
  return reduced(each, o.reduction, divisor);
}

CrossEntropyOptions in_dtype(CrossEntropyOptions options, Dtype dtype) {
  if (options.weight.defined()) options.weight = options.weight.to(dtype);
  return options;
}

void add_cross_entropy(Samples& samples, const char* what, const Shape& shape, const Tensor& target,
                       const CrossEntropyOptions& options) {
  const List<double> w =
      options.weight.defined() ? options.weight.to_vector<double>() : List<double>{};
  const Count V = static_cast<Count>(shape[shape.rank() - 1]);
  samples.push_back(
      {"cross_entropy",
       what,
       {values(shape), target},
       [=](const Inputs& x) { return cross_entropy(x[0], x[1], in_dtype(options, x[0].dtype())); },
       [=]<class T>(const Arguments<T>& x) {
         const List<T> log_p = log_softmax_of(x[0].values, V);
         return nll_of(log_p, V, x[1].integers, w, options);
       }});
  samples.push_back(
      {"gather",
       what,
       {values(shape, 1), target},
       [=](const Inputs& x) { return nll_loss(x[0], x[1], in_dtype(options, x[0].dtype())); },
       [=]<class T>(const Arguments<T>& x) {
         return nll_of(x[0].values, V, x[1].integers, w, options);
       }});
  samples.back().function = "nll_loss";
}

Tensor classes(const std::vector<std::int64_t>& of_rows, const Shape& shape) {
  return tensor(of_rows, shape);
}

void add_all_cross_entropies(Samples& samples) {
  const Tensor five = classes({3, 0, 6, 3, 1}, {5}), some = classes({3, -100, 6, -100, 1}, {5});
  const Tensor weight = positive({7}, 4);
  const auto add = [&](const char* what, const Tensor& target, const CrossEntropyOptions& options) {
    add_cross_entropy(samples, what, {5, 7}, target, options);
  };
  add("mean, a repeated class", five, {});
  add("sum", five, {.reduction = Reduction::sum});
  add("no reduction, some ignored", some, {.reduction = Reduction::none});
  add("mean, some ignored", some, {});
  add("all ignored", classes({-100, -100, -100, -100, -100}, {5}), {});
  add("ignore_index is a class", five, {.ignore_index = 3});
  add("smoothed", five, {.label_smoothing = 0.125});
  add("smoothed, weighted, some ignored", some, {.label_smoothing = 0.25, .weight = weight});
  add("weighted", five, {.weight = weight});
  add("weighted, no reduction", five, {.weight = weight, .reduction = Reduction::none});
  add("weighted, smoothed, sum", some,
      {.label_smoothing = 0.5, .weight = weight, .reduction = Reduction::sum});
  add_cross_entropy(samples, "three axes, no reduction", {2, 3, 5},
                    classes({4, 0, 2, 1, 1, 3}, {2, 3}), {.reduction = Reduction::none});
  add_cross_entropy(samples, "one row, longer than two vectors", {37}, classes({21}, {}),
                    {.label_smoothing = 0.1});
  add_cross_entropy(samples, "one class", {3, 1}, classes({0, 0, 0}, {3}), {});
  add_cross_entropy(samples, "no rows", {0, 3}, classes({}, {0}), {.reduction = Reduction::sum});
}

Sample transposed_logits() {
  return {"cross_entropy",
          "logits and targets are views",
          {values({7, 5}), classes({2, 9, 0, 9, 6}, {5})},
          [](const Inputs& x) {
            return cross_entropy(slice(transpose(x[0]), 0, 0, 5, 2), slice(x[1], 0, 0, 5, 2),
                                 {.reduction = Reduction::sum});
          },
          []<class T>(const Arguments<T>& x) {
            const List<T> from = x[0].values;
            List<T> rows;  // columns 0, 2 and 4
            for (Count j = 0; j < 5; j += 2)
              for (Count i = 0; i < 7; ++i) rows.push_back(from[i * 5 + j]);
            return nll_of(log_softmax_of(rows, 7), 7, {2, 0, 6}, {}, {.reduction = Reduction::sum});
          }};
}

Sample soft(const char* what, const Shape& shape, Reduction reduction) {
  const Count V = static_cast<Count>(shape[shape.rank() - 1]);
  return {"log_softmax",
          what,
          {values(shape), positive(shape, 1)},
          [=](const Inputs& x) { return cross_entropy_soft(x[0], x[1], reduction); },
          [=]<class T>(const Arguments<T>& x) {
            const List<T> log_p = log_softmax_of(x[0].values, V), p = x[1].values;
            List<T> each(log_p.size() / V);
            for (Count i = 0; i < log_p.size(); ++i) each[i / V] -= p[i] * log_p[i];
            return reduced(each, reduction, static_cast<double>(each.size()));
          },
          {},
          true,
          true,
          false,
          "cross_entropy_soft"};
}

struct Pair {
  const char* name;
  const char* reaches;
  Tensor (*f)(const Tensor& x, const Tensor& target, Reduction reduction);
  Generic<OfTwo> of_element;
};

Tensor huber_half(const Tensor& x, const Tensor& t, Reduction r) {
  return huber_loss(x, t, 0.5, r);
}

template <class T>
T huber_half_of(const T& x, const T& t) {
  const T d = math::abs(x - t);
  return d <= 0.5 ? 0.5 * d * d : 0.5 * (d - 0.25);
}

template <class T>
T bce_of(const T& x, const T& t) {
  const T p = 1 / (1 + math::exp(-x));
  return -t * math::log(p) - (1 - t) * math::log(1 - p);
}

void add_pairs(Samples& samples) {
  const std::vector<Pair> pairs = {
      {"mse_loss", "square", mse_loss, [](auto x, auto t) { return (x - t) * (x - t); }},
      {"l1_loss", "abs", l1_loss, [](auto x, auto t) { return math::abs(x - t); }},
      {"huber_loss", "clamp", huber_half, [](auto x, auto t) { return huber_half_of(x, t); }},
      {"bce_with_logits", "softplus", bce_with_logits, [](auto x, auto t) { return bce_of(x, t); }},
      {"kl_div", "masked_fill", kl_div, [](auto q, auto t) { return t * (math::log(t) - q); }},
  };
  for (const Pair& p : pairs) {
    const auto add = [&](const char* what, const Shape& shape, Reduction reduction) {
      // All magnitudes differ, so no difference q − t is at the kink of |q − t|.
      samples.push_back({p.reaches,
                         what,
                         {values(shape, 2), positive(shape, 3)},
                         [=](const Inputs& x) { return p.f(x[0], x[1], reduction); },
                         [=]<class T>(const Arguments<T>& x) {
                           const List<T> u = x[0].values, v = x[1].values;
                           List<T> each;
                           for (Count i = 0; i < u.size(); ++i)
                             each.push_back(p.of_element(u[i], v[i]));
                           return reduced(each, reduction, static_cast<double>(u.size()));
                         },
                         {},
                         true,
                         true,
                         false,
                         p.name});
    };
    add("mean", {3, 5}, Reduction::mean);
    add("sum", {3, 5}, Reduction::sum);
    add("each", {3, 5}, Reduction::none);
    add("rank 0", {}, Reduction::mean);
    add("no elements", {0, 3}, Reduction::sum);
  }
}

}  // namespace

Samples loss_samples() {
  Samples samples;
  add_all_cross_entropies(samples);
  samples.push_back(transposed_logits());
  samples.push_back(soft("mean", {2, 3, 5}, Reduction::mean));
  samples.push_back(soft("each", {3, 5}, Reduction::none));
  samples.push_back(soft("one row, sum", {7}, Reduction::sum));
  add_pairs(samples);
  return samples;
}

}  // namespace gradus::testing
