#include "gradus/io/tokenizer.h"

#include <algorithm>

#include "gradus/engine/base/error.h"
#include "gradus/engine/base/json.h"
#include "gradus/io/bpe.h"
#include "gradus/io/json.h"
#include "gradus/io/output_file.h"
#include "gradus/io/pieces.h"
#include "gradus/io/pretrained/pretrained_tokenizer.h"
#include "gradus/io/text.h"

namespace gradus::io {
namespace {

constexpr std::int64_t kTokenizerFormat = 1;
constexpr const char* kTokenizerKey = "gradus_tokenizer";

}  // namespace

void Tokenizer::check_id(std::int64_t id) const {
  require<IndexError>(0 <= id && id < vocab_size(), name(), " tokenizer: token id ", id,
                      " must be between 0 and ", vocab_size() - 1);
}

std::string Tokenizer::decode(std::span<const std::int64_t> ids) const {
  std::string bytes;
  bytes.reserve(ids.size());
  for (const std::int64_t id : ids) bytes += bytes_of(id);
  return replace_invalid_utf8(bytes);
}

std::string Tokenizer::json_of(const std::map<std::string, std::string>& fields) {
  std::map<std::string, std::string> values = {
      {std::string(kTokenizerKey), std::to_string(kTokenizerFormat)}};
  for (const auto& [key, value] : fields) append_json(values[key], value);
  std::string json;
  for (const auto& [key, value] : values) {
    json += json.empty() ? "{\n  " : ",\n  ";
    append_json(json, key);
    json += ": " + value;
  }
  return json + "\n}\n";
}

CharTokenizer::CharTokenizer(std::string_view text) {
  require(!text.empty(), "character tokenizer: cannot build a vocabulary from an empty text");
  std::vector<bool> present(0x110000);
  char32_t largest = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8 found = utf8_at(text, at);
    require(found.kind == Utf8::character, "character tokenizer: the text is not UTF-8 at byte ",
            at, ". Convert the text, or use the byte tokenizer, which accepts any bytes.");
    present[found.code_point] = true;
    largest = std::max(largest, found.code_point);
    at += found.length;
  }
  for (char32_t c = 0; c <= largest; ++c)
    if (present[c]) characters_.push_back(c);
}

std::vector<std::int64_t> CharTokenizer::encode(std::string_view text) const {
  std::vector<std::int64_t> ids;
  ids.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Utf8 found = utf8_at(text, at);
    require(found.kind == Utf8::character, "character tokenizer: the text is not UTF-8 at byte ",
            at);
    const auto place = std::lower_bound(characters_.begin(), characters_.end(), found.code_point);
    if (place == characters_.end() || *place != found.code_point)  // escape() is slow
      fail<ValueError>("character tokenizer: ", escape(found.code_point), " at byte ", at,
                       " is not among the ", vocab_size(),
                       " characters of the vocabulary. Remove it, or train on text that has it.");
    ids.push_back(place - characters_.begin());
    at += found.length;
  }
  return ids;
}

std::string CharTokenizer::bytes_of(std::int64_t id) const {
  check_id(id);
  return encode_utf8(characters_[static_cast<std::size_t>(id)]);
}

std::string CharTokenizer::to_json() const {
  return json_of({{"type", name()}, {"characters", encode_utf8(characters_)}});
}

std::vector<std::int64_t> ByteTokenizer::encode(std::string_view text) const {
  std::vector<std::int64_t> ids(text.size());
  std::transform(text.begin(), text.end(), ids.begin(),
                 [](char c) { return static_cast<unsigned char>(c); });
  return ids;
}

std::string ByteTokenizer::bytes_of(std::int64_t id) const {
  check_id(id);
  return {static_cast<char>(static_cast<unsigned char>(id))};
}

std::string ByteTokenizer::to_json() const { return json_of({{"type", name()}}); }

WordTokenizer WordTokenizer::train(std::string_view text, std::int64_t vocab_size,
                                   std::int64_t min_count) {
  require(!text.empty(), "word tokenizer: cannot build a vocabulary from an empty text");
  require(vocab_size >= 2, "word tokenizer: vocab_size must be at least 2 (the unknown token and ",
          "one word), got ", vocab_size);
  std::unordered_map<std::string_view, std::int64_t> counts;
  for (const std::string_view piece : pieces(text)) ++counts[piece];
  std::vector<std::pair<std::int64_t, std::string_view>> order;  // most frequent first
  for (const auto& [piece, count] : counts)
    if (count >= min_count) order.emplace_back(-count, piece);
  std::sort(order.begin(), order.end());
  require(!order.empty(), "word tokenizer: no word occurs at least min_count = ", min_count,
          " times");
  std::vector<std::string> words = {"<unknown>"};
  for (const auto& [count, piece] : order)
    if (std::ssize(words) < vocab_size) words.emplace_back(piece);
  return {std::move(words), "word tokenizer"};
}

WordTokenizer::WordTokenizer(std::vector<std::string> words, const std::string& name)
    : words_(std::move(words)) {
  require<FileError>(words_.size() >= 2, name, ": the vocabulary must have at least 2 words, got ",
                     words_.size());
  for (std::size_t i = 0; i < words_.size(); ++i)
    require<FileError>(!words_[i].empty(), name, ": word ", i, " is empty");
  for (std::size_t i = 1; i < words_.size(); ++i)
    require<FileError>(ids_.emplace(words_[i], static_cast<std::int64_t>(i)).second, name,
                       ": the word ", quote(words_[i]), " appears twice");
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
  return json_of({{"type", name()}, {"words", words}});
}

std::string StreamDecoder::push(std::int64_t id) {
  held_ += tokenizer_->bytes_of(id);
  std::size_t whole = 0;  // number of bytes in complete characters
  while (whole < held_.size()) {
    const Utf8 found = utf8_at(held_, whole);
    if (found.kind == Utf8::incomplete) break;
    whole += found.length;
  }
  std::string certain = replace_invalid_utf8(std::string_view(held_).substr(0, whole));
  held_.erase(0, whole);
  return certain;
}

std::string StreamDecoder::finish() {
  std::string rest = replace_invalid_utf8(held_);
  held_.clear();
  return rest;
}

std::unique_ptr<Tokenizer> tokenizer_from_json(std::string_view text, const std::string& name) {
  const Json json = Json::parse(text, name);
  if (!json.has(kTokenizerKey) && json.has("model"))
    return std::make_unique<PretrainedTokenizer>(PretrainedTokenizer::parse(text, name));
  const std::int64_t format = json.at(kTokenizerKey).as_int();
  require<FileError>(format == kTokenizerFormat, name, ": the tokenizer has format ", format,
                     ", but this version of Gradus reads format ", kTokenizerFormat,
                     ". Update Gradus.");
  const Json type = json.at("type");
  if (type.text() == "byte") {
    json.check_keys({kTokenizerKey, "type"});
    return std::make_unique<ByteTokenizer>();
  }
  if (type.text() == "word") {
    json.check_keys({kTokenizerKey, "type", "words"});
    std::vector<std::string> words = split_text(json.at("words").text(), ' ');
    for (std::string& each : words) each = from_visible(each, name);
    return std::make_unique<WordTokenizer>(std::move(words), name);
  }
  if (type.text() == "bpe") {
    json.check_keys({kTokenizerKey, "type", "tokens", "merges"});
    auto made = std::make_unique<BpeTokenizer>(
        bpe_of_visible(split_text(json.at("tokens").text(), ' '),
                       split_text(json.at("merges").text(), '\n'), name));
    made->require_all_bytes(name);
    return made;
  }
  if (type.text() != "character")
    type.fail("must be \"character\", \"byte\", \"word\" or \"bpe\", got " + type.describe());
  json.check_keys({kTokenizerKey, "type", "characters"});
  const std::string characters = json.at("characters").text();
  require<FileError>(!characters.empty(), name, ": \"characters\" must not be empty");
  auto tokenizer = std::make_unique<CharTokenizer>(characters);
  require<FileError>(encode_utf8(tokenizer->characters()) == characters, name,
                     ": \"characters\" must be in increasing order without repetitions");
  return tokenizer;
}

void save_tokenizer(const std::string& path, const Tokenizer& tokenizer) {
  const std::string json = tokenizer.to_json();
  write_file_atomically(path, json.data(), json.size());
}

std::unique_ptr<Tokenizer> load_tokenizer(const std::string& path) {
  return tokenizer_from_json(read_text(path), path);
}

}  // namespace gradus::io
