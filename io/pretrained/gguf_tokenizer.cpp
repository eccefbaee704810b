// Converts GGUF tokenizers to tokenizer.json, and reads chat templates.
#include <string_view>
#include <unordered_set>

#include "gradus/engine/base/error.h"
#include "gradus/engine/base/json.h"
#include "gradus/io/pretrained/pretrained_tokenizer.h"
#include "gradus/io/text.h"

namespace gradus::io {
namespace {

struct Known {
  const char* pre;      // value of tokenizer.ggml.pre
  const char* pattern;  // pattern of a Split before ByteLevel; null: ByteLevel splits
  bool digits, nfc, whole_first, begins;  // begins: default of add_bos_token
};
const Known kKnown[] = {{"gpt-2", nullptr, false, false, false, false},
                        {"smollm", nullptr, true, false, false, false},
                        {"qwen2", kQwen2Pattern, false, true, false, false},
                        {"llama-bpe", kLlama3Pattern, false, false, true, true}};

const Known& known_as(const std::string& pre, const std::string& name) {
  for (const Known& each : kKnown)
    if (pre == each.pre) return each;
  fail<FileError>(name, ": tokenizer.ggml.pre must be gpt-2, smollm, qwen2 or llama-bpe, got ",
                  quote(pre));
}

std::string quoted(const std::string& text) {
  std::string json;
  append_json(json, text);
  return json;
}

std::string quoted(const std::vector<std::string>& texts) {
  std::string json = "[";
  for (const std::string& each : texts) {
    if (json.size() > 1) json += ',';
    append_json(json, each);
  }
  return json + "]";
}

std::string pre_tokenizer_of(const Known& known) {
  std::string steps;
  if (known.digits) steps += R"({"type":"Digits","individual_digits":true},)";
  if (known.pattern)
    steps += R"({"type":"Split","pattern":{"Regex":)" + quoted(known.pattern) +
             R"(},"behavior":"Isolated","invert":false},)";
  steps += R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":)" +
           std::string(known.pattern ? "false}" : "true}");
  return R"({"type":"Sequence","pretokenizers":[)" + steps + "]}";
}

std::string template_of(std::int64_t id, const std::vector<std::string>& tokens,
                        const std::string& name) {
  require<FileError>(0 <= id && id < std::ssize(tokens), name,
                     ": tokenizer.ggml.bos_token_id must be between 0 and ", std::ssize(tokens) - 1,
                     ", got ", id);
  const std::string token = quoted(tokens[static_cast<std::size_t>(id)]);
  return R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":)" + token +
         R"(,"type_id":0}},{"Sequence":{"id":"A","type_id":0}}],"special_tokens":{)" + token +
         R"(:{"id":)" + token + R"(,"ids":[)" + std::to_string(id) + R"(],"tokens":[)" + token +
         "]}}}";
}

}  // namespace

PretrainedTokenizer PretrainedTokenizer::of_gguf(const std::map<std::string, Fact>& facts,
                                                 const std::string& name) {
  const auto key = [](const char* end) { return str_cat("tokenizer.ggml.", end); };
  const auto& model = fact<std::string>(facts, key("model"), name);
  require<FileError>(model == "gpt2", name,
                     ": tokenizer.ggml.model must be \"gpt2\" (byte-level BPE), got ",
                     quote(model));
  const Known& known = known_as(fact<std::string>(facts, key("pre"), name), name);
  const auto& tokens = fact<std::vector<std::string>>(facts, key("tokens"), name);
  const auto& types = fact<std::vector<std::int64_t>>(facts, key("token_type"), name);
  require<FileError>(types.size() == tokens.size(), name, ": tokenizer.ggml.token_type has ",
                     types.size(), " entries for ", tokens.size(), " tokens");
  const auto& merges = fact<std::vector<std::string>>(facts, key("merges"), name);
  std::string vocab, added;
  std::unordered_set<std::string_view> seen;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (!seen.insert(tokens[i]).second)
      fail<FileError>(name, ": the token ", quote(tokens[i]), " appears twice");
    require<FileError>(is_utf8(tokens[i]), name, ": the token ", quote(tokens[i]), " is not UTF-8");
    const std::string token = quoted(tokens[i]), id = std::to_string(i);
    vocab += (vocab.empty() ? "" : ",") + token + ":" + id;
    if (types[i] == 3 || types[i] == 4)  // control or user-defined
      added += (added.empty() ? "{\"id\":" : ",{\"id\":") + id + ",\"content\":" + token +
               (types[i] == 3 ? ",\"special\":true}" : ",\"special\":false}");
  }
  for (const std::string& each : merges)
    require<FileError>(is_utf8(each), name, ": the merge ", quote(each), " is not UTF-8");
  std::string made = R"({"version":"1.0","added_tokens":[)" + added + R"(],"pre_tokenizer":)" +
                     pre_tokenizer_of(known) + R"(,"decoder":{"type":"ByteLevel"},)" +
                     R"("model":{"type":"BPE","ignore_merges":)" +
                     (known.whole_first ? "true" : "false") + R"(,"vocab":{)" + vocab +
                     R"(},"merges":)" + quoted(merges) + "}";
  if (known.nfc) made += R"(,"normalizer":{"type":"NFC"})";
  const bool begins = facts.contains(key("add_bos_token"))
                          ? fact<bool>(facts, key("add_bos_token"), name)
                          : known.begins;
  if (begins)
    made += R"(,"post_processor":)" +
            template_of(fact<std::int64_t>(facts, key("bos_token_id"), name), tokens, name);
  return parse(made + "}", name);
}

ChatTemplate::ChatTemplate(std::string_view text, const std::string& name) {
  std::string plain(text);  // templates may write newlines as \n
  for (std::size_t at = 0; (at = plain.find("\\n", at)) != std::string::npos;)
    plain.replace(at, 2, "\n");
  constexpr std::string_view kTurn =
      "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}"
      "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";
  constexpr std::string_view kDefault =
      "{% if loop.first and messages[0]['role'] != 'system' %}{{ '";
  std::string_view rest = plain;
  const auto take = [&](std::string_view part) {
    const bool there = rest.starts_with(part);
    if (there) rest.remove_prefix(part.size());
    return there;
  };
  bool fits = take("{% for message in messages %}");
  if (take(kDefault)) {
    const std::size_t end = rest.find('\'');
    system_ = rest.substr(0, end);
    rest.remove_prefix(std::min(end, rest.size()));
    fits = fits && system_.find('\\') == std::string::npos && take("' }}{% endif %}");
  }
  require<FileError>(fits && take(kTurn) && rest.empty(), name,
                     ": the chat template is not supported. Gradus only recognizes the ChatML "
                     "templates of SmolLM2 and Qwen2.");
}

ChatText ChatTemplate::render(std::span<const ChatMessage> messages, bool prompt) const {
  ChatText out;
  if (!messages.empty() && messages[0].role != "system") out.text = system_;
  for (const auto& [role, content] : messages) {
    out.text += "<|im_start|>" + role + "\n";
    out.messages.emplace_back(out.text.size(), out.text.size() + content.size());
    out.text += content + kEnd + "\n";
  }
  if (prompt) out.text += "<|im_start|>assistant\n";
  return out;
}

}  // namespace gradus::io
