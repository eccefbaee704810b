#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "flags.h"
#include "gradus/io/tokenizer.h"

namespace gradus::examples {

struct Corpus {
  std::string digest;    // of all files
  std::string not_text;  // with `auto`: the first file that is not text, and the reason
  std::unique_ptr<io::Tokenizer> tokenizer;
  std::vector<std::int64_t> training, held_out;

  std::int64_t size() const { return std::ssize(training) + std::ssize(held_out); }
};

/// Reads the text. Words and byte pairs are learned from the training part, characters from the
/// entire text. A resumed run requires the same text and reads its own tokenizer. Throws FileError
/// for missing, unreadable or empty files, for `char` if the text is not UTF-8, and for characters
/// that occur only in --val.
Corpus read_corpus(const GptFlags& flags);

/// Nats per token of predictions from token frequencies (unigram) or the previous token (bigram).
struct Entropies {
  double unigram, bigram;
};
Entropies entropies(const Corpus& corpus);

}  // namespace gradus::examples
