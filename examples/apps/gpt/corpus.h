// The text that a model learns: read, split into training and held-out part, turned into tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "flags.h"
#include "gradus/io/tokenizer.h"

namespace gradus::examples {

struct Corpus {
  std::string digest;    // of the bytes of all files
  std::string not_text;  // the first file that is no text where bytes were not asked for, and why
  std::unique_ptr<io::Tokenizer> tokenizer;
  std::vector<std::int64_t> training, held_out;

  std::int64_t size() const { return std::ssize(training) + std::ssize(held_out); }
};

/// The text that `flags` name. Of a resumed run it must be what it was, and its tokenizer is read;
/// else --tokenizer decides: "auto" takes characters while the text is UTF-8 and has at most 512
/// kinds of them, else bytes. Words and byte pairs ("bpe") are learnt from the training part;
/// characters ("char") are those of all the text. FileError: missing, unreadable or empty files,
/// text that is not UTF-8 where characters are asked for, a validation text with characters that
/// the text lacks.
Corpus read_corpus(const GptFlags& flags);

/// How many nats a token costs those who know only how frequent tokens are (unigram), and those who
/// also see the token before (bigram): entropies of the text itself.
struct Entropies {
  double unigram, bigram;
};
Entropies entropies(const Corpus& corpus);  // of both its parts

}  // namespace gradus::examples
