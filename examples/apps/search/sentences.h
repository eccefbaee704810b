// Sentences of documents and their vectors.
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

/// Sentences of at least four words, outside Markdown's code, tables and headings. They end with
/// ".", "!" or "?" before whitespace, or with their paragraph.
std::vector<SourceSentence> sentences_of(const std::string& text, const std::string& file);

/// Reimers & Gurevych 2019: normalized mean of the last layer over the tokens, [N, C]. Cuts texts
/// at 256 tokens.
Tensor vectors_of(const std::vector<std::string>& texts, const nn::BERT& model,
                  const io::PretrainedTokenizer& tokenizer);

}  // namespace gradus::examples
