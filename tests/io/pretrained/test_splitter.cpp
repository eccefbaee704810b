// Compares text splitters with backtracking regular expressions.
#include "gradus/io/pretrained/splitter.h"

#include <functional>
#include <string>
#include <vector>

#include "gradus/io/pretrained/unicode.h"
#include "gradus/io/text.h"
#include "gradus/tests/io/random.h"

namespace gradus::testing::test_splitter {
namespace {

using io::CharKind;
using io::Splitter;
using Class = std::function<bool(char32_t)>;

struct Part {
  Class in;
  std::size_t least, most;
};
struct Alternative {
  std::vector<Part> parts;
  bool before_space = false;  // ends with (?!\S)
};

bool letter(char32_t c) { return io::kind_of(c) == CharKind::letter; }
bool number(char32_t c) { return io::kind_of(c) == CharKind::number; }
bool space(char32_t c) { return io::kind_of(c) == CharKind::space; }
bool newline(char32_t c) { return c == '\r' || c == '\n'; }
bool symbol(char32_t c) { return !space(c) && !letter(c) && !number(c); }
bool blank(char32_t c) { return c == ' '; }
Class one_of(char32_t a, char32_t b, char32_t c = 0) {
  return [=](char32_t x) { return x == a || x == b || (c && x == c); };
}

constexpr std::size_t kMany = 1000;

/// Matches 's 't 're 've 'm 'll 'd; with any_case, also ſ in place of s.
std::vector<Alternative> contractions(bool any_case) {
  const auto is = [&](char low) {
    const char up = any_case ? static_cast<char>(low - 32) : low;
    return Part{one_of(static_cast<char32_t>(low), static_cast<char32_t>(up),
                       any_case && low == 's' ? U'ſ' : 0),
                1, 1};
  };
  const Part quote{one_of('\'', '\''), 1, 1};
  std::vector<Alternative> out;
  for (const std::string letters : {"s", "t", "re", "ve", "m", "ll", "d"}) {
    out.push_back({{quote}});
    for (const char each : letters) out.back().parts.push_back(is(each));
  }
  return out;
}

std::vector<Alternative> expression(Splitter splitter) {
  const bool gpt2 = splitter == Splitter::gpt2;
  std::vector<Alternative> out = contractions(!gpt2);
  const Part space_before{blank, 0, 1};
  if (gpt2) {
    for (const Class& each : {Class(letter), Class(number), Class(symbol)})
      out.push_back({{space_before, {each, 1, kMany}}});
  } else {
    const Class before = [](char32_t c) { return !newline(c) && !letter(c) && !number(c); };
    out.push_back({{{before, 0, 1}, {letter, 1, kMany}}});
    out.push_back({{{number, 1, splitter == Splitter::llama3 ? std::size_t{3} : 1}}});
    out.push_back({{space_before, {symbol, 1, kMany}, {newline, 0, kMany}}});
    out.push_back({{{space, 0, kMany}, {newline, 1, kMany}}});
  }
  out.push_back({{{space, 1, kMany}}, true});
  out.push_back({{{space, 1, kMany}}});
  return out;
}

/// Returns the end of a match of parts k …, or npos.
std::size_t match(const std::u32string& text, std::size_t i, const Alternative& a, std::size_t k) {
  if (k == a.parts.size())
    return a.before_space && i < text.size() && !space(text[i]) ? text.npos : i;
  const Part& part = a.parts[k];
  std::size_t n = 0;
  while (n < part.most && i + n < text.size() && part.in(text[i + n])) ++n;
  for (; n + 1 > part.least; --n) {
    if (const std::size_t end = match(text, i + n, a, k + 1); end != text.npos) return end;
    if (n == 0) break;
  }
  return text.npos;
}

std::vector<std::string> naive(const std::u32string& text, Splitter splitter) {
  static const std::vector<Alternative> each[] = {
      expression(Splitter::gpt2), expression(Splitter::qwen2), expression(Splitter::llama3)};
  const std::vector<Alternative>& all = each[static_cast<int>(splitter)];
  std::vector<std::string> out;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = text.npos;
    for (std::size_t k = 0; k < all.size() && end == text.npos; ++k)
      end = match(text, i, all[k], 0);
    out.push_back(io::encode_utf8(text.substr(i, end - i)));
    i = end;
  }
  return out;
}

bool alone(char32_t c) {
  return io::kind_of(c) == CharKind::punctuation ||
         (c < 127 && std::string("$+<=>^`|~").find(static_cast<char>(c)) != std::string::npos);
}

/// Reimplements the splitters without regular expressions. Each mark is a piece, and the characters
/// between marks stay together.
std::vector<std::string> naive_marks(const std::u32string& text, bool bert) {
  std::vector<std::string> out;
  bool goes_on = false;
  for (const char32_t c : text) {
    const bool mark = bert ? alone(c) : number(c);
    if (bert && space(c)) {
      goes_on = false;
      continue;
    }
    if (!goes_on || mark) out.emplace_back();
    out.back() += io::encode_utf8(std::u32string(1, c));
    goes_on = !mark;
  }
  return out;
}

void check(const std::u32string& text) {
  const std::string bytes = io::encode_utf8(text);
  for (const Splitter splitter :
       {Splitter::gpt2, Splitter::qwen2, Splitter::llama3, Splitter::digits, Splitter::bert}) {
    std::vector<std::string> pieces;
    for (const std::string_view each : io::split(bytes, splitter)) pieces.emplace_back(each);
    const bool marks = splitter == Splitter::digits || splitter == Splitter::bert;
    const std::vector<std::string> expected =
        marks ? naive_marks(text, splitter == Splitter::bert) : naive(text, splitter);
    if (pieces == expected) continue;
    INFO("splitter " << static_cast<int>(splitter) << ", text " << bytes);
    CHECK(pieces == expected);
  }
}

const std::u32string kCharacters = U"as'1 \n\r!é٣\u00a0-";

}  // namespace

TEST_CASE("splits of every short text match the regular expressions") {
  for (const char32_t a : kCharacters) {
    check({a});
    for (const char32_t b : kCharacters) {
      check({a, b});
      for (const char32_t c : kCharacters) check({a, b, c});
    }
  }
}

TEST_CASE("splits of long texts match the regular expressions") {
  Random random(5);
  const std::u32string characters = kCharacters + U"   \n12345tTrevVLldD\t—€日本ſ";
  for (int i = 0; i < 600; ++i) {
    std::u32string text;
    for (std::int64_t n = below(random, 14); n >= 0; --n)
      text += characters[random() % characters.size()];
    check(text);
  }
}

TEST_CASE("splits of contractions match the regular expressions") {
  const std::u32string letters = U"sStTrReEvVmMlLdDſaz@[`{ZK";
  for (const char32_t a : letters)
    for (const char32_t b : letters) check({U'x', U'\'', a, b, U'y'});
  for (const char32_t a : letters) {
    check({U'\'', a});
    check({U'\'', a, U' '});
  }
}

TEST_CASE("splits around each ASCII character match the regular expressions") {
  for (char32_t c = 0; c < 128; ++c)
    for (const char32_t neighbor : {U'a', U'1', U' ', U'!', U'\n'}) {
      check({neighbor, c, neighbor});
      check({U'b', neighbor, c});
    }
}

TEST_CASE("invalid bytes are split like symbols") {
  using Pieces = std::vector<std::string_view>;
  CHECK(io::split("a\xff\xfe"
                  "b",
                  Splitter::gpt2) == Pieces{"a", "\xff\xfe", "b"});
  CHECK(io::split("a\xff"
                  "b",
                  Splitter::qwen2) == Pieces{"a",
                                             "\xff"
                                             "b"});
  CHECK(io::split("1\xff"
                  "2",
                  Splitter::digits) == Pieces{"1", "\xff", "2"});
  CHECK(io::split("a \xff", Splitter::bert) == Pieces{"a", "\xff"});
  CHECK(io::split("", Splitter::gpt2).empty());
}

}  // namespace gradus::testing::test_splitter
