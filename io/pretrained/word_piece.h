// BERT's tokenizer: normalization and WordPiece.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace gradus::io {

/// BERT's normalization: drops control characters and replaces every space with " " (clean), puts
/// spaces around Chinese characters, removes accents (NFD without marks), and lower-cases.
struct BertNormalizer {
  bool clean = true, chinese = true, strip_accents = true, lower = true;
  std::string operator()(std::string_view text) const;
};

/// Splits a word into the longest tokens, greedily from the left; all tokens but the first have the
/// prefix "##". A word that cannot be split, or is longer than `longest`, becomes the unknown
/// token. Wu et al. 2016.
class WordPiece {
 public:
  /// Token i is tokens[i]. `unknown` is the id of the unknown token.
  WordPiece(std::vector<std::string> tokens, std::int64_t unknown, std::int64_t longest);
  void encode_word(std::string_view word, std::vector<std::int64_t>& ids) const;
  /// Returns the text of a token: "##ing" is "ing"; other tokens begin with a space.
  std::string text_of(std::int64_t id) const;
  const std::vector<std::string>& tokens() const { return tokens_; }

 private:
  std::vector<std::string> tokens_;
  std::unordered_map<std::string, std::int64_t> ids_;
  std::int64_t unknown_, longest_;
};

}  // namespace gradus::io
