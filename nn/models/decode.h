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

/// Options of sample_token(). Each limit applies to the candidates that pass the limits above it.
/// At least one candidate remains.
struct SamplingOptions {
  double temperature = 0.8;       // divides the logits; 0: greedy
  std::int64_t top_k = 0;         // keeps only the k most likely tokens; 0: all
  double top_p = 1;               // keeps the fewest tokens with this total probability; 1: all
  double min_p = 0;               // minimum fraction of the highest probability; 0: all
  double repetition_penalty = 1;  // > 1 makes tokens in `seen` less likely
};

/// Samples a token id from logits of shape [V], given `uniform` in [0, 1). For tokens in `seen`,
/// the penalty divides positive logits and multiplies negative ones (Keskar et al. 2019). top_p:
/// Holtzman et al. 2020. min_p: Nguyen et al. 2024.
std::int64_t sample_token(const Tensor& logits, const SamplingOptions& options, double uniform,
                          const Tokens& seen = {});

/// A model that continues B sequences in parallel.
class DecoderState {
 public:
  virtual ~DecoderState() = default;
  /// Appends tokens to each sequence and returns the next logits [B, V]. The first call passes the
  /// prompts, which may have different lengths ≥ 1.
  virtual Tensor next(const std::vector<Tokens>& tokens) = 0;
  /// Reorders the sequences for beam search: sequence i becomes the previous sequence sequences[i].
  virtual void select(const std::vector<std::int64_t>& sequences) = 0;
};

/// State of a GPT with a cache. Beyond the context of learned positions, each step recomputes the
/// last `context` tokens. If next() throws, the state is unchanged.
class GPTDecoderState final : public DecoderState {
 public:
  explicit GPTDecoderState(const GPT& model, Precision cache = Precision::f32);
  Tensor next(const std::vector<Tokens>& tokens) override;
  void select(const std::vector<std::int64_t>& sequences) override;

 private:
  const GPT& model_;
  KVCache cache_;
  std::vector<Tokens> seen_;
  bool needs_refill_ = false;  // true if the cache is invalid because a call threw
};

/// When generate() stops, and how it samples.
struct GenerateOptions {
  std::int64_t tokens = 100;  // maximum number to add to each prompt
  std::int64_t end = -1;      // end token, which is included in the output; −1: none
  SamplingOptions sampling = {};
};

/// Continues each prompt (at least one token) and returns the added tokens. Stops early if on_token
/// returns false. The n-th token of sequence b uses random.uniform(n · B + b).
std::vector<Tokens> generate(DecoderState& model, const std::vector<Tokens>& prompts,
                             const GenerateOptions& options, const RandomStream& random,
                             FunctionRef<bool(std::int64_t sequence, std::int64_t token)> on_token);

/// Options of beam_search().
struct BeamOptions {
  std::int64_t beams = 4;       // continuations kept in each step
  std::int64_t tokens = 100;    // maximum number to add
  std::int64_t end = -1;        // end token; −1: none
  double length_penalty = 0.6;  // α: score = log p / ((5 + length) / 6)^α. Wu et al. 2016
};

/// A continuation found by beam_search(), with its score.
struct Beam {
  Tokens tokens;  // added tokens, including the end token if reached
  double score;   // higher is better
};

/// Returns up to `beams` continuations, best first. With 1 beam, this is greedy decoding.
std::vector<Beam> beam_search(DecoderState& model, const Tokens& prompt,
                              const BeamOptions& options);

}  // namespace gradus::nn
