#include "gradus/ops/position_bias.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "gradus/engine/base/math64.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/shape_ops.h"

namespace gradus {
namespace {

/// Computes value(key − query) for each pair, as [T, S] or [examples, T, S].
template <class Value>
Tensor for_each_pair(const char* name, PositionList queries, PositionList keys,
                     std::int64_t examples, Value value) {
  require(examples >= 0, name, ": examples must be at least 0 (all share the positions), got ",
          examples);
  const std::size_t B = examples == 0 ? 1 : static_cast<std::size_t>(examples);
  require<ShapeError>(queries.size() % B == 0 && keys.size() % B == 0, name, ": ", queries.size(),
                      " query and ", keys.size(), " key positions cannot be divided equally among ",
                      examples, " examples");
  const std::size_t T = queries.size() / B, S = keys.size() / B;
  std::vector<decltype(value(std::int64_t{0}))> out;
  out.reserve(B * T * S);
  for (std::size_t b = 0; b < B; ++b)
    for (std::size_t i = 0; i < T; ++i)
      for (std::size_t j = 0; j < S; ++j)
        out.push_back(value(keys[b * S + j] - queries[b * T + i]));
  const auto rows = static_cast<std::int64_t>(T), columns = static_cast<std::int64_t>(S);
  return tensor(out, examples == 0 ? Shape{rows, columns} : Shape{examples, rows, columns});
}

/// Returns ALiBi slope i, for a number of heads that is a power of two.
double slope(std::int64_t i, std::int64_t heads) {
  return math64::pow(2, -8 * static_cast<double>(i + 1) / static_cast<double>(heads));
}

void check_buckets(const RelativeBuckets& o) {
  const std::int64_t one_way = o.bidirectional ? o.count / 2 : o.count;
  require(one_way >= 2 && one_way % 2 == 0 && o.count % 2 == 0, "relative_bucket: each ",
          "direction needs an even number of buckets, got ", o.count, " in total");
  require(o.max_distance > one_way / 2, "relative_bucket: max_distance must be larger than the ",
          one_way / 2, " buckets that hold one distance each, got ", o.max_distance);
}

}  // namespace

Tensor position_distances(PositionList queries, PositionList keys, std::int64_t examples,
                          Dtype dtype) {
  const Tensor apart = kernel::convert(
      for_each_pair("position_distances", queries, keys, examples,
                    [](std::int64_t d) { return std::abs(static_cast<double>(d)); }),
      dtype);
  return examples == 0 ? apart : unsqueeze(apart, 1);
}

Tensor alibi_slopes(std::int64_t heads, Dtype dtype) {
  require(heads > 0, "alibi_slopes: heads must be at least 1, got ", heads);
  std::int64_t power = 1;
  while (2 * power <= heads) power *= 2;
  std::vector<double> slopes;
  for (std::int64_t i = 0; i < power; ++i) slopes.push_back(slope(i, power));
  for (std::int64_t i = 0; i < heads - power; ++i) slopes.push_back(slope(2 * i, 2 * power));
  return kernel::convert(tensor(slopes, {heads}), dtype);
}

Tensor alibi_bias(std::int64_t heads, PositionList queries, PositionList keys,
                  std::int64_t examples, Dtype dtype) {
  const Tensor slopes = reshape(alibi_slopes(heads, dtype), {heads, 1, 1});
  return -slopes * position_distances(queries, keys, examples, dtype);
}

std::int64_t relative_bucket(std::int64_t key_minus_query, const RelativeBuckets& options) {
  check_buckets(options);
  const std::int64_t one_way = options.bidirectional ? options.count / 2 : options.count;
  const bool after = key_minus_query > 0;
  const std::int64_t first = options.bidirectional && after ? one_way : 0;
  const std::int64_t distance =
      after ? (options.bidirectional ? key_minus_query : 0) : -key_minus_query;
  const std::int64_t exact = one_way / 2;
  if (distance < exact) return first + distance;
  const auto ratio = [exact](std::int64_t d) {
    return math64::log(static_cast<double>(d) / static_cast<double>(exact));
  };
  const double part = ratio(distance) / ratio(options.max_distance);
  const auto wide = static_cast<std::int64_t>(part * static_cast<double>(one_way - exact));
  return first + std::min(exact + wide, one_way - 1);
}

Tensor relative_buckets(PositionList queries, PositionList keys, const RelativeBuckets& options,
                        std::int64_t examples) {
  check_buckets(options);
  return for_each_pair("relative_buckets", queries, keys, examples,
                       [&](std::int64_t d) { return relative_bucket(d, options); });
}

}  // namespace gradus
