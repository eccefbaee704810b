// The text that a model learns: read, split into training and held-out part, turned into tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gradus/io/tokenizer.h"

namespace gradus::examples {

struct Corpus {
  std::string digest;    // of the bytes of all files
  std::string not_text;  // the first file that is no text where bytes were not asked for, and why
  std::unique_ptr<io::Tokenizer> tokenizer;
  std::vector<std::int64_t> training, held_out;

  std::int64_t size() const { return std::ssize(training) + std::ssize(held_out); }
};

/// Which tokens: "auto" takes characters while the text is UTF-8 and has at most 512 kinds of them,
/// else bytes. Words and byte pairs ("bpe"), at most `vocab` of them, are learnt from the training
/// part; characters ("char") are those of all the text.
struct TokenizerChoice {
  std::string name = "auto";
  std::int64_t vocab = 0;
};

/// What files hold.
struct Texts {
  std::string text;        // of all files, one after the other
  std::string validation;  // the file that is held out; "": the last tenth of the text is
  std::string held_out;    // what is in it
  std::string digest;      // of all bytes
  std::string not_text;    // as in Corpus
};
/// FileError: missing, unreadable or empty files, text that is not UTF-8 where characters are asked
/// for.
Texts read_texts(const std::vector<std::string>& files, const std::string& validation,
                 const TokenizerChoice& choice);

/// A resumed run knows its tokenizer. FileError: a validation text with characters that the text
/// lacks.
Corpus tokenized(Texts texts, const TokenizerChoice& choice,
                 std::unique_ptr<io::Tokenizer> known = nullptr);

/// How many nats a token costs those who know only how frequent tokens are (unigram), and those who
/// also see the token before (bigram): entropies of the text itself.
struct Entropies {
  double unigram, bigram;
};
Entropies entropies(const Corpus& corpus);  // of both its parts

}  // namespace gradus::examples
