#include "vocabulary.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "gradus/engine/base/error.h"
#include "gradus/io/text.h"

namespace gradus::examples {
namespace {

std::vector<std::string> split(Vocabulary::Unit unit, const std::string& text) {
  std::vector<std::string> tokens;
  if (unit == Vocabulary::Unit::word) {
    std::istringstream words(text);
    for (std::string word; words >> word;) tokens.push_back(word);
    return tokens;
  }
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = io::utf8_at(text, at).length;
    tokens.push_back(text.substr(at, length));
    at += length;
  }
  return tokens;
}

}  // namespace

Vocabulary::Vocabulary(Unit unit, const std::vector<std::string>& texts) : unit_(unit) {
  std::set<std::string> all;
  for (const std::string& text : texts)
    for (const std::string& token : split(unit, text)) all.insert(token);
  tokens_.assign(all.begin(), all.end());
  for (std::size_t i = 0; i < tokens_.size(); ++i)
    ids_[tokens_[i]] = kEnd + 1 + static_cast<std::int64_t>(i);
}

Ids Vocabulary::encode(const std::string& text) const {
  Ids ids;
  for (const std::string& token : split(unit_, text)) {
    const auto at = ids_.find(token);
    require(at != ids_.end(), io::quote(text), ": the ", unit(), " ", io::quote(token),
            " is not among the ", tokens_.size(), " in the vocabulary; replace it");
    ids.push_back(at->second);
  }
  return ids;
}

std::string Vocabulary::decode(const Ids& ids) const {
  std::string text;
  for (const std::int64_t id : ids) {
    if (id == kEnd) break;
    if (id < kEnd) continue;  // padding or begin token, from an untrained model
    if (unit_ == Unit::word && !text.empty()) text += ' ';
    text += tokens_[static_cast<std::size_t>(id - kEnd - 1)];
  }
  return text;
}

}  // namespace gradus::examples
