#include <map>
#include <string>
#include <vector>

#include "gradus/engine/grad_mode.h"
#include "gradus/ops/conv.h"
#include "gradus/ops/create.h"
#include "gradus/ops/derivatives.h"
#include "gradus/ops/einsum.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/support/naive.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing {
namespace {

using naive::at;
using naive::numbers;

/// x [B, Cin, L], weight [Cout, Cin / groups, K], bias [Cout] or empty → [B, Cout, Lout]
template <class T>
List<T> convolved(const Argument<T>& x, const Argument<T>& weight, const List<T>& bias,
                  const Conv1dOptions& o) {
  const std::int64_t B = x.shape[0], Cin = x.shape[1], L = x.shape[2], Cout = weight.shape[0],
                     in = weight.shape[1], K = weight.shape[2];
  const std::int64_t count = (L + 2 * o.padding - o.dilation * (K - 1) - 1) / o.stride + 1;
  List<T> y;
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t out = 0; out < Cout; ++out)
      for (std::int64_t t = 0; t < count; ++t) {
        T sum = bias.empty() ? T(0) : bias[at(out)];
        for (std::int64_t c = 0; c < in; ++c)
          for (std::int64_t k = 0; k < K; ++k) {
            const std::int64_t place = t * o.stride + k * o.dilation - o.padding;
            const std::int64_t channel = out / (Cout / o.groups) * in + c;
            if (place >= 0 && place < L)
              sum += weight.values[at((out * in + c) * K + k)] *
                     x.values[at((b * Cin + channel) * L + place)];
          }
        y.push_back(sum);
      }
  return y;
}

Sample convolution(const char* op, const char* what, Inputs inputs, const Conv1dOptions& o,
                   bool formula = false) {
  return {.op = op,
          .what = what,
          .inputs = std::move(inputs),
          .f =
              [=](const Inputs& in) {
                const FormulaScope scope(formula || formula_wanted());
                return conv1d(in[0], in[1], in.size() > 2 ? in[2] : Tensor(), o);
              },
          .reference =
              [=]<class T>(const Arguments<T>& in) {
                return convolved(in[0], in[1], in.size() > 2 ? numbers(in[2]) : List<T>{}, o);
              },
          .function = "conv1d"};
}

void add_convolutions(Samples& all) {
  const Tensor x = values({2, 3, 7});
  all.push_back(convolution("linear", "unequal primes", {x, values({5, 3, 2}, 1)}, {}));
  all.push_back(convolution("unfold", "stride, dilation, padding, bias",
                            {x, values({2, 3, 3}, 1), values({2}, 2)},
                            {.stride = 2, .dilation = 2, .padding = 1}));
  all.push_back(
      convolution("linear", "one tap", {x, values({2, 3, 1}, 1), values({2}, 2)}, {.stride = 3}));
  all.push_back(convolution("depthwise_conv1d", "all sizes 1",
                            {values({1, 1, 1}), values({1, 1, 1}, 1), values({1}, 2)}, {}));
  all.push_back(convolution("unfold", "an input as long as the taps, padding at both ends",
                            {values({1, 2, 1}), values({3, 2, 5}, 1)}, {.padding = 2}));
  all.push_back(
      convolution("linear", "no examples", {values({0, 3, 5}), values({2, 3, 3}, 1)}, {}));
  all.push_back(convolution("matmul", "two groups",
                            {values({2, 4, 5}), values({6, 2, 3}, 1), values({6}, 2)},
                            {.padding = 1, .groups = 2}));
  all.push_back(convolution("matmul", "two outputs for each channel", {x, values({6, 1, 2}, 1)},
                            {.stride = 2, .groups = 3}));
  all.push_back(convolution("matmul", "one output for every two channels",
                            {values({2, 4, 5}), values({2, 2, 3}, 1), values({2}, 2)},
                            {.groups = 2}));
  for (const bool formula : {false, true}) {
    const char* op = formula ? "unfold" : "depthwise_conv1d";
    all.push_back(convolution(op, "depthwise, a stride shorter than the taps",
                              {x, values({3, 1, 3}, 1)}, {.stride = 2, .groups = 3}, formula));
    all.push_back(convolution(op, "depthwise, with bias", {x, values({3, 1, 5}, 1), values({3}, 2)},
                              {.padding = 2, .groups = 3}, formula));
    all.push_back(convolution(op, "depthwise, stride and dilation", {x, values({3, 1, 2}, 1)},
                              {.stride = 2, .dilation = 3, .groups = 3}, formula));
  }
  all.push_back({.op = "fold",
                 .what = "the gradient of x as a function of dy and the weight",
                 .inputs = {values({1, 3, 4}), values({3, 2, 2}, 1)},
                 .f =
                     [](const Inputs& in) {
                       const auto of_x = [&](const Inputs& x) { return conv1d(x[0], in[1]); };
                       const Tensor x = zeros({1, 2, 5}, in[0].dtype());
                       return vjp(of_x, {x}, in[0], {.create_graph = true}).gradients[0];
                     },
                 .reference =
                     []<class T>(const Arguments<T>& in) {
                       List<T> dx(10, T(0));
                       for (std::int64_t o = 0; o < 3; ++o)
                         for (std::int64_t t = 0; t < 4; ++t)
                           for (std::int64_t c = 0; c < 2; ++c)
                             for (std::int64_t k = 0; k < 2; ++k)
                               dx[at(c * 5 + t + k)] += in[0].values[at(o * 4 + t)] *
                                                        in[1].values[at((o * 2 + c) * 2 + k)];
                       return dx;
                     },
                 .function = "conv1d"});
}

/// Computes an einsum by summing over all values of all letters. Does not support "...".
template <class T>
List<T> summed(const std::vector<std::string>& terms, const std::string& result,
               const Arguments<T>& in) {
  std::map<char, std::int64_t> sizes;
  std::string letters = result;
  for (std::size_t k = 0; k < terms.size(); ++k)
    for (std::size_t i = 0; i < terms[k].size(); ++i) {
      sizes[terms[k][i]] = std::max(sizes[terms[k][i]], in[k].shape[i]);
      if (letters.find(terms[k][i]) == std::string::npos) letters += terms[k][i];
    }
  std::int64_t count = 1, results = 1;
  for (const char c : letters) count *= sizes[c];
  for (const char c : result) results *= sizes[c];
  List<T> y(at(results), T(0));
  for (std::int64_t n = 0; n < count; ++n) {
    std::map<char, std::int64_t> value;
    std::int64_t rest = n;
    for (std::size_t i = letters.size(); i-- > 0; rest /= sizes[letters[i]])
      value[letters[i]] = rest % sizes[letters[i]];
    T product = 1;
    for (std::size_t k = 0; k < terms.size(); ++k) {
      std::int64_t place = 0;
      for (std::size_t i = 0; i < terms[k].size(); ++i)
        place = place * in[k].shape[i] + value[terms[k][i]] % in[k].shape[i];
      product *= in[k].values[at(place)];
    }
    y[at(n / (count / results))] += product;
  }
  return y;
}

/// `terms` and `result` contain letters in place of "...".
Sample named(const char* op, const char* formula, std::vector<std::string> terms,
             const std::string& result, Inputs inputs) {
  return {.op = op,
          .what = formula,
          .inputs = std::move(inputs),
          .f =
              [=](const Inputs& in) {
                return in.size() == 1 ? einsum(formula, in[0]) : einsum(formula, in[0], in[1]);
              },
          .reference = [=]<class T>(const Arguments<T>& in) { return summed(terms, result, in); },
          .function = "einsum"};
}

void add_einsums(Samples& all) {
  const auto two = [&](const char* op, const char* formula, std::vector<std::string> terms,
                       const std::string& result, const Shape& a, const Shape& b) {
    all.push_back(named(op, formula, std::move(terms), result, {values(a), values(b, 1)}));
  };
  two("matmul", "bhtd,bhsd->bhts", {"bhtd", "bhsd"}, "bhts", {2, 3, 2, 5}, {2, 3, 3, 5});
  two("matmul", "ij,jk->ik", {"ij", "jk"}, "ik", {3, 5}, {5, 2});
  two("matmul", "ij, jk -> ki", {"ij", "jk"}, "ki", {3, 5}, {5, 2});
  two("matmul", "aibj,jbc->cai", {"aibj", "jbc"}, "cai", {2, 3, 2, 3}, {3, 2, 5});
  two("matmul", "i,i->", {"i", "i"}, "", {5}, {5});
  two("matmul", "bij,b->bi", {"bij", "b"}, "bi", {2, 3, 5}, {2});
  all.back().op = "multiply";
  two("multiply", "i,j->ji", {"i", "j"}, "ji", {3}, {5});
  two("multiply", "bi,bi->ib", {"bi", "bi"}, "ib", {2, 3}, {2, 3});
  two("matmul", "...ij,...jk->...ik", {"xyij", "xyjk"}, "xyik", {1, 3, 2, 3}, {2, 3, 3, 1});
  two("matmul", "i...j,kj->...ik", {"ixj", "kj"}, "xik", {2, 3, 5}, {2, 5});
  two("matmul", "...i,i...->...", {"xyi", "iy"}, "xy", {2, 3, 5}, {5, 3});
  two("matmul", "jbi,kbj->bik", {"jbi", "kbj"}, "bik", {2, 3, 5}, {7, 3, 2});
  two("matmul", "...ij,...jk->...ik", {"ij", "xyjk"}, "xyik", {2, 3}, {2, 3, 3, 1});
  two("multiply", "k,ij->ijk", {"k", "ij"}, "ijk", {5}, {2, 3});
  two("matmul", "az,AZz->aAZ", {"az", "AZz"}, "aAZ", {2, 3}, {3, 5, 3});
  two("matmul", "ij,jk->ik", {"ij", "jk"}, "ik", {3, 0}, {0, 2});
  two("matmul", "ij,jk->ik", {"ij", "jk"}, "ik", {1, 1}, {1, 1});
  all.push_back(named("sum", "bij->ji", {"bij"}, "ji", {values({2, 3, 5})}));
  all.push_back(named("permute", "ijk->kij", {"ijk"}, "kij", {values({2, 3, 5})}));
  all.push_back(named("sum", "i...->...", {"ixy"}, "xy", {values({3, 2, 5})}));
}

}  // namespace

Samples convolution_samples() {
  Samples all;
  add_convolutions(all);
  add_einsums(all);
  return all;
}

}  // namespace gradus::testing
