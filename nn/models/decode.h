// Decoding: sampling and beam search.
#pragma once

#include <cstdint>
#include <vector>

#include "gradus/engine/base/function_ref.h"
#include "gradus/engine/base/random.h"
#include "gradus/nn/models/gpt.h"

namespace gradus::nn {

/// Token ids of one sequence.
using Tokens = std::vector<std::int64_t>;

/// Each limit applies to the candidates left by those above it. At least one stays.
struct SamplingOptions {
  double temperature = 0.8;       // of the logits; 0: greedy
  std::int64_t top_k = 0;         // only the k most likely; 0: all
  double top_p = 1;               // fewest with this total probability; 1: all
  double min_p = 0;               // at least this part of the highest probability; 0: all
  double repetition_penalty = 1;  // > 1 makes tokens in `seen` less likely
};

/// Samples a token id from logits [V] by `uniform` in [0, 1). The penalty divides positive logits
/// of tokens in `seen` and multiplies negative ones (Keskar et al. 2019). top_p: Holtzman et
/// al. 2020. min_p: Nguyen et al. 2024.
std::int64_t sample_token(const Tensor& logits, const SamplingOptions& options, double uniform,
                          const Tokens& seen = {});

/// A model that continues B sequences in parallel.
class DecoderState {
 public:
  virtual ~DecoderState() = default;
  /// Appends tokens to each sequence (first the prompts, of any lengths ≥ 1) and returns the next
  /// logits [B, V].
  virtual Tensor next(const std::vector<Tokens>& tokens) = 0;
  /// Reorders the sequences: sequence i becomes the old sequences[i] (beam search).
  virtual void select(const std::vector<std::int64_t>& sequences) = 0;
};

/// A GPT with a cache. Beyond the context of learned positions, recomputes the last `context`
/// tokens each time. If next() throws, the state is unchanged.
class GPTDecoderState final : public DecoderState {
 public:
  explicit GPTDecoderState(const GPT& model, Precision cache = Precision::f32);
  Tensor next(const std::vector<Tokens>& tokens) override;
  void select(const std::vector<std::int64_t>& sequences) override;

 private:
  const GPT& model_;
  KVCache cache_;
  std::vector<Tokens> seen_;
  bool needs_refill_ = false;  // the cache is invalid: a call threw
};

/// When generate() stops, and how it samples.
struct GenerateOptions {
  std::int64_t tokens = 100;  // maximum to add to each
  std::int64_t end = -1;      // end token, included in the output; −1: none
  SamplingOptions sampling = {};
};

/// Continues each prompt (at least one token) and returns the added tokens. Stops if on_token
/// returns false. The n-th token of sequence b uses random.uniform(n · B + b).
std::vector<Tokens> generate(DecoderState& model, const std::vector<Tokens>& prompts,
                             const GenerateOptions& options, const RandomStream& random,
                             FunctionRef<bool(std::int64_t sequence, std::int64_t token)> on_token);

/// Search width, end and length penalty of beam_search().
struct BeamOptions {
  std::int64_t beams = 4;       // continuations kept in each step
  std::int64_t tokens = 100;    // maximum to add
  std::int64_t end = -1;        // end token; −1: none
  double length_penalty = 0.6;  // α: score = log p / ((5 + length) / 6)^α. Wu et al. 2016
};

/// A continuation found by beam_search(), with its score.
struct Beam {
  Tokens tokens;  // added tokens, with the end token if reached
  double score;   // higher is better
};

/// The best continuations found, best first, at most `beams`. 1 beam is greedy decoding.
std::vector<Beam> beam_search(DecoderState& model, const Tokens& prompt,
                              const BeamOptions& options);

}  // namespace gradus::nn
