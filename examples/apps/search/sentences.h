#pragma once

#include <string>
#include <vector>

#include "gradus/io/pretrained/pretrained_tokenizer.h"
#include "gradus/nn/models/bert.h"

namespace gradus::examples {

struct SourceSentence {
  std::string text;
  std::string file;
  std::int64_t line;  // first line, from 1
};

/// Returns sentences of at least four words, without Markdown's code, tables and headings.
std::vector<SourceSentence> sentences_of(const std::string& text, const std::string& file);

/// Returns the normalized means of the last layer over at most 256 tokens, [N, C] (Reimers &
/// Gurevych 2019).
Tensor vectors_of(const std::vector<std::string>& texts, const nn::BERT& model,
                  const io::PretrainedTokenizer& tokenizer);

}  // namespace gradus::examples
