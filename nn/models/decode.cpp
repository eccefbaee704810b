// B sequences, V vocabulary.
#include "gradus/nn/models/decode.h"

#include <algorithm>

#include "gradus/engine/base/math64.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/nn/models/padded_batch.h"
#include "gradus/ops/create.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/ops/softmax.h"
#include "gradus/ops/sort.h"

namespace gradus::nn {
namespace {

void check_prompts(const char* who, const std::vector<Tokens>& prompts) {
  require(!prompts.empty(), who, ": there is no prompt. Pass at least one.");
  for (const Tokens& prompt : prompts)
    require(!prompt.empty(), who, ": a prompt has no tokens. Pass at least one.");
}

CacheOptions cache_options(const GPTOptions& of, Precision precision) {
  const bool sliding = of.window > 0 && !of.learns_positions();
  return {.capacity = sliding ? of.window : of.context, .sliding = sliding, .precision = precision};
}

}  // namespace

GPTDecoderState::GPTDecoderState(const GPT& model, Precision cache)
    : model_(model), cache_(cache_options(model.options, cache)) {}

Tensor GPTDecoderState::next(const std::vector<Tokens>& tokens) {
  require<ShapeError>(seen_.empty() || seen_.size() == tokens.size(), "GPTDecoderState: got ",
                      tokens.size(), " sequences, but it continues ", seen_.size());
  check_prompts("GPTDecoderState", tokens);
  const NoGrad off;
  std::vector<Tokens> all = seen_;
  all.resize(tokens.size());
  for (std::size_t b = 0; b < tokens.size(); ++b)
    all[b].insert(all[b].end(), tokens[b].begin(), tokens[b].end());
  PaddedBatch step = pad_sequences(tokens, 0, PaddingSide::left);
  const CacheOptions of = cache_.options();
  const bool fits = of.sliding || cache_.size() + step.ids.size(1) <= of.capacity;
  if (!fits || needs_refill_) {
    // Learned positions are exhausted, or an earlier call failed. Recomputes all tokens, or the
    // last `context` tokens.
    cache_ = KVCache(of);
    for (Tokens& each : all)
      if (!of.sliding)
        each.erase(each.begin(),
                   each.end() - std::min<std::int64_t>(std::ssize(each), model_.options.context));
    step = pad_sequences(all, 0, PaddingSide::left);
  }
  needs_refill_ = true;  // if the model throws, its layers may hold different numbers of tokens
  const Tensor logits = model_(step.ids, &cache_, step.lengths);  // [B, T, V]
  needs_refill_ = false;
  seen_ = std::move(all);
  return gradus::select(logits, 1, -1);  // [B, V]
}

void GPTDecoderState::select(const std::vector<std::int64_t>& sequences) {
  for (const std::int64_t i : sequences)
    require<IndexError>(0 <= i && i < std::ssize(seen_), "GPTDecoderState: sequence ", i,
                        " is out of range for ", seen_.size(), " sequences");
  if (!needs_refill_) cache_.select(sequences);
  std::vector<Tokens> chosen;
  for (const std::int64_t i : sequences) chosen.push_back(seen_[static_cast<std::size_t>(i)]);
  seen_ = std::move(chosen);
}

std::vector<Tokens> generate(DecoderState& model, const std::vector<Tokens>& prompts,
                             const GenerateOptions& options, const RandomStream& random,
                             FunctionRef<bool(std::int64_t, std::int64_t)> on_token) {
  check_prompts("generate", prompts);
  const NoGrad off;
  const auto B = std::ssize(prompts);
  std::vector<Tokens> added(prompts.size()), seen = prompts, latest = prompts;
  std::vector<bool> ended(prompts.size(), false);
  for (std::int64_t n = 0; n < options.tokens; ++n) {
    const Tensor logits = model.next(latest);  // [B, V]
    for (std::int64_t b = 0; b < B; ++b) {
      const auto at = static_cast<std::size_t>(b);
      const std::int64_t token =
          sample_token(select(logits, 0, b), options.sampling, random.uniform(n * B + b), seen[at]);
      latest[at] = {token};
      if (ended[at]) continue;
      added[at].push_back(token);
      seen[at].push_back(token);
      ended[at] = token == options.end;
      if (!on_token(b, token)) return added;
    }
    if (std::all_of(ended.begin(), ended.end(), [](bool end) { return end; })) break;
  }
  return added;
}

namespace {

struct Candidate {
  double log_p;
  std::int64_t beam, token;
};

std::vector<Candidate> best_steps(const Tensor& logits, const std::vector<Beam>& open,
                                  std::int64_t count) {
  std::vector<double> sums;
  for (const Beam& each : open) sums.push_back(each.score);
  const Tensor steps = log_softmax(logits.to(Dtype::f64), -1);     // [beams, V]
  const Tensor all = flatten(steps + unsqueeze(tensor(sums), 1));  // [beams · V]
  const SortResult best = topk(all, std::min(count, all.numel()));
  const auto log_p = best.values.to_vector<double>();
  const auto at = best.indices.to_vector<std::int64_t>();
  std::vector<Candidate> ways;
  for (std::size_t i = 0; i < at.size(); ++i)
    ways.push_back({log_p[i], at[i] / logits.size(1), at[i] % logits.size(1)});
  return ways;
}

void sort_and_cut(std::vector<Beam>& beams, std::int64_t count) {
  std::stable_sort(beams.begin(), beams.end(),
                   [](const Beam& a, const Beam& b) { return a.score > b.score; });
  beams.resize(std::min(beams.size(), static_cast<std::size_t>(count)));
}

}  // namespace

std::vector<Beam> beam_search(DecoderState& model, const Tokens& prompt,
                              const BeamOptions& options) {
  check_prompts("beam_search", {prompt});
  require(options.beams > 0 && options.tokens >= 0,
          "beam_search: beams must be positive and tokens not negative, got ", options.beams,
          " and ", options.tokens);
  const NoGrad off;
  const auto score = [&](double log_p, std::size_t length) {
    return log_p / math64::pow((5 + static_cast<double>(length)) / 6, options.length_penalty);
  };
  std::vector<Beam> finished, open = {{{}, 0}};  // score of an open beam: log-probability
  std::vector<Tokens> latest = {prompt};
  for (std::int64_t n = 0; n < options.tokens && !open.empty(); ++n) {
    std::vector<Beam> longer;
    std::vector<std::int64_t> parents;
    // With 2 · beams candidates, enough remain even if half of them end.
    for (const Candidate& way : best_steps(model.next(latest), open, 2 * options.beams)) {
      if (std::ssize(longer) == options.beams) break;
      Tokens text = open[static_cast<std::size_t>(way.beam)].tokens;
      text.push_back(way.token);
      if (way.token == options.end) {
        finished.push_back({text, score(way.log_p, text.size())});
      } else {
        longer.push_back({text, way.log_p});
        parents.push_back(way.beam);
      }
    }
    open = std::move(longer);
    latest.clear();
    for (const Beam& each : open) latest.push_back({each.tokens.back()});
    sort_and_cut(finished, options.beams);
    // Log-probabilities only decrease. Stops if the best open beam cannot overtake any finished
    // beam, even at the maximum length.
    const bool done =
        std::ssize(finished) == options.beams && !open.empty() &&
        finished.back().score >= score(open[0].score, static_cast<std::size_t>(options.tokens));
    if (done) return finished;
    if (!open.empty()) model.select(parents);
  }
  for (const Beam& each : open)
    finished.push_back({each.tokens, score(each.score, each.tokens.size())});
  sort_and_cut(finished, options.beams);
  return finished;
}

}  // namespace gradus::nn
