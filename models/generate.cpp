// A token is drawn from softmax(logits / temperature) of the top_k largest, by one uniform number:
// the first token at which the weights, summed from the largest down, exceed it.
#include "gradus/models/generate.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "gradus/ops/create.h"
#include "gradus/ops/movement.h"

namespace gradus::nn {

std::int64_t sample_token(const Tensor& logits, const SamplingOptions& options, double uniform) {
  require<ShapeError>(logits.rank() == 1 && logits.numel() > 0,
                      "sample_token: wants logits [V], not ", logits.shape());
  require(options.temperature >= 0 && std::isfinite(options.temperature),
          "sample_token: a temperature of ", options.temperature, ": must be 0 or positive");
  require(options.top_k >= 0, "sample_token: top_k ", options.top_k,
          ": must be 0 (all) or positive");
  const std::vector<double> scores = logits.astype(Dtype::f64).to_vector<double>();
  for (const double score : scores)
    require(!std::isnan(score), "sample_token: a logit is NaN: the model has diverged");
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  if (options.temperature == 0) return static_cast<std::int64_t>(order[0]);
  if (options.top_k > 0 && options.top_k < std::ssize(order))
    order.resize(static_cast<std::size_t>(options.top_k));

  std::vector<double> weights;
  for (const std::size_t id : order)
    weights.push_back(std::exp((scores[id] - scores[order[0]]) / options.temperature));
  double left = uniform * std::accumulate(weights.begin(), weights.end(), 0.0);
  for (std::size_t i = 0; i < order.size(); ++i)
    if ((left -= weights[i]) < 0) return static_cast<std::int64_t>(order[i]);
  return static_cast<std::int64_t>(order.back());  // rounding left a crumb
}

std::vector<std::int64_t> generate(const GPT& model, std::vector<std::int64_t> prompt,
                                   std::int64_t count, const SamplingOptions& options,
                                   const RandomStream& random,
                                   FunctionRef<void(std::int64_t)> on_token) {
  require(!prompt.empty(), "generate: the prompt has no token: give at least one");
  const NoGrad off;
  std::vector<std::int64_t> drawn;
  for (std::int64_t n = 0; n < count; ++n) {
    const std::int64_t T = std::min(std::ssize(prompt), model.options.context);
    const std::span<const std::int64_t> seen = std::span(prompt).last(static_cast<std::size_t>(T));
    const Tensor logits = model(from(seen, {1, T}));          // [1, T, V]
    const Tensor last = select(select(logits, 0, 0), 0, -1);  // [V]
    drawn.push_back(sample_token(last, options, random.uniform(n)));
    prompt.push_back(drawn.back());
    on_token(drawn.back());
  }
  return drawn;
}

}  // namespace gradus::nn
