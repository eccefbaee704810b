// BERT's tokenizer: text made plain, and words cut into the longest parts that are tokens.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace gradus::io {

/// What BERT does with text before it is cut: control characters are dropped and every space made
/// " " (clean), Chinese characters get spaces around them, accents go (NFD without marks), and
/// letters become small.
struct BertNormalizer {
  bool clean = true, chinese = true, strip_accents = true, lower = true;
  std::string operator()(std::string_view text) const;
};

/// Greedy longest match (Wu et al. 2016, as BERT uses it): at each place of a word the longest
/// token that fits, written with "##" in front where it is not the first. A word without such
/// parts, or of more than `longest` characters, is the unknown token.
class WordPiece {
 public:
  /// Token i is tokens[i]; `unknown` is one of them.
  WordPiece(std::vector<std::string> tokens, std::int64_t unknown, std::int64_t longest);
  void encode_word(std::string_view word, std::vector<std::int64_t>& ids) const;
  /// As text shows it: "##ing" is "ing", any other token has a space before it.
  std::string text_of(std::int64_t id) const;
  const std::vector<std::string>& tokens() const { return tokens_; }

 private:
  std::vector<std::string> tokens_;
  std::unordered_map<std::string, std::int64_t> ids_;
  std::int64_t unknown_, longest_;
};

}  // namespace gradus::io
