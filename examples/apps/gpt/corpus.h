// Reads, splits and tokenizes the text of a run.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "flags.h"
#include "gradus/io/tokenizer.h"

namespace gradus::examples {

struct Corpus {
  std::string digest;    // digest of all files
  std::string not_text;  // with `auto`: names the first file that is not text, and the reason
  std::unique_ptr<io::Tokenizer> tokenizer;
  std::vector<std::int64_t> training, held_out;

  std::int64_t size() const { return std::ssize(training) + std::ssize(held_out); }
};

/// Reads the text. `auto` uses characters if the text is UTF-8 with at most 512 distinct
/// characters, otherwise bytes. Words and byte pairs are learned from the training part, characters
/// from the entire text. A resumed run requires the same text and reads its own tokenizer. Throws
/// FileError for files that are missing, unreadable or empty, for `char` if the text is not UTF-8,
/// and for characters that occur only in --val.
Corpus read_corpus(const GptFlags& flags);

/// Nats per token of predictions from token frequencies (unigram) or the previous token (bigram).
struct Entropies {
  double unigram, bigram;
};
Entropies entropies(const Corpus& corpus);

}  // namespace gradus::examples
