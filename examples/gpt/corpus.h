// The text that a model learns: read, split into training and held-out part, turned into tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gradus/io/tokenizer.h"

namespace gradus::examples {

struct Corpus {
  std::string digest;  // of the bytes of all files
  std::unique_ptr<io::Tokenizer> tokenizer;
  std::vector<std::int64_t> training, held_out;

  std::int64_t size() const { return std::ssize(training) + std::ssize(held_out); }
};

/// Which tokens. `automatic` takes characters while the text is UTF-8 and has at most 512 kinds of
/// them, else bytes. Words and byte pairs are learnt from the text, at most `vocab` of them.
struct Tokens {
  enum Kind { automatic, characters, bytes, words, pairs } kind = automatic;
  std::int64_t vocab = 0;
};

/// Reads `files` one after the other. The last tenth is held out, or, where `validation` names a
/// file, all that is in that one. FileError: missing, unreadable or empty files, text that is not
/// UTF-8 where characters are asked for, a validation text with characters that `files` lack.
Corpus read_corpus(const std::vector<std::string>& files, const std::string& validation,
                   Tokens tokens);

/// How many nats a token costs those who know only how frequent tokens are (unigram), and those who
/// also see the token before (bigram): entropies of the text itself.
struct Entropies {
  double unigram, bigram;
};
Entropies entropies(const Corpus& corpus);  // of both its parts

}  // namespace gradus::examples
