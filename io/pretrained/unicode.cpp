#include "gradus/io/pretrained/unicode.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <unordered_map>

#include "gradus/io/text.h"

namespace gradus::io {
namespace {

using enum CharKind;

template <class T>
struct Range {
  char32_t first;
  T value;
  char32_t last = first;
};
struct Decomposition {
  char32_t first, a, b = 0;
  bool composes = true;  // false: a and b do not compose to this character
};
struct Lowered {
  char32_t first, lower;            // lower: lower case of first
  char32_t last = first, step = 1;  // every step-th character
};

#include "gradus/io/pretrained/unicode_tables.inc"

template <class Row, std::size_t n>
const Row* row_of(const Row (&table)[n], char32_t c) {
  const auto* after = std::upper_bound(std::begin(table), std::end(table), c,
                                       [](char32_t x, const Row& row) { return x < row.first; });
  return after == std::begin(table) ? nullptr : after - 1;
}

/// Returns the value of the range that contains c, or T{}: CharKind::other, class 0.
template <class T, std::size_t n>
T value_of(const Range<T> (&table)[n], char32_t c) {
  const Range<T>* row = row_of(table, c);
  return row && c <= row->last ? row->value : T{};
}

int combining_class(char32_t c) { return value_of(kCombining, c); }

// A Hangul syllable is 0xAC00 + (lead · 21 + vowel) · 28 + tail. It has no tail if tail is 0.
constexpr char32_t kSyllable = 0xAC00, kLead = 0x1100, kVowel = 0x1161, kTail = 0x11A7;
constexpr char32_t kLeads = 19, kVowels = 21, kTails = 28;

/// Returns the decomposition of a compatibility ideograph (two blocks), or 0.
char32_t ideograph(char32_t c) {
  if (c - 0xF900 < std::size(kIdeographs)) return kIdeographs[c - 0xF900];
  if (c - 0x2F800 < std::size(kMoreIdeographs)) return kMoreIdeographs[c - 0x2F800];
  return 0;
}

void decompose(char32_t c, Characters& out) {
  if (c - kSyllable < kLeads * kVowels * kTails) {
    const char32_t place = c - kSyllable;
    out.push_back(kLead + place / (kVowels * kTails));
    out.push_back(kVowel + place / kTails % kVowels);
    if (place % kTails > 0) out.push_back(kTail + place % kTails);
    return;
  }
  if (const char32_t part = ideograph(c)) return decompose(part, out);
  const Decomposition* row = row_of(kDecompositions, c);
  if (!row || row->first != c) {
    out.push_back(c);
    return;
  }
  decompose(row->a, out);
  if (row->b) decompose(row->b, out);
}

char32_t together(char32_t a, char32_t b) {
  if (a - kLead < kLeads && b - kVowel < kVowels)
    return kSyllable + ((a - kLead) * kVowels + b - kVowel) * kTails;
  if (a - kSyllable < kLeads * kVowels * kTails && (a - kSyllable) % kTails == 0 &&
      b - kTail - 1 < kTails - 1)
    return a + b - kTail;
  static const auto pairs = [] {
    std::unordered_map<std::uint64_t, char32_t> made;
    for (const Decomposition& row : kDecompositions)
      if (row.b && row.composes) made.emplace(std::uint64_t{row.a} << 32 | row.b, row.first);
    return made;
  }();
  const auto found = pairs.find(std::uint64_t{a} << 32 | b);
  return found == pairs.end() ? 0 : found->second;
}

}  // namespace

CharKind kind_of(char32_t c) { return value_of(kKinds, c); }

Characters characters_of(std::string_view text) {
  Characters out;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8 found = utf8_at(text, at);
    out.push_back(found.kind == Utf8::character ? found.code_point : U'\uFFFD');
    at += found.length;
  }
  return out;
}

Characters lower_case(const Characters& text) {
  Characters out;
  for (const char32_t c : text) {
    const Lowered* row = row_of(kLowered, c);
    const bool changes = row && c <= row->last && (c - row->first) % row->step == 0;
    out.push_back(changes ? c - row->first + row->lower : c);
    if (c == U'İ') out.push_back(0x307);  // keeps the dot; all others map to one character
  }
  return out;
}

Characters decomposed(const Characters& text) {
  Characters out;
  for (const char32_t c : text) decompose(c, out);
  for (auto at = out.begin(); at != out.end();) {
    const auto marks = [](char32_t c) { return combining_class(c) > 0; };
    const auto first = std::find_if(at, out.end(), marks);
    at = std::find_if_not(first, out.end(), marks);
    std::stable_sort(
        first, at, [](char32_t a, char32_t b) { return combining_class(a) < combining_class(b); });
  }
  return out;
}

Characters composed(const Characters& text) {
  constexpr char32_t kPlain = 0x300;  // nothing below it composes with a neighbor
  // Fast path with the same result.
  if (std::all_of(text.begin(), text.end(), [](char32_t c) { return c < kPlain; })) return text;
  Characters out;
  std::size_t starter = 0;  // index of the last character of class 0
  int before = -1;          // class of the last character kept after the starter; −1: none
  for (const char32_t c : decomposed(text)) {
    const int own = combining_class(c);
    const char32_t both = out.empty() || before >= own ? 0 : together(out[starter], c);
    if (both) {
      out[starter] = both;
      continue;
    }
    if (own == 0) starter = out.size();
    before = own == 0 ? -1 : own;
    out.push_back(c);
  }
  return out;
}

}  // namespace gradus::io
