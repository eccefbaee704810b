#include "reader.h"

#include <algorithm>

#include "gradus/engine/grad_mode.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/ops/softmax.h"
#include "gradus/ops/sort.h"
#include "gradus/train/trainer.h"

namespace gradus::examples {
namespace {

nn::MaskedTokens masked(const Reader& reader, const Snippets& snippets,
                        const RandomStream& random) {
  return nn::mask_tokens(snippets.ids,
                         {.vocab = reader.language.bert.options.vocab,
                          .mask_id = WordList::kMask,
                          .first_id = WordList::kFirst},
                         random);
}

}  // namespace

void Reader::begin_to_classify() { classifier.bert.load_state_dict(language.bert.state_dict()); }

train::BatchLoss Reader::masked_loss(const Snippets& snippets, const RandomStream& random) const {
  const nn::MaskedTokens tokens = masked(*this, snippets, random);
  const auto targets = tokens.targets.to_vector<std::int64_t>();
  return {
      language.loss(tokens.ids, tokens.targets, snippets.lengths),
      std::count_if(targets.begin(), targets.end(), [](std::int64_t each) { return each >= 0; })};
}

Tensor Reader::scores(const Snippets& snippets) const {
  return classifier(snippets.ids, snippets.lengths);
}

FilledIn fill_in(const Reader& reader, const Snippets& snippets) {
  const NoGrad off;
  const nn::MaskedTokens tokens = masked(reader, snippets, {0, 0, 0});
  const Tensor guess = argmax(reader.language(tokens.ids, snippets.lengths), 2);  // [B, T]
  const std::vector<std::int64_t> guessed = guess.to_vector<std::int64_t>(),
                                  wanted = tokens.targets.to_vector<std::int64_t>();
  std::vector<double> counts(static_cast<std::size_t>(reader.language.bert.options.vocab));
  double right = 0, all = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] < 0) continue;
    right += guessed[i] == wanted[i];
    ++all;
    ++counts[static_cast<std::size_t>(wanted[i])];
  }
  return {right / all, *std::max_element(counts.begin(), counts.end()) / all};
}

std::vector<double> kinds_of(const Reader& reader, const Snippets& snippets) {
  const NoGrad off;
  const Tensor shares = softmax(reader.scores(snippets));       // [B, kKinds]
  return mean(shares, {0}).to(Dtype::f64).to_vector<double>();  // [kKinds]
}

Tensor bags_of(const Snippets& snippets, std::int64_t vocabulary) {
  const std::int64_t B = snippets.ids.size(0), T = snippets.ids.size(1);
  const std::vector<std::int64_t> ids = snippets.ids.to_vector<std::int64_t>();
  std::vector<float> counts(static_cast<std::size_t>(B * vocabulary));
  for (std::int64_t i = 0; i < B * T; ++i)
    if (const std::int64_t id = ids[static_cast<std::size_t>(i)]; id != WordList::kPadding)
      ++counts[static_cast<std::size_t>(i / T * vocabulary + id)];
  return log1p(tensor(counts, {B, vocabulary}));
}

}  // namespace gradus::examples
