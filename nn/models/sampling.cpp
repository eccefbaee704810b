// Inverse transform sampling from softmax(logits / temperature), most likely token first.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "gradus/engine/base/math64.h"
#include "gradus/nn/models/decode.h"
#include "gradus/ops/create.h"
#include "gradus/ops/sort.h"

namespace gradus::nn {
namespace {

void check_options(const SamplingOptions& o) {
  require(o.temperature >= 0 && std::isfinite(o.temperature),
          "sample_token: temperature must be finite and not negative, got ", o.temperature);
  require(o.top_k >= 0, "sample_token: top_k must be 0 (all) or positive, got ", o.top_k);
  require(0 < o.top_p && o.top_p <= 1, "sample_token: top_p must be in (0, 1], got ", o.top_p);
  require(0 <= o.min_p && o.min_p <= 1, "sample_token: min_p must be in [0, 1], got ", o.min_p);
  require(o.repetition_penalty > 0 && std::isfinite(o.repetition_penalty),
          "sample_token: repetition_penalty must be positive and finite, got ",
          o.repetition_penalty);
}

std::vector<double> scores_of(const Tensor& logits, const SamplingOptions& options,
                              const Tokens& seen) {
  std::vector<double> scores = logits.to(Dtype::f64).to_vector<double>();
  for (const double score : scores)
    require(!std::isnan(score),
            "sample_token: a logit is NaN, so the model has diverged. Use an earlier checkpoint.");
  if (options.repetition_penalty == 1) return scores;
  for (const std::int64_t token : std::set<std::int64_t>(seen.begin(), seen.end())) {
    require<IndexError>(0 <= token && token < std::ssize(scores), "sample_token: the seen token ",
                        token, " is out of range for ", scores.size(), " logits");
    double& score = scores[static_cast<std::size_t>(token)];
    score = score > 0 ? score / options.repetition_penalty : score * options.repetition_penalty;
  }
  return scores;
}

/// Returns how many weights pass the limits. Weights are in descending order; the first is 1.
std::size_t kept(const std::vector<double>& weights, const SamplingOptions& options) {
  std::size_t n = weights.size();
  if (options.top_k > 0) n = std::min(n, static_cast<std::size_t>(options.top_k));
  const auto end = weights.begin() + static_cast<std::ptrdiff_t>(n);
  const double wanted = options.top_p * std::accumulate(weights.begin(), end, 0.0);
  double sum = 0;
  for (std::size_t i = 0; i < n && options.top_p < 1; ++i)
    if ((sum += weights[i]) >= wanted) n = i + 1;
  while (weights[n - 1] < options.min_p) --n;
  return n;
}

}  // namespace

std::int64_t sample_token(const Tensor& logits, const SamplingOptions& options, double uniform,
                          const Tokens& seen) {
  require<ShapeError>(logits.rank() == 1 && logits.numel() > 0,
                      "sample_token: logits must be [V] and not empty, got ", logits.shape());
  check_options(options);
  const SortResult sorted = sort(tensor(scores_of(logits, options, seen)), 0, true);
  const auto ids = sorted.indices.to_vector<std::int64_t>();
  if (options.temperature == 0) return ids[0];

  const auto scores = sorted.values.to_vector<double>();
  std::vector<double> weights;
  for (const double score : scores)
    weights.push_back(math64::exp((score - scores[0]) / options.temperature));
  weights.resize(kept(weights, options));
  double left = uniform * std::accumulate(weights.begin(), weights.end(), 0.0);
  for (std::size_t i = 0; i < weights.size(); ++i)
    if ((left -= weights[i]) < 0) return ids[i];
  return ids[weights.size() - 1];  // rounding errors can leave a positive remainder
}

}  // namespace gradus::nn
