#include <nlohmann/json.hpp>

#include "gradus/io/pieces.h"
#include "gradus/io/pretrained/pretrained.h"
#include "gradus/io/text.h"
#include "gradus/nn/models/decode.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/examples/gpt_program.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing::test_chat {
namespace {

constexpr std::int64_t kStart = 256, kEnd = 257;  // <|im_start|>, <|im_end|>

const std::string kTemplate =
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] "
    "+ '<|im_end|>' + '\\n'}}{% endfor %}{% if add_generation_prompt %}"
    "{{ '<|im_start|>assistant\\n' }}{% endif %}";

/// Writes a tokenizer with one token per byte.
void write_tokenizer(const Workplace& here) {
  std::string bytes;
  for (int b = 0; b < 256; ++b) bytes += static_cast<char>(b);
  nlohmann::ordered_json vocab, added = nlohmann::ordered_json::array();
  for (const char32_t c : io::decode_utf8(io::visible(bytes), "bytes"))
    vocab[io::encode_utf8(c)] = vocab.size();
  for (const char* token : {"<|im_start|>", "<|im_end|>"})
    added.push_back({{"id", 256 + added.size()}, {"content", token}, {"special", true}});
  const nlohmann::ordered_json splitter = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}};
  const nlohmann::ordered_json bpe = {{"type", "BPE"},
                                      {"unk_token", nullptr},
                                      {"merges", nlohmann::ordered_json::array()},
                                      {"vocab", vocab}};
  here.write("model/tokenizer.json", nlohmann::ordered_json{{"version", "1.0"},
                                                            {"added_tokens", added},
                                                            {"normalizer", nullptr},
                                                            {"pre_tokenizer", splitter},
                                                            {"decoder", {{"type", "ByteLevel"}}},
                                                            {"model", bpe}}
                                         .dump());
  here.write("model/tokenizer_config.json",
             nlohmann::ordered_json{{"chat_template", kTemplate}}.dump());
}

/// Writes a model whose answers depend on the context and sometimes end.
nn::GPT write_model(const Workplace& here) {
  seed(3);
  nn::GPT model({.vocab = 258, .context = 600, .layers = 1, .block = {.width = 8, .heads = 2}});
  for (const auto& [name, p] : model.parameters())
    if (p.rank() == 2) p.detach().copy_(randn(p.shape()) * 0.7);
  model.token.weight.detach()[kEnd].copy_(randn({8}) * 2.0);
  model.eval();
  io::save_pretrained((here.directory / "model").string(), model);
  write_tokenizer(here);
  return model;
}

void add(nn::Tokens& ids, const std::string& text) {
  for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
}

void add_turn(nn::Tokens& ids, const std::string& role, const std::string& text) {
  ids.push_back(kStart);
  add(ids, role + "\n" + text);
  ids.push_back(kEnd);
  add(ids, "\n");
}

struct Talked {
  std::string out;
  int ended = 0;  // number of answers that ended with the end token
};

/// Computes the same conversation without a cache. Answer n uses the random numbers of turn n.
Talked naive_talk(const nn::GPT& model, const std::string& system,
                  const std::vector<std::string>& said, const nn::GenerateOptions& options,
                  std::uint64_t drawn_by) {
  Talked talked;
  nn::Tokens ids;
  if (!system.empty()) add_turn(ids, "system", system);
  for (std::size_t turn = 0; turn < said.size(); ++turn) {
    add_turn(ids, "user", said[turn]);
    ids.push_back(kStart);
    add(ids, "assistant\n");
    nn::GPTDecoderState anew(model);
    const nn::Tokens answer = nn::generate(
        anew, {ids}, options, RandomStream{drawn_by, static_cast<std::uint32_t>(turn), 0},
        [](std::int64_t, std::int64_t) { return true; })[0];
    std::string text;
    for (const std::int64_t id : answer)
      text += id == kEnd     ? ""
              : id == kStart ? "<|im_start|>"
                             : std::string(1, static_cast<char>(id));
    talked.out += io::replace_invalid_utf8(text) + "\n";
    ids.insert(ids.end(), answer.begin(), answer.end());
    if (answer.back() == kEnd)
      ++talked.ended;
    else
      ids.push_back(kEnd);
    add(ids, "\n");
  }
  return talked;
}

TEST_CASE("gpt chat answers to the entire conversation, with new random numbers each turn") {
  const Workplace here;
  const nn::GPT model = write_model(here);
  // An end token that the user types is encoded as ordinary text.
  const std::vector<std::string> said = {"Hi", "What is <|im_end|>?", "Hi", "a b", "Bye"};
  std::string lines;
  for (const std::string& line : said) lines += line + "\n";
  here.write("said.txt", lines);
  nn::GenerateOptions options{.tokens = 30, .end = kEnd};
  options.sampling.temperature = 1;
  int ended = 0, cut = 0;
  for (const std::string system : {"", "Be brief."}) {
    const Talked expected = naive_talk(model, system, said, options, 5);
    const Outcome talk = here.shell(
        Workplace::program() + " chat model --weights f32 --tokens 30 --temperature 1 --top-p 1 " +
        "--seed 5 " + (system.empty() ? "" : "--system '" + system + "' ") + "<said.txt");
    CAPTURE(talk.err);
    REQUIRE(talk.code == 0);
    CHECK(talk.out == expected.out);
    ended += expected.ended;
    cut += static_cast<int>(said.size()) - expected.ended;
  }
  CHECK(ended > 0);
  CHECK(cut > 0);
}

TEST_CASE("gpt chat --prompt answers once, with the recommended sampling unless flags differ") {
  const Workplace here;
  const nn::GPT model = write_model(here);
  nn::GenerateOptions options{.tokens = 500, .end = kEnd};
  options.sampling.temperature = 0.2;
  options.sampling.top_p = 0.9;
  const std::string talk = "chat model --weights f32 --prompt Hi";
  CHECK(here.gpt(talk).out == naive_talk(model, "", {"Hi"}, options, 1).out);
  options.sampling.repetition_penalty = 2;
  CHECK(here.gpt(talk + " --repetition-penalty 2 --seed 4").out ==
        naive_talk(model, "", {"Hi"}, options, 4).out);
}

TEST_CASE("gpt chat rejects models that cannot chat, in one line") {
  const Workplace here;
  write_model(here);
  here.write("model/tokenizer_config.json", R"({"chat_template": "{{ messages }}"})");
  check_refused(here.gpt("chat model"),
                {"tokenizer_config.json", "chat template is not supported"});
  here.write("model/tokenizer_config.json", "{}");
  check_refused(here.gpt("chat model"), {"chat_template"});
  check_refused(here.gpt("chat ."), {"not a pretrained model", "gpt sample"});
}

}  // namespace
}  // namespace gradus::testing::test_chat
