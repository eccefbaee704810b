// How attention backward divides its work: by key heads, and where these are few, each into parts.
// The division depends on sizes and mask alone, so the sums come out the same in every run.
#pragma once

#include <algorithm>
#include <vector>

#include "gradus/ops/attention/scores.h"

namespace gradus::kernel {

inline constexpr std::int64_t kParts = 8;  // that the work should have at least, all heads together
inline constexpr std::int64_t kPartWork = 1 << 21;  // pairs · widths below which none is worth it

/// Items [first, last) of one key head: block `item / group` of queries, query head `item % group`
/// of those that it serves. All keys that they see are among `keys`.
struct Part {
  std::int64_t b, hk, first, last;
  Range keys;
};

inline Range queries_of(const AttentionPlan& plan, std::int64_t item) {
  const std::int64_t first = item / plan.group() * block_of(plan);
  return {first, std::min(first + block_of(plan), plan.T)};
}

/// The smallest range that holds both.
inline Range around(Range a, Range b) {
  if (a.size() == 0 || b.size() == 0) return a.size() == 0 ? b : a;
  return {std::min(a.first, b.first), std::max(a.last, b.last)};
}

/// Cuts one key head's items into at most `most` parts of about equal work, `least` or more each.
inline void cut(const AttentionPlan& plan, const Part& whole, std::int64_t most, std::int64_t least,
                std::vector<Part>& parts) {
  std::vector<Range> seen;
  std::vector<std::int64_t> before{0};  // work of all items before one
  for (std::int64_t item = 0; item < whole.last; ++item) {
    const std::int64_t h = whole.hk * plan.group() + item % plan.group();
    const Range queries = queries_of(plan, item);
    Range keys{0, 0};
    std::int64_t work = before.back();
    for (const Range& span : visible_spans(plan, whole.b, h, queries))
      keys = around(keys, span), work += span.size() * queries.size() * (plan.D + plan.Dv);
    before.push_back(work), seen.push_back(keys);
  }
  const std::int64_t work = before.back();
  const std::int64_t count = std::clamp<std::int64_t>(work / least, 1, most);
  const std::int64_t share = std::max<std::int64_t>(work / count, 1);
  const auto number = [&](std::int64_t item) {  // of the part that an item belongs to
    return std::min(before[static_cast<std::size_t>(item)] / share, count - 1);
  };
  parts.push_back({whole.b, whole.hk, 0, 0, {0, 0}});
  for (std::int64_t item = 0; item < whole.last; ++item) {
    if (number(item) > number(parts.back().first))
      parts.push_back({whole.b, whole.hk, item, item, {0, 0}});
    Part& part = parts.back();
    part.last = item + 1, part.keys = around(part.keys, seen[static_cast<std::size_t>(item)]);
  }
}

/// All the work, a key head's parts one after the other.
inline std::vector<Part> parts_of(const AttentionPlan& plan, std::int64_t least = kPartWork) {
  const std::int64_t heads = plan.B * plan.Hk;
  const std::int64_t items = (plan.T + block_of(plan) - 1) / block_of(plan) * plan.group();
  std::vector<Part> parts;
  for (std::int64_t head = 0; head < heads; ++head) {
    const Part whole{head / plan.Hk, head % plan.Hk, 0, items, {0, plan.S}};
    if (heads >= kParts)
      parts.push_back(whole);
    else
      cut(plan, whole, (kParts + heads - 1) / heads, least, parts);
  }
  return parts;
}

}  // namespace gradus::kernel
