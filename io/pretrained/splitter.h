// Splits text like the regular expressions of pretrained tokenizers. No token crosses a piece
// boundary.
#pragma once

#include <string_view>
#include <vector>

namespace gradus::io {

/// Splitting rules. The first three are regular expressions, with alternatives for contractions,
/// letters, numbers, other characters and spaces.
enum class Splitter {
  gpt2,    // 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
  qwen2,   // (?i:'s|…)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|…
  llama3,  // same as qwen2, but \p{N}{1,3}
  digits,  // each \p{N} separately, and the text between them
  bert     // drops spaces; each punctuation mark is a piece
};

/// Returns the pieces of `text` in order. Only `bert` drops characters (spaces). Invalid UTF-8
/// counts as CharKind::other.
std::vector<std::string_view> split(std::string_view text, Splitter splitter);

/// Regular expressions of qwen2 and llama3, as written in tokenizer files.
extern const char* const kQwen2Pattern;
extern const char* const kLlama3Pattern;

}  // namespace gradus::io
