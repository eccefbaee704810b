#pragma once

#include <string>
#include <vector>

#include "gradus/nn/models/bert.h"
#include "gradus/train/distributed/shards.h"
#include "tree.h"

namespace gradus::examples {

struct Reader final : nn::Module {
  Reader(const nn::BERTOptions& options) : language(options), classifier(options, kKinds) {}
  nn::Members members() override { return {{"language", language}, {"classifier", classifier}}; }

  void begin_to_classify();  // copies the BERT of `language`
  train::BatchLoss masked_loss(const Snippets& snippets, const RandomStream& random) const;
  Tensor scores(const Snippets& snippets) const;  // [B, kKinds]

  nn::MaskedLM language;
  nn::TextClassifier classifier;
};

/// Accuracy on masked pieces: of the model, and of always predicting the most frequent piece.
struct FilledIn {
  double right, most_frequent;
};
FilledIn fill_in(const Reader& reader, const Snippets& snippets);

/// Returns the mean probabilities over the snippets.
std::vector<double> kinds_of(const Reader& reader, const Snippets& snippets);

/// Returns log(1 + n) of each piece's count n: [B, vocabulary].
Tensor bags_of(const Snippets& snippets, std::int64_t vocabulary);

}  // namespace gradus::examples
