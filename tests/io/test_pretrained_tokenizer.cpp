// Tokenizers of other people: ids equal to those of the `tokenizers` package, and what is refused.
#include <algorithm>
#include <cstdlib>

#include "gradus/io/json.h"
#include "gradus/io/pieces.h"
#include "gradus/io/pretrained_tokenizer.h"
#include "gradus/io/tensor_source.h"
#include "gradus/io/text.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/support/refusal.h"

namespace gradus::testing {
namespace {

using io::PretrainedTokenizer;
using Ids = std::vector<std::int64_t>;

const std::string kGolden = GRADUS_SOURCE_DIR "/tests/golden/tokenizers/";

// A chat template: of each message its turn.
const std::string kLoop = "{% for message in messages %}";
const std::string kTurn =
    "{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + "
    "'\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' "
    "}}{% endif %}";

Ids ids_of(const io::Json& list) {
  Ids ids;
  for (const io::Json& each : list.elements()) ids.push_back(each.whole());
  return ids;
}

/// How many cases of a file there are; each is checked.
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

/// A tokenizer.json of 256 bytes and "ab", with `from` replaced by `to`.
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
  return message_of([&] { PretrainedTokenizer::parse(json, "t.json"); });
}

}  // namespace

TEST_CASE("tokenizers of other people give the ids that their own program gives") {
  for (const char* family : {"gpt2", "smollm", "qwen2", "llama3", "bert"})
    CHECK(check_cases(golden(family), kGolden + family + ".cases") >= 40);
}

TEST_CASE("tokenizer by hand", "[.]") {
  const char* path = std::getenv("GRADUS_TOKENIZER");
  const char* cases = std::getenv("GRADUS_CASES");
  REQUIRE((path && cases));  // tests/golden/make_tokenizers.py says how they are made
  if (std::string_view(path).ends_with(".gguf"))
    WARN(
        check_cases(PretrainedTokenizer::of_gguf(io::TensorSource::open(path).facts(), path), cases)
        << " cases of " << path);
  else
    WARN(check_cases(PretrainedTokenizer::parse(io::read_text(path), path), cases)
         << " cases of " << path);
}

TEST_CASE("a byte-level tokenizer gives the text back, part by part too") {
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

TEST_CASE("long runs of one kind take time that grows with them alone") {
  // at 500,000 characters work that grows with their square would take minutes
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

TEST_CASE("what looks like a special token is mere text to encode_literal") {
  const PretrainedTokenizer tokenizer = golden("llama3");
  const std::string text = "a <|im_end|> b";
  const Ids special = tokenizer.encode(text), literal = tokenizer.encode_literal(text);
  CHECK(std::count(special.begin(), special.end(), 2) == 1);
  CHECK(std::none_of(literal.begin(), literal.end(),
                     [&](std::int64_t id) { return tokenizer.is_special(id); }));
  CHECK(tokenizer.decode(literal) == text);
  CHECK(tokenizer.encode_literal("no such token") == tokenizer.encode("no such token"));
  // In part of a text: only what lies wholly outside of it is a token.
  const std::size_t n = text.size(), second = n + std::string("<|im_end|>").size();
  const std::string twice = text + "<|im_end|>" + text;
  const auto joined = [](Ids first, const Ids& rest) {
    first.push_back(2);
    first.insert(first.end(), rest.begin(), rest.end());
    return first;
  };
  CHECK(tokenizer.encode_literal(twice, second, twice.size()) == joined(special, literal));
  CHECK(tokenizer.encode_literal(twice, 0, n) == joined(literal, special));
  CHECK(tokenizer.encode_literal(text, 5, 6) == literal);  // in the middle of the token
  CHECK(tokenizer.encode_literal(text, n, n) == special);
}

TEST_CASE("a tokenizer of other people is kept as it was read") {
  const PretrainedTokenizer tokenizer = golden("qwen2");
  const auto again = io::tokenizer_from_json(tokenizer.to_json(), "again");
  CHECK(again->vocab_size() == tokenizer.vocab_size());
  CHECK(again->encode("a test, 12 <|im_end|>") == tokenizer.encode("a test, 12 <|im_end|>"));
}

TEST_CASE("a tokenizer.json with an unknown part is refused by its path") {
  const auto tokenizer = PretrainedTokenizer::parse(changed("BPE", "BPE"), "t.json");
  CHECK((tokenizer.encode_whole("abc<end>") == Ids{256, 'c', 257, 257}));
  const auto refused = [](const std::string& from, const std::string& to, const char* message) {
    INFO(from << " → " << to);
    CHECK(contains(fault(from, to), message));
  };
  refused("\"normalizer\":null", R"("normalizer":{"type":"NFKC"})",
          "t.json: normalizer.type: \"NFKC\"");
  refused("{\"type\":\"ByteLevel\",\"add", R"({"type":"Metaspace","add)",
          "pre_tokenizer.type: \"Meta");
  refused("\"add_prefix_space\":false", "\"add_prefix_space\":true",
          "pre_tokenizer.add_prefix_space");
  refused(R"("type":"ByteLevel","add_prefix_space":false,"use_regex":true)",
          R"("type":"Split","pattern":{"Regex":"\\w+"},"behavior":"Isolated")",
          "pre_tokenizer.pattern.Regex: this regular expression is not known");
  refused("BPE", "Unigram", "model.type: \"Unigram\"");
  refused("\"dropout\":null", "\"dropout\":0.1", "model.dropout: 0.1");
  refused("\"dropout\":null", "\"speed\":1", "model.speed: not known here");
  refused("TemplateProcessing", "Roberta", "post_processor.type");
  refused("\"decoder\":{\"type\":\"ByteLevel\"}", "\"decoder\":{\"type\":\"WordPiece\"}",
          "decoder.type");
  refused("\"special\":true", "\"lstrip\":true", "added_tokens[0].lstrip: true");
}

TEST_CASE("a tokenizer.json that contradicts itself is refused") {
  CHECK(contains(fault("[\"a\",\"b\"]", "[\"a\",\"c\"]"), "makes \"ac\", which is no token"));
  CHECK(contains(fault("[\"a\",\"b\"]", "\"a b c\""), "the merge \"a b c\" is not of two tokens"));
  CHECK(contains(fault("[\"a\",\"b\"]", "\"a b\",\"a b\""), "merge 1 stands there twice"));
  CHECK(contains(fault("[\"a\",\"b\"]", "[\"a\"]"), "model.merges[0]: a merge wants two"));
  CHECK(contains(fault("\"ab\":256", "\"ab\":255"), "the id 255: ids must be 0 to 256, each once"));
  CHECK(
      contains(fault("\"ab\":256", "\"ab\":1e3"), "1000.0 stands where a whole number is wanted"));
  CHECK(contains(fault("\"ab\":256", "\"a\":256"), "the key \"a\" stands there twice"));
  CHECK(contains(fault("\"ab\":256", "\"a b\":256"), "' ' (U+0020) in \"a b\" stands for no byte"));
  CHECK(contains(fault("{\"id\":257", "{\"id\":258"),
                 "added_tokens[0].id: 258, but the token \"<end>\""));
  CHECK(contains(fault("\"content\":\"<end>\"", "\"content\":\"\""), "an empty token"));
  CHECK(contains(fault("\"ids\":[257]", "\"ids\":[258]"), "258 is no token: ids are 0 to 257"));
  CHECK(contains(fault("{\"Sequence\":{\"id\":\"A\"}},", ""), "the text itself is missing"));
  CHECK(contains(fault("{\"Sequence\":{\"id\":\"A\"}},", "{\"Sequence\":{}},{\"Sequence\":{}},"),
                 "twice"));
  CHECK(contains(fault("\"model\":", "\"modell\":"), "modell: not known here"));
}

TEST_CASE("a chat template: SmolLM2's is known, programs are not run") {
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

TEST_CASE("a chat template has a loop around its turns, and a system's words end") {
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

}  // namespace gradus::testing
