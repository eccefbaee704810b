// Text cut into pieces before a tokenizer of other people looks at them: their regular expressions,
// written out. A piece never becomes part of a token with the next one.
#pragma once

#include <string_view>
#include <vector>

namespace gradus::io {

/// One way to cut. All but the last two are alternatives of regular expressions, in their order:
/// contractions, letters, numbers, others, spaces.
enum class Splitter {
  gpt2,    // 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
  qwen2,   // (?i:'s|…)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|…
  llama3,  // as qwen2, but \p{N}{1,3}
  digits,  // each \p{N} by itself, and what is between
  bert     // without spaces, each mark of punctuation by itself
};

/// The pieces of `text` in order. But for `bert`, which drops spaces, they are the whole text, also
/// where it is not UTF-8: each part that is not is a character of no kind.
std::vector<std::string_view> split(std::string_view text, Splitter splitter);

/// The regular expressions of qwen2 and llama3, as files spell them.
extern const char* const kQwen2Pattern;
extern const char* const kLlama3Pattern;

}  // namespace gradus::io
