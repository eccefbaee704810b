// Compares pretrained tokenizers with the `tokenizers` package.
#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "gradus/io/json.h"
#include "gradus/io/pieces.h"
#include "gradus/io/pretrained/pretrained_tokenizer.h"
#include "gradus/io/pretrained/tensor_source.h"
#include "gradus/io/pretrained/word_piece.h"
#include "gradus/io/text.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/support/refusal.h"

namespace gradus::testing::test_pretrained_tokenizer {
namespace {

using io::PretrainedTokenizer;
using Ids = std::vector<std::int64_t>;

const std::string kGolden = GRADUS_SOURCE_DIR "/tests/golden/tokenizers/";

const std::string kLoop = "{% for message in messages %}";
const std::string kTurn =
    "{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + "
    "'\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' "
    "}}{% endif %}";

Ids ids_of(const io::Json& list) {
  Ids ids;
  for (const io::Json& each : list.elements()) ids.push_back(each.as_int());
  return ids;
}

int check_cases(const PretrainedTokenizer& tokenizer, const std::string& cases) {
  int count = 0;
  for (const io::Json& each : io::Json::parse(io::read_text(cases), cases).at("cases").elements()) {
    const std::string text = each.at("text").text();
    const Ids ids = ids_of(each.at("ids"));
    INFO(cases << ": " << text);
    CHECK(tokenizer.encode(text) == ids);
    CHECK(tokenizer.encode_whole(text) == (each.has("whole") ? ids_of(each.at("whole")) : ids));
    ++count;
  }
  return count;
}

PretrainedTokenizer golden(const std::string& family) {
  const std::string path = kGolden + family + ".json";
  return PretrainedTokenizer::parse(io::read_text(path), path);
}

/// Returns a tokenizer.json with 256 bytes and "ab", in which `to` replaces `from`.
std::string changed(const std::string& from, const std::string& to) {
  std::string vocab, bytes;
  for (int b = 0; b < 256; ++b) bytes += static_cast<char>(b);
  int id = 0;
  for (const char32_t c : io::decode_utf8(io::visible(bytes), "bytes")) {
    const std::string escape = c == '"' || c == '\\' ? "\\" : "";
    vocab +=
        (vocab.empty() ? "\"" : ",\"") + escape + io::encode_utf8(c) + "\":" + std::to_string(id++);
  }
  std::string json =
      R"({"version":"1.0","added_tokens":[{"id":257,"content":"<end>","special":true}],)"
      R"("normalizer":null,"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,)"
      R"("use_regex":true},"post_processor":{"type":"TemplateProcessing","single":[{"Sequence":)"
      R"({"id":"A"}},{"SpecialToken":{"id":"<end>"}}],"special_tokens":{"<end>":{"id":"<end>",)"
      R"("ids":[257]}}},"decoder":{"type":"ByteLevel"},"model":{"type":"BPE","dropout":null,)"
      R"("unk_token":null,"merges":[["a","b"]],"vocab":{)" +
      vocab + R"(,"ab":256}}})";
  const std::size_t at = json.find(from);
  REQUIRE(at != std::string::npos);
  return json.replace(at, from.size(), to);
}

std::string fault(const std::string& from, const std::string& to) {
  const std::string json = changed(from, to);
  return message_of<FileError>([&] { PretrainedTokenizer::parse(json, "t.json"); });
}

}  // namespace

TEST_CASE("pretrained tokenizers return the same ids as the tokenizers package") {
  for (const char* family : {"gpt2", "smollm", "qwen2", "llama3", "bert"})
    CHECK(check_cases(golden(family), kGolden + family + ".cases") >= 40);
}

TEST_CASE("helper: check a tokenizer", "[.]") {
  const char* path = std::getenv("GRADUS_TOKENIZER");
  const char* cases = std::getenv("GRADUS_CASES");
  REQUIRE((path && cases));  // see tests/golden/make_tokenizers.py
  if (std::string_view(path).ends_with(".gguf"))
    WARN(
        check_cases(PretrainedTokenizer::of_gguf(io::TensorSource::open(path).facts(), path), cases)
        << " cases of " << path);
  else
    WARN(check_cases(PretrainedTokenizer::parse(io::read_text(path), path), cases)
         << " cases of " << path);
}

TEST_CASE("a byte-level tokenizer restores the text, also token by token") {
  for (const char* family : {"gpt2", "llama3"}) {
    const PretrainedTokenizer tokenizer = golden(family);
    const std::string text = "naïve 日本 🙂 \r\n\n it's 12345 <|im_end|>\xFF\xC3";
    const Ids ids = tokenizer.encode(text);
    std::string bytes, parts;
    io::StreamDecoder stream(tokenizer);
    for (const std::int64_t id : ids) {
      bytes += tokenizer.bytes_of(id);
      const std::string part = stream.push(id);
      CHECK(io::is_utf8(part));
      parts += part;
    }
    CHECK(bytes == text);
    CHECK(parts + stream.finish() == io::replace_invalid_utf8(text));
    CHECK(tokenizer.id_of("<|im_end|>") == std::optional<std::int64_t>(2));
    CHECK(tokenizer.is_special(2));
    CHECK_FALSE(tokenizer.is_special(3));
    CHECK_FALSE(tokenizer.id_of("the"));
    CHECK_THROWS_AS(tokenizer.bytes_of(tokenizer.vocab_size()), IndexError);
  }
  CHECK(golden("bert").decode(golden("bert").encode("The [MASK] of a")) == " the [MASK] of a");
}

TEST_CASE("splitting long runs of one character takes linear time") {
  // A quadratic algorithm would take minutes.
  for (const char* each : {"7", "a", " ", "\n", "!", "'", "é"}) {
    std::string text;
    for (int i = 0; i < 500'000; ++i) text += each;
    for (const io::Splitter splitter :
         {io::Splitter::gpt2, io::Splitter::qwen2, io::Splitter::llama3, io::Splitter::digits}) {
      std::size_t bytes = 0;
      for (const std::string_view piece : io::split(text, splitter)) bytes += piece.size();
      CHECK(bytes == text.size());
    }
    const PretrainedTokenizer tokenizer = golden("llama3");
    CHECK(tokenizer.decode(tokenizer.encode(text)) == text);
  }
}

TEST_CASE("encode_literal treats special tokens as plain text") {
  const PretrainedTokenizer tokenizer = golden("llama3");
  const std::string text = "a <|im_end|> b";
  const Ids special = tokenizer.encode(text), literal = tokenizer.encode_literal(text);
  CHECK(std::count(special.begin(), special.end(), 2) == 1);
  CHECK(std::none_of(literal.begin(), literal.end(),
                     [&](std::int64_t id) { return tokenizer.is_special(id); }));
  CHECK(tokenizer.decode(literal) == text);
  CHECK(tokenizer.encode_literal("no such token") == tokenizer.encode("no such token"));
  // Special tokens are recognized only if they are entirely outside the literal range.
  const std::size_t n = text.size(), second = n + std::string("<|im_end|>").size();
  const std::string twice = text + "<|im_end|>" + text;
  const auto joined = [](Ids first, const Ids& rest) {
    first.push_back(2);
    first.insert(first.end(), rest.begin(), rest.end());
    return first;
  };
  CHECK(tokenizer.encode_literal(twice, second, twice.size()) == joined(special, literal));
  CHECK(tokenizer.encode_literal(twice, 0, n) == joined(literal, special));
  CHECK(tokenizer.encode_literal(text, 5, 6) == literal);  // the range is inside the special token
  CHECK(tokenizer.encode_literal(text, n, n) == special);
}

TEST_CASE("a pretrained tokenizer is saved unchanged") {
  const PretrainedTokenizer tokenizer = golden("qwen2");
  const auto again = io::tokenizer_from_json(tokenizer.to_json(), "again");
  CHECK(again->vocab_size() == tokenizer.vocab_size());
  CHECK(again->encode("a test, 12 <|im_end|>") == tokenizer.encode("a test, 12 <|im_end|>"));
}

TEST_CASE("a tokenizer.json with an unsupported part is rejected with the part's path") {
  const auto tokenizer = PretrainedTokenizer::parse(changed("BPE", "BPE"), "t.json");
  CHECK((tokenizer.encode_whole("abc<end>") == Ids{256, 'c', 257, 257}));
  const auto rejected = [](const std::string& from, const std::string& to, const char* message) {
    INFO(from << " → " << to);
    CHECK(contains(fault(from, to), message));
  };
  rejected("\"normalizer\":null", R"("normalizer":{"type":"NFKC"})",
           "t.json: normalizer.type: \"NFKC\"");
  rejected("{\"type\":\"ByteLevel\",\"add", R"({"type":"Metaspace","add)",
           "pre_tokenizer.type: \"Meta");
  rejected("\"add_prefix_space\":false", "\"add_prefix_space\":true",
           "pre_tokenizer.add_prefix_space");
  rejected(R"("type":"ByteLevel","add_prefix_space":false,"use_regex":true)",
           R"("type":"Split","pattern":{"Regex":"\\w+"},"behavior":"Isolated")",
           "pre_tokenizer.pattern.Regex: must be the regular expression of");
  rejected("BPE", "Unigram", "model.type: \"Unigram\"");
  rejected("\"dropout\":null", "\"dropout\":0.1", "model.dropout: 0.1");
  rejected("\"dropout\":null", "\"speed\":1", "model.speed");
  rejected("TemplateProcessing", "Roberta", "post_processor.type");
  rejected("\"decoder\":{\"type\":\"ByteLevel\"}", "\"decoder\":{\"type\":\"WordPiece\"}",
           "decoder.type");
  rejected("\"special\":true", "\"lstrip\":true", "added_tokens[0].lstrip: true");
}

TEST_CASE("a tokenizer.json that contradicts itself is rejected") {
  CHECK(contains(fault("[\"a\",\"b\"]", "[\"a\",\"c\"]"), "\"ac\""));
  CHECK(contains(fault("[\"a\",\"b\"]", "\"a b c\""), "\"a b c\""));
  CHECK(contains(fault("[\"a\",\"b\"]", "\"a b\",\"a b\""), "merge 1"));
  CHECK(contains(fault("[\"a\",\"b\"]", "[\"a\"]"), "model.merges[0]: a merge must have two"));
  CHECK(contains(fault("\"ab\":256", "\"ab\":255"), "255"));
  CHECK(contains(fault("\"ab\":256", "\"ab\":1e3"), "1000.0"));
  CHECK(contains(fault("\"ab\":256", "\"a\":256"), "the key \"a\""));
  CHECK(contains(fault("\"ab\":256", "\"a b\":256"), "' ' (U+0020) in \"a b\""));
  CHECK(contains(fault("{\"id\":257", "{\"id\":258"),
                 "added_tokens[0].id: the token \"<end>\" must have the id 257, got 258"));
  CHECK(
      contains(fault("\"content\":\"<end>\"", "\"content\":\"\""), "the token must not be empty"));
  CHECK(contains(fault("\"ids\":[257]", "\"ids\":[258]"), "258"));
  CHECK(contains(fault("{\"Sequence\":{\"id\":\"A\"}},", ""), "the template has no \"Sequence\""));
  CHECK(contains(fault("{\"Sequence\":{\"id\":\"A\"}},", "{\"Sequence\":{}},{\"Sequence\":{}},"),
                 "twice"));
  CHECK(contains(fault("\"model\":", "\"modell\":"), "modell"));
}

TEST_CASE("the chat template of SmolLM2 is supported, and other templates are rejected") {
  const std::string system =
      "{% if loop.first and messages[0]['role'] != 'system' %}{{ "
      "'<|im_start|>system\nYou help.<|im_end|>\n' }}{% endif %}";
  const io::ChatTemplate known(kLoop + system + kTurn, "t");
  const std::vector<io::ChatMessage> talk = {{"user", "Hi"}, {"assistant", "Yes?"}};
  CHECK(known.render(talk).text ==
        "<|im_start|>system\nYou help.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
        "<|im_start|>assistant\nYes?<|im_end|>\n<|im_start|>assistant\n");
  const std::vector<io::ChatMessage> own = {{"system", "Be brief."}};
  CHECK(known.render(own, false).text == "<|im_start|>system\nBe brief.<|im_end|>\n");
  CHECK(io::ChatTemplate(kLoop + kTurn, "t").render(own, false).text ==
        known.render(own, false).text);
  const io::ChatText whole = known.render(talk);
  REQUIRE(whole.messages.size() == talk.size());
  for (std::size_t i = 0; i < talk.size(); ++i) {
    const auto [begin, end] = whole.messages[i];
    CHECK(whole.text.substr(begin, end - begin) == talk[i].content);
    CHECK(whole.text.substr(end).starts_with(io::ChatTemplate::kEnd));
  }
  for (const std::string& other :
       {std::string(), kLoop, kTurn, kLoop + system, kLoop + system + kTurn + " ",
        kLoop + system + kLoop + kTurn, std::string("{% for i in range(10**9) %}{% endfor %}"),
        kLoop + system.substr(0, 70)})
    CHECK_REFUSES(FileError, io::ChatTemplate(other, "t.gguf"), "t.gguf", "template");
}

TEST_CASE("a chat template requires a loop around its turns and a complete system text") {
  const std::string begin = "{% if loop.first and messages[0]['role'] != 'system' %}{{ '",
                    end = "' }}{% endif %}";
  const io::ChatTemplate known(kLoop + begin + "S" + end + kTurn, "t");
  CHECK(known.render({}).text == "<|im_start|>assistant\n");
  CHECK(known.render({}, false).text.empty());
  for (const std::string& other : {kTurn, begin + "S" + end + kTurn, kLoop + begin + "S" + kTurn,
                                   kLoop + begin + "\\t" + end + kTurn,
                                   kLoop + begin + "S" + end + end + kTurn, kLoop + begin + "S"})
    CHECK_REFUSES(FileError, io::ChatTemplate(other, "t"), "t", "template");
}

namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

json numbered(const Words& tokens) {
  json vocab = json::object();
  for (const std::string& each : tokens) vocab.emplace(each, vocab.size());
  return vocab;
}

/// Ids: 0 a, 1 b, 2 1, 3 2, 4 Ġ, 5 aĠ, 6 11, 7 12, 8 abb. No merge creates token 8.
json byte_pairs() {
  return {{"pre_tokenizer", {{"type", "ByteLevel"}}},
          {"model",
           {{"vocab", numbered({"a", "b", "1", "2", "Ġ", "aĠ", "11", "12", "abb"})},
            {"merges", {"a Ġ", "1 1", "1 2"}}}}};
}

json split_by(const char* pattern) {
  return {{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}};
}

json word_pieces() {
  return {{"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
          {"normalizer",
           {{"type", "BertNormalizer"},
            {"lowercase", true},
            {"clean_text", true},
            {"handle_chinese_chars", true}}},
          {"model",
           {{"vocab", numbered({"a", "##b", "?"})},
            {"unk_token", "?"},
            {"continuing_subword_prefix", "##"},
            {"max_input_chars_per_word", 3}}}};
}

PretrainedTokenizer parse(const json& document) {
  return PretrainedTokenizer::parse(document.dump(), "t");
}

std::string error_of(const json& document) {
  return refusal([&] { parse(document); });
}

Ids ids(const json& document, const std::string& text) { return parse(document).encode(text); }

}  // namespace

TEST_CASE("tokenizer.json: the pre-tokenizer splits the text before merges") {
  json t = byte_pairs();
  CHECK(ids(t, "a b") == Ids{0, 4, 1});
  t["pre_tokenizer"]["use_regex"] = false;
  CHECK(ids(t, "a b") == Ids{5, 1});
  CHECK(ids(t, "1112") == Ids{6, 7});
  t["pre_tokenizer"] = {{"type", "Digits"}, {"individual_digits", true}};
  CHECK(ids(t, "1112") == Ids{2, 2, 2, 3});
  t["pre_tokenizer"]["individual_digits"] = false;
  CHECK(contains(error_of(t), "t: pre_tokenizer.individual_digits: false"));
  t["pre_tokenizer"] = split_by(io::kQwen2Pattern);
  CHECK(ids(t, "1112") == Ids{2, 2, 2, 3});
  t["pre_tokenizer"] = split_by(io::kLlama3Pattern);
  CHECK(ids(t, "1112") == Ids{6, 2, 3});
  t["pre_tokenizer"]["invert"] = true;
  CHECK(contains(error_of(t), "t: pre_tokenizer.invert: true"));
  t["pre_tokenizer"]["invert"] = false;
  CHECK(error_of(t) == "nothing was thrown");
  t["pre_tokenizer"]["behavior"] = "Removed";
  CHECK(contains(error_of(t), "t: pre_tokenizer.behavior: \"Removed\""));
  t["pre_tokenizer"] = split_by(io::kQwen2Pattern);
  t["pre_tokenizer"]["more"] = 1;
  CHECK(contains(error_of(t), "t: pre_tokenizer.more"));
  t["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", {{{"type", "Other"}}}}};
  CHECK(contains(error_of(t), "t: pre_tokenizer.pretokenizers[0].type: \"Other\""));
}

TEST_CASE("tokenizer.json: ignore_merges keeps a piece that is a token") {
  json t = byte_pairs();
  CHECK(ids(t, "abb") == Ids{0, 1, 1});
  t["model"]["ignore_merges"] = false;
  CHECK(ids(t, "abb") == Ids{0, 1, 1});
  t["model"]["ignore_merges"] = true;
  CHECK(ids(t, "abb") == Ids{8});
}

TEST_CASE("tokenizer.json: unknown normalizer keys and normalized added tokens are rejected") {
  json t = byte_pairs(), b = word_pieces();
  const json added = json::array({{{"id", 9}, {"content", "<e>"}, {"normalized", true}}});
  t["added_tokens"] = added;
  CHECK(error_of(t) == "nothing was thrown");
  t["normalizer"] = {{"type", "NFC"}};
  CHECK(contains(error_of(t), "t: added_tokens[0].normalized: true"));
  t["added_tokens"][0]["normalized"] = false;
  CHECK(error_of(t) == "nothing was thrown");
  t["normalizer"]["more"] = 1;
  CHECK(contains(error_of(t), "t: normalizer.more"));
  b["added_tokens"] = added;
  b["added_tokens"][0]["id"] = 3;
  CHECK(contains(error_of(b), "t: added_tokens[0].normalized: true"));
  b.erase("added_tokens");
  b["pre_tokenizer"]["more"] = 1;
  CHECK(contains(error_of(b), "t: pre_tokenizer.more"));
}

TEST_CASE("tokenizer.json: added tokens match their text, the longest first") {
  json t = byte_pairs();
  t["added_tokens"] = json::array({{{"id", 0}, {"content", "a"}},
                                   {{"id", 9}, {"content", "<e>"}, {"special", true}},
                                   {{"id", 10}, {"content", "<e> b"}}});
  const PretrainedTokenizer made = parse(t);
  CHECK(made.encode("<e>b<e> b<e>") == Ids{9, 1, 10, 9});
  CHECK(made.bytes_of(10) == "<e> b");
  CHECK(made.encode("aab") == Ids{0, 0, 1});
  CHECK(made.encode_literal("a") == Ids{0});
  CHECK(made.is_special(9));
  CHECK_FALSE(made.is_special(10));
  for (const std::int64_t id : {-1, 11}) {
    CHECK_THROWS_AS(made.is_special(id), IndexError);
    CHECK_THROWS_AS(made.bytes_of(id), IndexError);
    CHECK_THROWS_AS(parse(word_pieces()).bytes_of(id), IndexError);
  }
  t["model"]["vocab"].emplace("x y", 9);  // not byte letters, so the token is literal
  t["added_tokens"] = json::array({{{"id", 9}, {"content", "x y"}}});
  CHECK(ids(t, "bx yb") == Ids{1, 9, 1});
}

TEST_CASE("tokenizer.json: words longer than the limit of 1 to 200 characters are unknown") {
  json t = word_pieces();
  CHECK(ids(t, "Abb ab b abbb") == Ids{0, 1, 1, 0, 1, 2, 2});
  json wide = t;  // two bytes per character
  wide["model"]["vocab"] = numbered({"я", "##я", "?"});
  CHECK(ids(wide, "яяя яяяя") == Ids{0, 1, 1, 2});
  for (const int most : {1, 200}) {
    t["model"]["max_input_chars_per_word"] = most;
    for (const int n : {most, most + 1}) {
      const std::string word = "a" + std::string(static_cast<std::size_t>(n) - 1, 'b');
      const Ids got = ids(t, word);
      CHECK(got.size() == static_cast<std::size_t>(n > most ? 1 : n));
      CHECK((got[0] == 2) == (n > most));
    }
  }
  for (const int most : {-1, 0, 201}) {
    t["model"]["max_input_chars_per_word"] = most;
    CHECK(error_of(t) ==
          str_cat("t: model.max_input_chars_per_word: must be 1 to 200, got ", most));
  }
}

TEST_CASE("the BERT normalizer drops invisible characters and converts every blank to a space") {
  const io::BertNormalizer cleaned{true, false, false, false}, nothing{false, false, false, false};
  std::vector<char32_t> all = {0xFFFD, 0x200B, 0x2028, 0x3000, 0x4E00};
  for (char32_t c = 0; c < 0x180; ++c) all.push_back(c);
  for (const char32_t c : all) {
    const bool line = c == '\t' || c == '\n' || c == '\r';
    const bool gone =
        !line && (c < 32 || (c >= 127 && c < 160) || c == 0xFFFD || c == 0x200B || c == 0xAD);
    const bool blank = line || c == ' ' || c == 0xA0 || c == 0x2028 || c == 0x3000;
    const std::string text = io::encode_utf8(c);
    INFO(io::escape(c));
    CHECK(cleaned("a" + text + "b") == "a" + (gone ? "" : blank ? " " : text) + "b");
    CHECK(nothing(text) == text);
  }
}

TEST_CASE("the BERT normalizer separates Chinese characters if requested") {
  const io::BertNormalizer apart{false, true, false, false}, plain{false, false, false, false};
  const std::pair<char32_t, char32_t> blocks[] = {
      {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},  {0x20000, 0x2A6DF},
      {0x2A700, 0x2B81F}, {0x2B920, 0x2CEAF}, {0x2F800, 0x2FA1F}};
  for (const auto& [first, last] : blocks)
    for (const std::uint32_t number :
         {first - 1u, first + 0u, first + 1u, last - 1u, last + 0u, last + 1u}) {
      const char32_t c = number;
      const std::string text = io::encode_utf8(c);
      INFO(io::escape(c));
      CHECK(apart(text) == (first <= c && c <= last ? " " + text + " " : text));
      CHECK(plain(text) == text);
    }
}

TEST_CASE("a GGUF tokenizer splits words as its pre-tokenizer's name specifies") {
  using Facts = std::map<std::string, io::Fact>;
  const Words tokens = {"a", "b", "1", "2", "Ġ", "aĠ", "11", "12", "abb", "Ã", "©", "e", "Ì", "ģ"};
  const auto made = [&](const std::string& pre) {
    const Facts facts = {{"tokenizer.ggml.model", std::string("gpt2")},
                         {"tokenizer.ggml.pre", pre},
                         {"tokenizer.ggml.tokens", tokens},
                         {"tokenizer.ggml.token_type", Ids(tokens.size(), 1)},
                         {"tokenizer.ggml.bos_token_id", std::int64_t{1}},
                         {"tokenizer.ggml.merges", Words{"a Ġ", "1 1", "1 2"}}};
    return PretrainedTokenizer::of_gguf(facts, "g");
  };
  for (const std::string pre : {"gpt-2", "smollm", "qwen2", "llama-bpe"}) {
    INFO(pre);
    const PretrainedTokenizer tokenizer = made(pre);
    const bool qwen2 = pre == "qwen2", llama = pre == "llama-bpe";
    const Ids digits = pre == "gpt-2" ? Ids{6, 7} : llama ? Ids{6, 2, 3} : Ids{2, 2, 2, 3};
    CHECK(tokenizer.encode("1112") == digits);
    CHECK(tokenizer.encode("a b") == Ids{0, 4, 1});
    CHECK(tokenizer.encode("abb") == (llama ? Ids{8} : Ids{0, 1, 1}));
    CHECK(tokenizer.encode("e\u0301") == (qwen2 ? Ids{9, 10} : Ids{11, 12, 13}));
    CHECK(tokenizer.encode_whole("a") == (llama ? Ids{1, 0} : Ids{0}));
    const json written = json::parse(tokenizer.to_json());
    CHECK(written["pre_tokenizer"]["pretokenizers"].back()["trim_offsets"] == true);
    if (!llama) continue;
    const json& single = written["post_processor"]["single"];
    CHECK(single[0]["SpecialToken"] == json{{"id", "b"}, {"type_id", 0}});
    CHECK(single[1]["Sequence"] == json{{"id", "A"}, {"type_id", 0}});
  }
}

TEST_CASE("a GGUF tokenizer has special tokens, and invalid metadata is rejected") {
  using Facts = std::map<std::string, io::Fact>;
  const std::string at = "tokenizer.ggml.";
  const Facts facts = {{at + "model", std::string("gpt2")},
                       {at + "pre", std::string("gpt-2")},
                       {at + "tokens", Words{"a", "b", "<end>", "<mine>"}},
                       {at + "token_type", Ids{1, 1, 3, 4}},  // 3: control; 4: custom
                       {at + "bos_token_id", std::int64_t{2}},
                       {at + "merges", Words{}}};
  const auto with = [&](const std::string& key, const io::Fact& value) {
    Facts changed = facts;
    changed[at + key] = value;
    return changed;
  };
  const auto made = [](const Facts& of) { return PretrainedTokenizer::of_gguf(of, "g"); };
  CHECK(made(facts).encode("a<end>b<mine>") == Ids{0, 2, 1, 3});
  CHECK(made(facts).decode(Ids{0, 2, 1, 3}) == "a<end>b<mine>");
  CHECK(made(facts).encode_whole("a") == Ids{0});
  CHECK(made(with("add_bos_token", true)).encode_whole("a") == Ids{2, 0});
  Facts llama = with("pre", std::string("llama-bpe"));
  CHECK(made(llama).encode_whole("a") == Ids{2, 0});
  llama[at + "add_bos_token"] = false;
  CHECK(made(llama).encode_whole("a") == Ids{0});

  CHECK_REFUSES(FileError, made(with("model", std::string("llama"))), "g", "model", "llama");
  CHECK_REFUSES(FileError, made(with("pre", std::string("other"))), "g", "pre", "other");
  CHECK_REFUSES(FileError, made(with("tokens", Words{"a", "b", "b", "c"})), "g", "\"b\"");
  CHECK_REFUSES(FileError, made(with("token_type", Ids{1, 1, 3})), "g", "token_type", "3", "4");
  Facts beyond = with("add_bos_token", true);
  beyond[at + "bos_token_id"] = std::int64_t{99};
  CHECK_REFUSES(FileError, made(beyond), "g", "bos_token_id", "99");
}

}  // namespace gradus::testing::test_pretrained_tokenizer
