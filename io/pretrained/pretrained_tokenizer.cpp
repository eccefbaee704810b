// Each part of tokenizer.json is either supported, or rejected with its path.
#include "gradus/io/pretrained/pretrained_tokenizer.h"

#include <algorithm>

#include "gradus/engine/base/error.h"
#include "gradus/io/json.h"
#include "gradus/io/pretrained/unicode.h"
#include "gradus/io/text.h"

namespace gradus::io {
namespace {

/// Rejects keys that would change ids, unless their value is false, null or "".
void refuse_set(const Json& json, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (!json.has(key)) continue;
    const Json value = json.at(key);
    if (value.describe() != "false" && value.describe() != "\"\"")
      value.fail(value.describe() + " is not supported");
  }
}

[[noreturn]] void refuse_type(const Json& json) {
  json.at("type").fail(json.at("type").describe() + " is not supported");
}

}  // namespace

PretrainedTokenizer PretrainedTokenizer::parse(std::string_view text, const std::string& name) {
  const Json json = Json::parse(text, name);
  json.check_keys({"version", "truncation", "padding", "added_tokens", "normalizer",
                   "pre_tokenizer", "post_processor", "decoder", "model"});
  PretrainedTokenizer made;
  if (json.has("normalizer")) made.read_normalizer(json.at("normalizer"));
  made.read_splitters(json.at("pre_tokenizer"));
  const Json model = json.at("model");
  std::vector<std::string> tokens = tokens_by_id(model.at("vocab"));
  std::vector<bool> literal;
  if (json.has("added_tokens")) made.read_added(json.at("added_tokens"), tokens, literal);
  made.special_.resize(tokens.size());
  made.read_model(model, name, std::move(tokens), literal);
  if (json.has("post_processor")) made.read_post_processor(json.at("post_processor"));
  if (json.has("decoder")) made.check_decoder(json.at("decoder"));
  made.json_ = text;
  return made;
}

void PretrainedTokenizer::read_normalizer(const Json& json) {
  const std::string type = json.at("type").text();
  if (type == "NFC") {
    json.check_keys({"type"});
    nfc_ = true;
    return;
  }
  if (type != "BertNormalizer") refuse_type(json);
  json.check_keys({"type", "clean_text", "handle_chinese_chars", "strip_accents", "lowercase"});
  const bool lower = json.at("lowercase").as_bool();
  bert_ = BertNormalizer{json.at("clean_text").as_bool(), json.at("handle_chinese_chars").as_bool(),
                         json.as_bool("strip_accents", lower), lower};
}

void PretrainedTokenizer::read_splitters(const Json& json) {
  const std::string type = json.at("type").text();
  if (type == "Sequence") {
    json.check_keys({"type", "pretokenizers"});
    for (const Json& each : json.at("pretokenizers").elements()) read_splitters(each);
  } else if (type == "ByteLevel") {
    json.check_keys({"type", "add_prefix_space", "trim_offsets", "use_regex"});
    refuse_set(json, {"add_prefix_space"});
    if (json.as_bool("use_regex", true)) splitters_.push_back(Splitter::gpt2);
  } else if (type == "Digits") {
    json.check_keys({"type", "individual_digits"});
    const Json each = json.at("individual_digits");
    if (!each.as_bool()) each.fail("false is not supported");
    splitters_.push_back(Splitter::digits);
  } else if (type == "BertPreTokenizer") {
    json.check_keys({"type"});
    splitters_.push_back(Splitter::bert);
  } else if (type == "Split") {
    json.check_keys({"type", "pattern", "behavior", "invert"});
    refuse_set(json, {"invert"});
    const Json behavior = json.at("behavior"), pattern = json.at("pattern").at("Regex");
    if (behavior.text() != "Isolated") behavior.fail(behavior.describe() + " is not supported");
    const bool qwen2 = pattern.text() == kQwen2Pattern;
    if (!qwen2 && pattern.text() != kLlama3Pattern)
      pattern.fail("must be the regular expression of GPT-2, Qwen2 or Llama 3");
    splitters_.push_back(qwen2 ? Splitter::qwen2 : Splitter::llama3);
  } else {
    refuse_type(json);
  }
}

void PretrainedTokenizer::read_added(const Json& list, std::vector<std::string>& tokens,
                                     std::vector<bool>& literal) {
  std::unordered_map<std::string, std::int64_t> ids;
  for (const std::string& token : tokens) ids.emplace(token, std::ssize(ids));
  for (const Json& each : list.elements()) {
    each.check_keys({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
    refuse_set(each, {"single_word", "lstrip", "rstrip"});
    if (nfc_ || bert_) refuse_set(each, {"normalized"});
    const Added added{each.at("content").text(), each.at("id").as_int()};
    if (added.content.empty()) each.at("content").fail("the token must not be empty");
    const auto [known, fresh] = ids.emplace(added.content, std::ssize(tokens));
    if (known->second != added.id)
      each.at("id").fail(str_cat("the token ", quote(added.content), " must have the id ",
                                 known->second, ", got ", added.id));
    if (fresh) tokens.push_back(added.content);
    const auto at = static_cast<std::size_t>(added.id);
    literal.resize(tokens.size());
    special_.resize(tokens.size());
    literal[at] = true;
    special_[at] = each.as_bool("special", false);
    added_.push_back(added);
  }
  std::stable_sort(added_.begin(), added_.end(), [](const Added& a, const Added& b) {
    return a.content.size() > b.content.size();
  });
}

void PretrainedTokenizer::read_model(const Json& model, const std::string& name,
                                     std::vector<std::string> tokens,
                                     const std::vector<bool>& literal) {
  const bool word_piece = splitters_ == std::vector{Splitter::bert};
  const char* wanted = word_piece ? "WordPiece" : "BPE";
  if (model.text("type", wanted) != wanted) refuse_type(model);
  if (word_piece) {
    model.check_keys(
        {"type", "vocab", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word"});
    const Json prefix = model.at("continuing_subword_prefix"), unknown = model.at("unk_token");
    if (prefix.text() != "##") prefix.fail("must be \"##\", got " + prefix.describe());
    const auto found = std::find(tokens.begin(), tokens.end(), unknown.text());
    if (found == tokens.end()) unknown.fail(unknown.describe() + " is not a token");
    const std::int64_t at = found - tokens.begin();
    const Json longest = model.at("max_input_chars_per_word");
    if (longest.as_int() < 1 || longest.as_int() > 200)
      longest.fail("must be 1 to 200, got " + longest.describe());
    word_piece_.emplace(std::move(tokens), at, longest.as_int());
    return;
  }
  model.check_keys({"type", "dropout", "unk_token", "continuing_subword_prefix",
                    "end_of_word_suffix", "fuse_unk", "byte_fallback", "ignore_merges", "vocab",
                    "merges"});
  refuse_set(model, {"dropout", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
                     "byte_fallback"});
  std::vector<std::string> merges;
  for (const Json& each : model.at("merges").elements()) {
    if (each.is_text()) {
      merges.push_back(each.text());
      continue;
    }
    const std::vector<Json> two = each.elements();
    if (two.size() != 2) each.fail("a merge must have two tokens");
    merges.push_back(two[0].text() + " " + two[1].text());
  }
  bpe_ = bpe_of_visible(tokens, merges, name, literal);
  bpe_->set_whole_first(model.as_bool("ignore_merges", false));
  if (model.has("unk_token")) bpe_->require_all_bytes(name);  // every byte needs a token
}

void PretrainedTokenizer::read_post_processor(const Json& json) {
  const std::string type = json.at("type").text();
  const auto id_in = [&](const Json& id) {
    if (id.as_int() < 0 || id.as_int() >= vocab_size())
      id.fail(str_cat("must be between 0 and ", vocab_size() - 1, ", got ", id.as_int()));
    return id.as_int();
  };
  if (type == "Sequence") {
    json.check_keys({"type", "processors"});
    for (const Json& each : json.at("processors").elements()) read_post_processor(each);
  } else if (type == "TemplateProcessing") {
    json.check_keys({"type", "single", "pair", "special_tokens"});
    bool text = false;  // true once the position of the text is reached
    for (const Json& each : json.at("single").elements()) {
      if (each.has("Sequence")) {
        if (text) each.fail("the template has \"Sequence\" twice; expected once");
        text = true;
        continue;
      }
      const Json token = json.at("special_tokens").at(each.at("SpecialToken").at("id").text());
      for (const Json& id : token.at("ids").elements())
        (text ? after_ : before_).push_back(id_in(id));
    }
    if (!text) json.at("single").fail("the template has no \"Sequence\"; expected one");
  } else if (type == "BertProcessing") {
    json.check_keys({"type", "sep", "cls"});
    for (const auto& [key, ids] : {std::pair{"cls", &before_}, {"sep", &after_}}) {
      const std::vector<Json> two = json.at(key).elements();
      if (two.size() != 2) json.at(key).fail("must be a token and its id");
      ids->push_back(id_in(two[1]));
    }
  } else if (type != "ByteLevel") {  // ByteLevel affects only offsets
    refuse_type(json);
  }
}

void PretrainedTokenizer::check_decoder(const Json& json) const {
  if (json.at("type").text() != (bpe_ ? "ByteLevel" : "WordPiece")) refuse_type(json);
}

void PretrainedTokenizer::encode_plain(std::string_view text,
                                       std::vector<std::int64_t>& ids) const {
  std::string normal;
  if (bert_) text = normal = (*bert_)(text);
  if (nfc_) text = normal = encode_utf8(composed(characters_of(text)));
  std::vector<std::string_view> parts = {text};
  for (const Splitter splitter : splitters_) {
    std::vector<std::string_view> smaller;
    for (const std::string_view part : parts) {
      const std::vector<std::string_view> cut = split(part, splitter);
      smaller.insert(smaller.end(), cut.begin(), cut.end());
    }
    parts = std::move(smaller);
  }
  if (bpe_) return bpe_->encode_pieces(parts, ids);
  for (const std::string_view word : parts) word_piece_->encode_word(word, ids);
}

std::vector<std::int64_t> PretrainedTokenizer::encode_literal(std::string_view text,
                                                              std::size_t begin,
                                                              std::size_t end) const {
  std::vector<std::int64_t> ids;
  bool begins[256] = {};  // true if an added token begins with this byte
  for (const Added& each : added_) begins[static_cast<unsigned char>(each.content[0])] = true;
  std::size_t plain = 0;  // start of the text that is not yet encoded
  for (std::size_t at = 0; at < text.size();) {
    const auto fits = [&](const Added& each) {
      const bool apart = at >= end || at + each.content.size() <= begin;
      return apart && text.substr(at).starts_with(each.content);
    };
    const auto found = begins[static_cast<unsigned char>(text[at])]
                           ? std::find_if(added_.begin(), added_.end(), fits)
                           : added_.end();
    if (found == added_.end()) {
      ++at;
      continue;
    }
    encode_plain(text.substr(plain, at - plain), ids);
    ids.push_back(found->id);
    plain = at += found->content.size();
  }
  encode_plain(text.substr(plain), ids);
  return ids;
}

std::vector<std::int64_t> PretrainedTokenizer::encode_whole(std::string_view text) const {
  std::vector<std::int64_t> ids = before_;
  const std::vector<std::int64_t> own = encode(text);
  ids.insert(ids.end(), own.begin(), own.end());
  ids.insert(ids.end(), after_.begin(), after_.end());
  return ids;
}

std::string PretrainedTokenizer::bytes_of(std::int64_t id) const {
  check_id(id);
  return bpe_ ? bpe_->bytes_of(id) : word_piece_->text_of(id);
}

bool PretrainedTokenizer::is_special(std::int64_t id) const {
  check_id(id);
  return special_[static_cast<std::size_t>(id)];
}

std::optional<std::int64_t> PretrainedTokenizer::id_of(const std::string& added) const {
  for (const Added& each : added_)
    if (each.content == added) return each.id;
  return std::nullopt;
}

}  // namespace gradus::io
