// Decoding: from a model's logits to text, one token after the other.
#pragma once

#include <cstdint>
#include <vector>

#include "gradus/base/function_ref.h"
#include "gradus/base/random.h"
#include "gradus/models/gpt.h"

namespace gradus::nn {

struct SamplingOptions {
  double temperature = 0.8;  // of the logits; 0 takes the likeliest token each time
  std::int64_t top_k = 0;    // only the k likeliest; 0: all
};

/// One token id from the logits of one position, [V]. `uniform` in [0, 1) decides.
std::int64_t sample_token(const Tensor& logits, const SamplingOptions& options, double uniform);

/// `count` tokens after `prompt` (at least one id), of which the model sees the last `context`
/// ones. on_token is told each id as it is drawn. The n-th token uses random.uniform(n).
std::vector<std::int64_t> generate(const GPT& model, std::vector<std::int64_t> prompt,
                                   std::int64_t count, const SamplingOptions& options,
                                   const RandomStream& random,
                                   FunctionRef<void(std::int64_t id)> on_token);

}  // namespace gradus::nn
