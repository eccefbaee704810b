#include "gradus/ops/attention_metrics.h"

#include "gradus/ops/arithmetic.h"
#include "gradus/ops/kernels/checks.h"
#include "gradus/ops/logic.h"
#include "gradus/ops/reduce.h"

namespace gradus {

Tensor attention_entropy(const Tensor& weights) {
  check_defined("attention_entropy", weights);
  require<ShapeError>(weights.rank() >= 1,
                      "attention_entropy: the weights must have at least one axis, got []");
  const Tensor logs = log(masked_fill(weights, equal(weights, 0.0), 1));
  return -sum(weights * logs, {-1});
}

Tensor mean_attention_distance(const Tensor& weights, PositionList queries, PositionList keys,
                               std::int64_t examples) {
  check_defined("mean_attention_distance", weights);
  const Tensor apart = position_distances(queries, keys, examples, weights.dtype());
  require<ShapeError>(weights.rank() == 4 && weights.size(2) == apart.size(-2) &&
                          weights.size(3) == apart.size(-1) &&
                          (examples == 0 || weights.size(0) == examples),
                      "mean_attention_distance: weights ", weights.shape(), " do not fit ",
                      apart.size(-2), " query and ", apart.size(-1), " key positions of ", examples,
                      " examples (0 = shared). Pass one position per query and per key.");
  return sum(weights * apart, {-1});
}

}  // namespace gradus
