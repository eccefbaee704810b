#include "gradus/io/word_tokenizer.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "gradus/engine/base/error.h"
#include "gradus/io/pieces.h"
#include "gradus/io/text.h"

namespace gradus::io {

WordTokenizer WordTokenizer::train(std::string_view text, std::int64_t vocab_size,
                                   std::int64_t min_count) {
  require(!text.empty(), "word tokenizer: the text is empty, so there is no vocabulary");
  require(vocab_size >= 2, "word tokenizer: a vocabulary of ", vocab_size,
          ": it wants the unknown token and one word at least");
  std::unordered_map<std::string_view, std::int64_t> counts;
  for (const std::string_view piece : pieces(text)) ++counts[piece];
  std::vector<std::pair<std::int64_t, std::string_view>> order;  // the most frequent first
  for (const auto& [piece, count] : counts)
    if (count >= min_count) order.emplace_back(-count, piece);
  std::sort(order.begin(), order.end());
  require(!order.empty(), "word tokenizer: no word stands there ", min_count, " times");
  std::vector<std::string> words = {"<unknown>"};
  for (const auto& [count, piece] : order)
    if (std::ssize(words) < vocab_size) words.emplace_back(piece);
  return {std::move(words), "word tokenizer"};
}

WordTokenizer::WordTokenizer(std::vector<std::string> words, const std::string& name)
    : words_(std::move(words)) {
  require<FileError>(words_.size() >= 2, name, ": a vocabulary of ", words_.size(), " words");
  for (std::size_t i = 0; i < words_.size(); ++i)
    require<FileError>(!words_[i].empty(), name, ": word ", i, " is empty");
  for (std::size_t i = 1; i < words_.size(); ++i)
    require<FileError>(ids_.emplace(words_[i], static_cast<std::int64_t>(i)).second, name,
                       ": the word ", quote(words_[i]), " stands there twice");
}

std::vector<std::int64_t> WordTokenizer::encode(std::string_view text) const {
  std::vector<std::int64_t> ids;
  for (const std::string_view piece : pieces(text)) {
    const auto found = ids_.find(std::string(piece));
    ids.push_back(found == ids_.end() ? kUnknown : found->second);
  }
  return ids;
}

std::string WordTokenizer::bytes_of(std::int64_t id) const {
  check_id(id);
  return words_[static_cast<std::size_t>(id)];
}

std::string WordTokenizer::to_json() const {
  std::string words;
  for (const std::string& each : words_) words += (words.empty() ? "" : " ") + visible(each);
  return nlohmann::json{{"gradus_tokenizer", 1}, {"type", "word"}, {"words", words}}.dump(2) + "\n";
}

}  // namespace gradus::io
