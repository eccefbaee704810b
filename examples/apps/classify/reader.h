// The model, its two lessons, and what it says of a text.
#pragma once

#include <string>
#include <vector>

#include "gradus/nn/models/bert.h"
#include "gradus/train/distributed/shards.h"
#include "tree.h"

namespace gradus::examples {

/// One that fills in masked words, and one that names the kind of a snippet. The second begins as
/// the first has ended: begin_to_classify().
struct Reader final : nn::Module {
  Reader(const nn::BERTOptions& options) : language(options), classifier(options, kKinds) {}
  nn::Members members() override { return {{"language", language}, {"classifier", classifier}}; }

  void begin_to_classify();  // copies the BERT of `language` into that of `classifier`
  train::BatchLoss masked_loss(const Snippets& snippets, const RandomStream& random) const;
  Tensor scores(const Snippets& snippets) const;  // [B, kKinds]

  nn::MaskedLM language;
  nn::TextClassifier classifier;
};

/// Of the masked pieces of `snippets`, how many it fills in rightly, and how many are the piece
/// that is masked most often.
struct FilledIn {
  double right, most_frequent;
};
FilledIn fill_in(const Reader& reader, const Snippets& snippets);

/// The probability of each kind, mean over the snippets.
std::vector<double> kinds_of(const Reader& reader, const Snippets& snippets);

/// How often each piece stands in each snippet, as log(1 + n): [B, vocabulary].
Tensor bags_of(const Snippets& snippets, std::int64_t vocabulary);

}  // namespace gradus::examples
