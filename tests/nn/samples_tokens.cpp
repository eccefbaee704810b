// Samples of the layers that mix tokens other than by softmax attention.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "gradus/nn/position.h"
#include "gradus/tests/nn/layer_sample.h"

namespace gradus::testing {
namespace {

using naive::at;

/// Four buckets one way hold the distances 0, 1, 2 … 3, and all beyond.
Sample relative_bias(const char* what, std::vector<std::int64_t> queries,
                     std::vector<std::int64_t> keys, std::int64_t examples) {
  const RelativeBuckets buckets{.count = 4, .max_distance = 4, .bidirectional = false};
  return layer(
      "embedding", what, {}, [=] { return nn::RelativeBias(3, buckets); },
      [=](const nn::RelativeBias& m, const Inputs&) { return m(queries, keys, examples); },
      [=]<class T>(const Arguments<T>&, const Parameters<T>& p) {
        const std::int64_t B = std::max<std::int64_t>(examples, 1), Q = std::ssize(queries) / B,
                           K = std::ssize(keys) / B;
        List<T> y;
        for (std::int64_t b = 0; b < B; ++b)
          for (std::int64_t h = 0; h < 3; ++h)
            for (std::int64_t i = 0; i < Q; ++i)
              for (std::int64_t j = 0; j < K; ++j) {
                const std::int64_t back = queries[at(b * Q + i)] - keys[at(b * K + j)];
                const std::int64_t bucket = back <= 0 ? 0 : back == 1 ? 1 : back == 2 ? 2 : 3;
                y.push_back(p[0][at(bucket * 3 + h)]);
              }
        return y;
      });
}

}  // namespace

Samples token_layer_samples() {
  Samples all;
  all.push_back(relative_bias("RelativeBias, five keys", {2, 7}, {0, 1, 2, 3, 6}, 0));
  all.push_back(
      relative_bias("RelativeBias, examples with positions of their own", {3, 5}, {0, 2, 4, 4}, 2));
  return all;
}

}  // namespace gradus::testing
