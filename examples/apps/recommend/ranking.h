// How good are scores of what comes next?  And scores to compare with, that need no model.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "world.h"

namespace gradus::examples {

using Scores = std::vector<double>;  // of the items 0 … kItems; that of 0, padding, is not used

/// Of one who takes the ten best items out of all: how often is the right one among them, and
/// 1 / log2(1 + its rank) if it is, else 0 (Järvelin & Kekäläinen 2002). Means over users.
struct Quality {
  double hit_rate = 0, ndcg = 0;
};
constexpr std::int64_t kTop = 10;

/// From 1; items that score the same as `item` count as better.
std::int64_t rank_of(std::int64_t item, const Scores& scores);
/// Of ranks, one a user.
Quality quality_of(const std::vector<std::int64_t>& ranks);

/// How often each item was taken.
Scores popularity(const std::vector<History>& histories);

/// Markov chains: how often each item came after the last one, or after the last two. Where two say
/// the same, one decides, then popularity.
class Markov {
 public:
  explicit Markov(const std::vector<History>& histories);
  Scores after(std::int64_t last) const;
  Scores after(std::int64_t before, std::int64_t last) const;

 private:
  Scores popularity_;                                               // below 1: less than one time
  std::vector<Scores> next_;                                        // [last][next]
  std::map<std::pair<std::int64_t, std::int64_t>, History> pairs_;  // before, last: what came
};

}  // namespace gradus::examples
