#include "gradus/io/pretrained/splitter.h"

#include "gradus/io/pretrained/unicode.h"
#include "gradus/io/text.h"

namespace gradus::io {

const char* const kQwen2Pattern = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)"
                                  R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
const char* const kLlama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

namespace {

struct Char {
  char32_t code = 0;
  CharKind kind = CharKind::other;
  std::size_t at = 0;
};

std::vector<Char> chars_of(std::string_view text) {
  std::vector<Char> out;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8 found = utf8_at(text, at);
    const bool whole = found.kind == Utf8::character;
    out.push_back({whole ? found.code_point : U'\uFFFD',
                   whole ? kind_of(found.code_point) : CharKind::other, at});
    at += found.length;
  }
  out.push_back({.at = text.size()});
  return out;
}

/// Finds the ends of pieces. Positions count characters; n is the end of the text.
class Matcher {
 public:
  Matcher(const std::vector<Char>& chars, Splitter splitter)
      : c_(chars),
        n_(chars.size() - 1),
        gpt2_(splitter == Splitter::gpt2),
        most_digits_(splitter == Splitter::llama3 ? 3 : 1) {}

  std::size_t end_of_piece(std::size_t i) const {
    if (const std::size_t end = contraction(i)) return end;
    const bool prefix = gpt2_ ? c_[i].code == ' '
                              : !newline(i) && !is(i, CharKind::letter) && !is(i, CharKind::number);
    if (is(i + prefix, CharKind::letter)) return run(i + prefix, CharKind::letter);
    const bool space = c_[i].code == ' ';
    if (gpt2_ && is(i + space, CharKind::number)) return run(i + space, CharKind::number);
    if (is(i, CharKind::number)) {
      std::size_t end = i;
      while (end < i + most_digits_ && is(end, CharKind::number)) ++end;
      return end;
    }
    if (std::size_t end = i + space; symbol(end)) {
      while (symbol(end)) ++end;
      while (!gpt2_ && newline(end)) ++end;
      return end;
    }
    const std::size_t end = run(i, CharKind::space);
    for (std::size_t last = end; !gpt2_ && last > i; --last)
      if (newline(last - 1)) return last;
    return end == n_ || end == i + 1 ? end : end - 1;  // the last space belongs to the next piece
  }

 private:
  bool is(std::size_t i, CharKind kind) const { return c_[i].kind == kind; }
  bool newline(std::size_t i) const { return c_[i].code == '\r' || c_[i].code == '\n'; }
  bool symbol(std::size_t i) const {
    return i < n_ && c_[i].kind != CharKind::letter && c_[i].kind != CharKind::number &&
           c_[i].kind != CharKind::space;
  }
  std::size_t run(std::size_t i, CharKind kind) const {
    while (is(i, kind)) ++i;
    return i;
  }

  /// Returns the end of a contraction ('s 't 're 've 'm 'll 'd), or 0. Except in GPT-2, matching
  /// ignores case and treats ſ as s.
  std::size_t contraction(std::size_t i) const {
    if (c_[i].code != '\'') return 0;
    const auto letter = [&](std::size_t at) -> char32_t {
      const char32_t code = c_[at].code;
      if (gpt2_) return code;  // only capitals become these letters below
      return code <= 'Z' ? code + ('a' - 'A') : code == U'ſ' ? U's' : code;
    };
    const char32_t a = letter(i + 1);
    if (a == 's' || a == 't' || a == 'm' || a == 'd') return i + 2;
    if (a == 'r' || a == 'v') return letter(i + 2) == 'e' ? i + 3 : 0;
    return a == 'l' && letter(i + 2) == 'l' ? i + 3 : 0;
  }

  const std::vector<Char>& c_;
  std::size_t n_;
  bool gpt2_;
  std::size_t most_digits_;
};

}  // namespace

std::vector<std::string_view> split(std::string_view text, Splitter splitter) {
  const std::vector<Char> chars = chars_of(text);
  const std::size_t n = chars.size() - 1;
  const Matcher matcher(chars, splitter);
  const bool bert = splitter == Splitter::bert;
  const auto alone = [&](const Char& c) {  // characters that are separate pieces
    // ASCII symbols: $ + < = > ^ ` | ~
    const bool ascii = c.code < 128 && c.kind == CharKind::other;
    return bert ? c.kind == CharKind::punctuation || ascii : c.kind == CharKind::number;
  };
  std::vector<std::string_view> out;
  for (std::size_t i = 0, end = 0; i < n; i = end) {
    end = i + 1;
    if (bert && chars[i].kind == CharKind::space) continue;
    if (!bert && splitter != Splitter::digits) {
      end = matcher.end_of_piece(i);
    } else if (!alone(chars[i])) {
      while (end < n && !alone(chars[end]) && !(bert && chars[end].kind == CharKind::space)) ++end;
    }
    out.push_back(text.substr(chars[i].at, chars[end].at - chars[i].at));
  }
  return out;
}

}  // namespace gradus::io
