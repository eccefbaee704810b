// The text that a model learns: read, split into training and held-out part, turned into tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gradus/io/tokenizer.h"

namespace gradus::examples {

struct Corpus {
  std::string text;    // all files, one after the other
  std::string digest;  // of its bytes
  std::unique_ptr<io::Tokenizer> tokenizer;
  std::vector<std::int64_t> training, held_out;  // the first nine tenths, and the last
};

/// Characters while there are at most 512 kinds of them, else bytes. FileError for files that are
/// missing or empty, ValueError for a text too short to have a held-out part of one context.
Corpus read_corpus(const std::vector<std::string>& files, std::int64_t context);

/// How many nats a token costs those who know only how frequent tokens are (unigram), and those who
/// also see the token before (bigram): entropies of the text itself.
struct Entropies {
  double unigram, bigram;
};
Entropies entropies(const std::vector<std::int64_t>& tokens, std::int64_t vocab);

}  // namespace gradus::examples
