// Words as tokens: what a text has often enough, and one token for all other words.
#pragma once

#include <unordered_map>

#include "gradus/io/tokenizer.h"

namespace gradus::io {

/// Tokens are pieces of text (io/pieces.h): a word with the space before it, a number, marks. Token
/// 0 stands for everything else, and reads "<unknown>".
class WordTokenizer final : public Tokenizer {
 public:
  static constexpr std::int64_t kUnknown = 0;

  /// The most frequent pieces of `text` that it has at least `min_count` times, at most
  /// `vocab_size` tokens with the unknown one; of equally frequent ones the first in byte order.
  /// ValueError: an empty text, a vocabulary of less than 2.
  static WordTokenizer train(std::string_view text, std::int64_t vocab_size,
                             std::int64_t min_count = 1);
  /// words[0] is the unknown token. FileError names `name`: fewer than 2, or one twice.
  WordTokenizer(std::vector<std::string> words, const std::string& name);

  std::string name() const override { return "word"; }
  std::int64_t vocab_size() const override { return std::ssize(words_); }
  std::vector<std::int64_t> encode(std::string_view text) const override;  // never fails
  std::string bytes_of(std::int64_t id) const override;
  std::string to_json() const override;

 private:
  std::vector<std::string> words_;
  std::unordered_map<std::string, std::int64_t> ids_;
};

}  // namespace gradus::io
