#include <cmath>

#include "gradus/ops/batch_norm.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/ops/normalization.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing {
namespace {

using Count = std::size_t;

template <class T>
List<T> numbers(const Arguments<T>& x, Count i) {
  return x.size() > i ? x[i].values : List<T>{};
}

template <class T>
T or_else(const List<T>& v, Count i, double otherwise) {
  return v.empty() ? T(otherwise) : v[i];
}

template <class T>
T squared(const T& x) {
  return x * x;
}

/// w and b may be empty.
template <class T>
List<T> layer_norm_of(const List<T>& x, Count n, const List<T>& w, const List<T>& b, double eps) {
  List<T> y;
  for (Count row = 0; n > 0 && row < x.size() / n; ++row) {
    const T* v = x.data() + row * n;
    T mean = 0, variance = 0;
    for (Count i = 0; i < n; ++i) mean += v[i] / static_cast<double>(n);
    for (Count i = 0; i < n; ++i) variance += squared(v[i] - mean) / static_cast<double>(n);
    for (Count i = 0; i < n; ++i)
      y.push_back((v[i] - mean) / math::sqrt(variance + eps) * or_else(w, i, 1) + or_else(b, i, 0));
  }
  return y;
}

template <class T>
List<T> rms_norm_of(const List<T>& x, Count n, const List<T>& w, double eps) {
  List<T> y;
  for (Count row = 0; n > 0 && row < x.size() / n; ++row) {
    const T* v = x.data() + row * n;
    T squares = 0;
    for (Count i = 0; i < n; ++i) squares += v[i] * v[i];
    const T rms = math::sqrt(squares / static_cast<double>(n) + eps);
    for (Count i = 0; i < n; ++i) y.push_back(v[i] / rms * or_else(w, i, 1));
  }
  return y;
}

/// x [N, C, L].
template <class T>
List<T> batch_norm_of(const List<T>& x, Count N, Count C, Count L, const List<T>& w,
                      const List<T>& b, double eps) {
  List<T> y(x.size());
  for (Count c = 0; c < C; ++c) {
    T total = 0, squares = 0;
    for (Count i = 0; i < N; ++i)
      for (Count l = 0; l < L; ++l) total += x[(i * C + c) * L + l];
    const double n = static_cast<double>(N * L);
    const T mean = total / n;
    for (Count i = 0; i < N; ++i)
      for (Count l = 0; l < L; ++l) squares += squared(x[(i * C + c) * L + l] - mean);
    for (Count i = 0; i < N; ++i)
      for (Count l = 0; l < L; ++l) {
        const Count at = (i * C + c) * L + l;
        y[at] =
            (x[at] - mean) / math::sqrt(squares / n + eps) * or_else(w, c, 1) + or_else(b, c, 0);
      }
  }
  return y;
}

template <class T>
List<T> turned(const List<T>& x, Count rows, Count columns) {
  List<T> y;
  for (Count j = 0; j < columns; ++j)
    for (Count i = 0; i < rows; ++i) y.push_back(x[i * columns + j]);
  return y;
}

void add_layer_norm(Samples& samples) {
  const auto add = [&](const char* what, const Inputs& inputs, double eps) {
    const Count n = inputs[0].rank() == 0 ? 1 : static_cast<Count>(inputs[0].size(-1));
    samples.push_back({"layer_norm", what, inputs,
                       [eps](const Inputs& x) {
                         return layer_norm(x[0], x.size() > 1 ? x[1] : Tensor(),
                                           x.size() > 2 ? x[2] : Tensor(), eps);
                       },
                       [n, eps]<class T>(const Arguments<T>& x) {
                         return layer_norm_of(numbers(x, 0), n, numbers(x, 1), numbers(x, 2), eps);
                       }});
  };
  add("three axes, weight and bias", {values({2, 3, 5}), values({5}, 1), values({5}, 2)}, 1e-5);
  add("no weight and no bias, rank 1", {values({7})}, 0.25);
  add("only a weight", {values({3, 5}), values({5}, 1)}, 1e-5);
  add("a row longer than two vectors", {values({1, 37}), values({37}, 1), values({37}, 2)}, 1e-5);
  // dx is 0, but is computed as the difference of two products. A small eps would magnify the
  // rounding error.
  add("rows of one element", {values({3, 1}), values({1}, 1), values({1}, 2)}, 0.5);
  add("no rows", {values({0, 3}), values({3}, 1), values({3}, 2)}, 1e-5);
  samples.push_back({"layer_norm",
                     "only a bias",
                     {values({3, 5}), values({5}, 1)},
                     [](const Inputs& x) { return layer_norm(x[0], {}, x[1]); },
                     []<class T>(const Arguments<T>& x) {
                       return layer_norm_of(numbers(x, 0), 5, List<T>{}, numbers(x, 1), 1e-5);
                     }});
  samples.push_back({"layer_norm",
                     "a transposed view, a strided weight",
                     {values({5, 3}), values({10}, 1), values({1}, 2)},
                     [](const Inputs& x) {
                       return layer_norm(transpose(x[0]), slice(x[1], 0, 1, 10, 2),
                                         expand(x[2], {5}));
                     },
                     []<class T>(const Arguments<T>& x) {
                       const List<T> from = numbers(x, 1);
                       List<T> w;
                       for (Count i = 1; i < 10; i += 2) w.push_back(from[i]);
                       const List<T> b(5, numbers(x, 2)[0]);
                       return layer_norm_of(turned(numbers(x, 0), 5, 3), 5, w, b, 1e-5);
                     }});
}

void add_rms_norm(Samples& samples) {
  const auto add = [&](const char* what, const Inputs& inputs, double eps) {
    const Count n = static_cast<Count>(inputs[0].size(-1));
    samples.push_back(
        {"rms_norm", what, inputs,
         [eps](const Inputs& x) { return rms_norm(x[0], x.size() > 1 ? x[1] : Tensor(), eps); },
         [n, eps]<class T>(const Arguments<T>& x) {
           return rms_norm_of(numbers(x, 0), n, numbers(x, 1), eps);
         }});
  };
  add("three axes, weight", {values({2, 3, 5}), values({5}, 1)}, 1e-5);
  add("no weight, rank 1", {values({7})}, 0.25);
  add("a row longer than two vectors", {values({1, 37}), values({37}, 1)}, 1e-5);
  // With a small eps, y would be the sign of x, and dx would be only rounding error.
  add("rows of one element", {values({3, 1}), values({1}, 1)}, 0.5);
  add("no rows", {values({0, 3}), values({3}, 1)}, 1e-5);
  samples.push_back({"rms_norm",
                     "a transposed view",
                     {values({5, 3}), values({5}, 1)},
                     [](const Inputs& x) { return rms_norm(transpose(x[0]), x[1]); },
                     []<class T>(const Arguments<T>& x) {
                       return rms_norm_of(turned(numbers(x, 0), 5, 3), 5, numbers(x, 1), 1e-5);
                     }});
}

/// In training mode, batch_norm writes to the running statistics, so each call creates new ones.
Tensor trained(const Tensor& x, const Tensor& w, const Tensor& b, double eps) {
  const std::int64_t channels = x.size(1);
  return batch_norm(x, w, b, zeros({channels}, x.dtype()), ones({channels}, x.dtype()), true,
                    {.eps = eps});
}

void add_batch_norm(Samples& samples) {
  const auto add = [&](const char* what, const Inputs& inputs, Count N, Count C, Count L,
                       double eps) {
    samples.push_back({"batch_norm", what, inputs,
                       [eps](const Inputs& x) {
                         return trained(x[0], x.size() > 1 ? x[1] : Tensor(),
                                        x.size() > 2 ? x[2] : Tensor(), eps);
                       },
                       [=]<class T>(const Arguments<T>& x) {
                         return batch_norm_of(numbers(x, 0), N, C, L, numbers(x, 1), numbers(x, 2),
                                              eps);
                       }});
  };
  add("training, [N, C]", {values({5, 3}), values({3}, 1), values({3}, 2)}, 5, 3, 1, 1e-5);
  add("training, [N, C, L]", {values({2, 3, 5}), values({3}, 1), values({3}, 2)}, 2, 3, 5, 1e-5);
  add("training, no weight and no bias", {values({3, 2})}, 3, 2, 1, 0.25);
  add("training, one channel, longer than two vectors", {values({1, 1, 37}), values({1}, 1)}, 1, 1,
      37, 1e-5);
  samples.push_back({"batch_norm",
                     "training, a permuted view",
                     {values({5, 3, 2}), values({3}, 1)},
                     [](const Inputs& x) {
                       return trained(permute(x[0], {2, 1, 0}), x[1], {}, 1e-5);
                     },
                     []<class T>(const Arguments<T>& x) {
                       const List<T> from = numbers(x, 0);
                       List<T> other;  // [2, 3, 5]
                       for (Count i = 0; i < 2; ++i)
                         for (Count c = 0; c < 3; ++c)
                           for (Count l = 0; l < 5; ++l) other.push_back(from[(l * 3 + c) * 2 + i]);
                       return batch_norm_of(other, 2, 3, 5, numbers(x, 1), List<T>{}, 1e-5);
                     }});
  const Tensor mean = values({3}, 5), variance = positive({3}, 6);
  samples.push_back(
      {"multiply",
       "batch_norm in evaluation, [N, C, L]",
       {values({2, 3, 5}), values({3}, 1), values({3}, 2)},
       [=](const Inputs& x) {
         const Dtype dtype = x[0].dtype();
         return batch_norm(x[0], x[1], x[2], mean.to(dtype), variance.to(dtype), false);
       },
       [=]<class T>(const Arguments<T>& x) {
         const List<T> from = numbers(x, 0), w = numbers(x, 1), b = numbers(x, 2);
         const List<double> mu = mean.to_vector<double>(), var = variance.to_vector<double>();
         List<T> y;
         for (Count i = 0; i < from.size(); ++i) {
           const Count c = i / 5 % 3;
           y.push_back((from[i] - mu[c]) / std::sqrt(var[c] + 1e-5) * w[c] + b[c]);
         }
         return y;
       },
       {},
       true,
       true,
       false,
       "batch_norm"});
}

}  // namespace

Samples norm_samples() {
  Samples samples;
  add_layer_norm(samples);
  add_rms_norm(samples);
  add_batch_norm(samples);
  return samples;
}

}  // namespace gradus::testing
