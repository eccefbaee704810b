#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "world.h"

namespace gradus::examples {

using Scores = std::vector<double>;  // scores of items 0 … kItems; 0 is padding

/// Means over users of 1 (hit_rate) and of 1 / log2(1 + rank) (ndcg), where ranks above 10 count as
/// 0 (Järvelin & Kekäläinen 2002).
struct Quality {
  double hit_rate = 0, ndcg = 0;
};
constexpr std::int64_t kTop = 10;

/// Returns the rank, from 1. Other items with the same score rank higher.
std::int64_t rank_of(std::int64_t item, const Scores& scores);
Quality quality_of(const std::vector<std::int64_t>& ranks);

Scores popularity(const std::vector<History>& histories);

/// Predicts the items that most often followed the last two items, or the last one. Counts for the
/// last item break ties, then popularity.
class Markov {
 public:
  explicit Markov(const std::vector<History>& histories);
  Scores after(std::int64_t last) const;
  Scores after(std::int64_t before, std::int64_t last) const;

 private:
  Scores popularity_;                                               // scaled to less than one count
  std::vector<Scores> next_;                                        // [last][next]
  std::map<std::pair<std::int64_t, std::int64_t>, History> pairs_;  // (before, last) → next
};

}  // namespace gradus::examples
