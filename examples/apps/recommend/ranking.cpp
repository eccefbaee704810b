#include "ranking.h"

#include <cmath>

namespace gradus::examples {
namespace {

std::size_t at(std::int64_t item) { return static_cast<std::size_t>(item); }

}  // namespace

std::int64_t rank_of(std::int64_t item, const Scores& scores) {
  std::int64_t rank = 0;
  for (std::int64_t other = 1; other <= kItems; ++other)
    rank += scores[at(other)] >= scores[at(item)];  // the item counts itself, so ranks begin with 1
  return rank;
}

Quality quality_of(const std::vector<std::int64_t>& ranks) {
  Quality sum;
  for (const std::int64_t rank : ranks) {
    if (rank > kTop) continue;
    sum.hit_rate += 1;
    sum.ndcg += 1 / std::log2(1 + static_cast<double>(rank));
  }
  const double users = static_cast<double>(ranks.size());
  return {sum.hit_rate / users, sum.ndcg / users};
}

Scores popularity(const std::vector<History>& histories) {
  Scores counts(at(kItems + 1), 0);
  for (const History& history : histories)
    for (const std::int64_t item : history) ++counts[at(item)];
  return counts;
}

Markov::Markov(const std::vector<History>& histories)
    : popularity_(popularity(histories)), next_(at(kItems + 1), Scores(at(kItems + 1), 0)) {
  double total = 1;
  for (const double count : popularity_) total += count;
  for (double& count : popularity_) count /= total;
  for (const History& h : histories)
    for (std::size_t i = 1; i < h.size(); ++i) {
      ++next_[at(h[i - 1])][at(h[i])];
      if (i > 1) pairs_[{h[i - 2], h[i - 1]}].push_back(h[i]);
    }
}

Scores Markov::after(std::int64_t last) const {
  Scores scores = next_[at(last)];
  for (std::size_t i = 0; i < scores.size(); ++i) scores[i] += popularity_[i];
  return scores;
}

Scores Markov::after(std::int64_t before, std::int64_t last) const {
  Scores scores = after(last);
  double total = 1;
  for (const double score : scores) total += score;
  for (double& score : scores) score /= total;
  if (const auto came = pairs_.find({before, last}); came != pairs_.end())
    for (const std::int64_t item : came->second) ++scores[at(item)];
  return scores;
}

}  // namespace gradus::examples
