#include "vocabulary.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "gradus/engine/base/error.h"
#include "gradus/io/output_file.h"
#include "gradus/io/text.h"

namespace gradus::examples {
namespace {

constexpr std::string_view kMaskWritten = "[MASK]";
constexpr std::size_t kMostIndentation = 16;

bool is_lower(char c) { return 'a' <= c && c <= 'z'; }
bool is_upper(char c) { return 'A' <= c && c <= 'Z'; }

/// Returns the length in bytes of the piece at `at`.
std::size_t length_at(std::string_view text, std::size_t at) {
  const auto run = [&](std::size_t from, auto belongs) {
    while (from < text.size() && belongs(text[from])) ++from;
    return from;
  };
  if (text.substr(at).starts_with(kMaskWritten)) return kMaskWritten.size();
  if (text[at] == '\n')
    return std::min(run(at + 1, [](char c) { return c == ' '; }) - at, kMostIndentation + 1);
  if (is_lower(text[at]) || is_upper(text[at])) return run(run(at, is_upper), is_lower) - at;
  return io::utf8_at(text, at).length;
}

}  // namespace

std::vector<std::string_view> pieces_of(std::string_view text) {
  std::vector<std::string_view> pieces;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = length_at(text, at);
    if (text[at] != ' ' && text[at] != '\t' && text[at] != '\r')
      pieces.push_back(text.substr(at, length));
    at += length;
  }
  return pieces;
}

WordList WordList::of(const std::vector<std::string>& texts, std::int64_t size) {
  require(size > kFirst, "the vocabulary size must be greater than ", kFirst, ", got ", size);
  std::map<std::string_view, std::int64_t> counts;
  for (const std::string& text : texts)
    for (const std::string_view piece : pieces_of(text)) ++counts[piece];
  std::vector<std::pair<std::string_view, std::int64_t>> order(counts.begin(), counts.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  order.resize(std::min(order.size(), static_cast<std::size_t>(size - kFirst)));
  std::vector<std::string> pieces;
  for (const auto& [piece, count] : order) pieces.emplace_back(piece);
  return WordList(std::move(pieces));
}

WordList::WordList(std::vector<std::string> pieces) : pieces_(std::move(pieces)) {
  for (const std::string& piece : pieces_) ids_.emplace(piece, kFirst + std::ssize(ids_));
  ids_[std::string(kMaskWritten)] = kMask;
}

std::vector<std::int64_t> WordList::encode(std::string_view text) const {
  std::vector<std::int64_t> ids;
  for (const std::string_view piece : pieces_of(text)) {
    const auto known = ids_.find(piece);
    ids.push_back(known == ids_.end() ? kUnknown : known->second);
  }
  return ids;
}

std::string WordList::piece(std::int64_t id) const {
  static const char* const special[] = {"[PAD]", "[START]", "[MASK]", "[UNKNOWN]"};
  require<IndexError>(0 <= id && id < size(), "piece ", id, " is not in [0, ", size(), ")");
  if (id < kFirst) return special[id];
  std::string shown = pieces_[static_cast<std::size_t>(id - kFirst)];
  if (shown[0] == '\n') shown = "\\n" + (shown.size() > 1 ? str_cat("+", shown.size() - 1) : "");
  return shown;
}

void WordList::save(const std::string& path) const {
  const std::string json =
      nlohmann::json(pieces_).dump(0, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
  io::write_file_atomically(path, json.data(), json.size());
}

WordList WordList::load(const std::string& path) {
  try {
    return WordList(nlohmann::json::parse(io::read_text(path)).get<std::vector<std::string>>());
  } catch (const nlohmann::json::exception& error) {
    fail<FileError>(path,
                    ": is not the vocabulary of a classify run: ", io::abbreviate(error.what()));
  }
}

}  // namespace gradus::examples
