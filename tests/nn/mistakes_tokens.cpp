// What the layers refuse that mix tokens other than by softmax attention.
#include "gradus/nn/position.h"
#include "gradus/ops/create.h"
#include "gradus/tests/support/mistakes.h"

namespace gradus::testing {

Mistakes token_layer_mistakes() {
  const std::vector<std::int64_t> three = {0, 1, 2};
  return {
      {"nn::RelativeBias", "RelativeBias: 0 heads: needs at least 1", [] { nn::RelativeBias(0); }},
      {"nn::RelativeBias", "relative_bucket: 7 buckets: each direction needs an even number of",
       [] { nn::RelativeBias(2, {.count = 7}); }},
      {"nn::RelativeBias", "relative_bucket: a max_distance of 8 is within the 8 buckets that hold",
       [] { nn::RelativeBias(2, {.max_distance = 8}); }},
      {"nn::RelativeBias",
       "relative_buckets: 3 query and 3 key positions are not as many for each of 2 examples",
       [=] { nn::RelativeBias(2)(three, three, 2); }},
  };
}

}  // namespace gradus::testing
