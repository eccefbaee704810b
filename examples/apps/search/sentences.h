// Sentences of documents, and the vectors that a model gives them.
#pragma once

#include <string>
#include <vector>

#include "gradus/io/pretrained/pretrained_tokenizer.h"
#include "gradus/nn/models/bert.h"

namespace gradus::examples {

struct SourceSentence {
  std::string text;
  std::string file;
  std::int64_t line;  // where it begins, from 1
};

/// The sentences of a text (Markdown's code, tables and headings left out): they end with ".", "!"
/// or "?" before white space, or with their paragraph. Those of fewer than four words are left out.
std::vector<SourceSentence> sentences_of(const std::string& text, const std::string& file);

/// Reimers & Gurevych 2019: the mean of the last layer's vectors over the tokens, as long as 1:
/// [N, C]. Texts beyond 256 tokens are cut, as the model was trained.
Tensor vectors_of(const std::vector<std::string>& texts, const nn::BERT& model,
                  const io::PretrainedTokenizer& tokenizer);

}  // namespace gradus::examples
