// Decoding: from a model's logits to text, one token after the other, several texts side by side.
#pragma once

#include <cstdint>
#include <vector>

#include "gradus/engine/base/function_ref.h"
#include "gradus/engine/base/random.h"
#include "gradus/nn/models/gpt.h"

namespace gradus::nn {

using Tokens = std::vector<std::int64_t>;

/// How a token is chosen. Each limit narrows what those before it left; at least one stays.
struct SamplingOptions {
  double temperature = 0.8;       // of the logits; 0 takes the likeliest token each time (greedy)
  std::int64_t top_k = 0;         // only the k likeliest; 0: all
  double top_p = 1;               // the fewest that have this much probability together; 1: all
  double min_p = 0;               // at least this part of the likeliest one's probability; 0: all
  double repetition_penalty = 1;  // > 1 makes tokens that are there already less likely
};

/// One token id from the logits of one position, [V]. `uniform` in [0, 1) decides. The penalty
/// divides positive logits of the tokens in `seen` and multiplies negative ones (Keskar et al.
/// 2019); top_p: Holtzman et al. 2020; min_p: Nguyen et al. 2024.
std::int64_t sample_token(const Tensor& logits, const SamplingOptions& options, double uniform,
                          const Tokens& seen = {});

/// A model that continues B sequences side by side.
class DecoderState {
 public:
  virtual ~DecoderState() = default;
  /// What comes next of each sequence (at the first call the prompts, of any lengths ≥ 1) → logits
  /// of the token after it, [B, V].
  virtual Tensor next(const std::vector<Tokens>& tokens) = 0;
  /// Sequence i is from now on what sequences[i] was; for beams.
  virtual void select(const std::vector<std::int64_t>& sequences) = 0;
};

/// A GPT with a cache, which keeps keys and values as `cache`. Beyond the context of learned
/// positions it sees the last `context` tokens, and is computed anew for each. If next() throws,
/// the state is as before the call.
class GPTDecoderState final : public DecoderState {
 public:
  explicit GPTDecoderState(const GPT& model, Precision cache = Precision::f32);
  Tensor next(const std::vector<Tokens>& tokens) override;
  void select(const std::vector<std::int64_t>& sequences) override;

 private:
  const GPT& model_;
  KVCache cache_;
  std::vector<Tokens> seen_;
  bool needs_refill_ = false;  // the cache: a call threw
};

struct GenerateOptions {
  std::int64_t tokens = 100;  // the most to add to each
  std::int64_t end = -1;  // a sequence ends with this token, which is part of it; −1: none does
  SamplingOptions sampling = {};
};

/// Continues each prompt (at least one token); gives what was added. on_token is told each token
/// as it is drawn, and may return false to stop. The n-th token of sequence b of B is chosen by
/// random.uniform(n · B + b).
std::vector<Tokens> generate(DecoderState& model, const std::vector<Tokens>& prompts,
                             const GenerateOptions& options, const RandomStream& random,
                             FunctionRef<bool(std::int64_t sequence, std::int64_t token)> on_token);

struct BeamOptions {
  std::int64_t beams = 4;
  std::int64_t tokens = 100;  // the most to add
  std::int64_t end = -1;
  double length_penalty = 0.6;  // α: scores are log p / ((5 + length) / 6)^α. Wu et al. 2016
};

struct Beam {
  Tokens tokens;  // what was added, with the end token if it came
  double score;
};

/// The likeliest continuations of one prompt that a beam finds, best first; `beams` of them at
/// most. 1 beam is greedy decoding.
std::vector<Beam> beam_search(DecoderState& model, const Tokens& prompt,
                              const BeamOptions& options);

}  // namespace gradus::nn
