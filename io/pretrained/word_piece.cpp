#include "gradus/io/pretrained/word_piece.h"

#include <utility>

#include "gradus/io/pretrained/unicode.h"
#include "gradus/io/text.h"

namespace gradus::io {
namespace {

bool is_control(char32_t c) {  // some of these are spaces elsewhere, such as U+0085
  if (c == '\t' || c == '\n' || c == '\r') return false;
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0xFFFD || kind_of(c) == CharKind::control;
}

/// Blocks that the reference implementation treats as Chinese.
bool is_chinese(char32_t c) {
  constexpr std::pair<char32_t, char32_t> kBlocks[] = {
      {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},  {0x20000, 0x2A6DF},
      {0x2A700, 0x2B81F}, {0x2B920, 0x2CEAF}, {0x2F800, 0x2FA1F}};
  for (const auto& [first, last] : kBlocks)
    if (first <= c && c <= last) return true;
  return false;
}

}  // namespace

std::string BertNormalizer::operator()(std::string_view text) const {
  Characters out;
  for (const char32_t c : characters_of(text)) {
    if (clean && is_control(c)) continue;
    const bool apart = chinese && is_chinese(c);
    if (apart) out.push_back(' ');
    out.push_back(clean && kind_of(c) == CharKind::space ? U' ' : c);
    if (apart) out.push_back(' ');
  }
  if (strip_accents) {
    out = decomposed(out);
    std::erase_if(out, [](char32_t c) { return kind_of(c) == CharKind::mark; });
  }
  return encode_utf8(lower ? lower_case(out) : out);
}

WordPiece::WordPiece(std::vector<std::string> tokens, std::int64_t unknown, std::int64_t longest)
    : tokens_(std::move(tokens)), unknown_(unknown), longest_(longest) {
  for (std::size_t i = 0; i < tokens_.size(); ++i)
    ids_.emplace(tokens_[i], static_cast<std::int64_t>(i));
}

void WordPiece::encode_word(std::string_view word, std::vector<std::int64_t>& ids) const {
  const std::size_t first = ids.size();
  bool fits = count_characters(word) <= longest_;
  for (std::size_t begin = 0; fits && begin < word.size();) {
    std::size_t end = word.size();
    for (fits = false; end > begin; --end) {
      const auto found =
          ids_.find((begin > 0 ? "##" : "") + std::string(word.substr(begin, end - begin)));
      if (found == ids_.end()) continue;
      ids.push_back(found->second);
      fits = true;
      break;
    }
    begin = end;
  }
  if (fits) return;
  ids.resize(first);
  ids.push_back(unknown_);
}

std::string WordPiece::text_of(std::int64_t id) const {
  const std::string& token = tokens_[static_cast<std::size_t>(id)];
  return token.starts_with("##") ? token.substr(2) : " " + token;
}

}  // namespace gradus::io
