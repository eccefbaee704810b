// What a tokenizer.json and a GGUF file's tokens may say, each rule at its edge.
#include <nlohmann/json.hpp>

#include "gradus/io/pretrained_tokenizer.h"
#include "gradus/io/text.h"
#include "gradus/io/unicode.h"
#include "gradus/io/word_piece.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/support/refusal.h"

namespace gradus::testing {
namespace {

using io::PretrainedTokenizer;
using nlohmann::json;
using Ids = std::vector<std::int64_t>;
using Words = std::vector<std::string>;

json numbered(const Words& tokens) {
  json vocab = json::object();
  for (const std::string& each : tokens) vocab.emplace(each, vocab.size());
  return vocab;
}

/// Byte pairs of a few letters: 0 a, 1 b, 2 1, 3 2, 4 Ġ, 5 aĠ, 6 11, 7 12, 8 abb; no merge gives 8.
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

std::string said(const json& document) {
  return refusal([&] { parse(document); });
}

Ids ids(const json& document, const std::string& text) { return parse(document).encode(text); }

}  // namespace

TEST_CASE("tokenizer.json: how a text is cut before its pairs are joined") {
  json t = byte_pairs();
  CHECK(ids(t, "a b") == Ids{0, 4, 1});
  t["pre_tokenizer"]["use_regex"] = false;
  CHECK(ids(t, "a b") == Ids{5, 1});
  CHECK(ids(t, "1112") == Ids{6, 7});
  t["pre_tokenizer"] = {{"type", "Digits"}, {"individual_digits", true}};
  CHECK(ids(t, "1112") == Ids{2, 2, 2, 3});
  t["pre_tokenizer"]["individual_digits"] = false;
  CHECK(said(t) == "t: pre_tokenizer.individual_digits: false is not known here");
  t["pre_tokenizer"] = split_by(io::kQwen2Pattern);
  CHECK(ids(t, "1112") == Ids{2, 2, 2, 3});
  t["pre_tokenizer"] = split_by(io::kLlama3Pattern);
  CHECK(ids(t, "1112") == Ids{6, 2, 3});
  t["pre_tokenizer"]["invert"] = true;
  CHECK(said(t) == "t: pre_tokenizer.invert: true is not known here");
  t["pre_tokenizer"]["invert"] = false;
  CHECK(said(t) == "nothing was thrown");
  t["pre_tokenizer"]["behavior"] = "Removed";
  CHECK(said(t) == "t: pre_tokenizer.behavior: \"Removed\" is not known here");
  t["pre_tokenizer"] = split_by(io::kQwen2Pattern);
  t["pre_tokenizer"]["more"] = 1;
  CHECK(said(t) == "t: pre_tokenizer.more: not known here");
  t["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", {{{"type", "Other"}}}}};
  CHECK(said(t) == "t: pre_tokenizer.pretokenizers[0].type: \"Other\" is not known here");
}

TEST_CASE(
    "tokenizer.json: a piece that is a token is it where merges are ignored, and only there") {
  json t = byte_pairs();
  CHECK(ids(t, "abb") == Ids{0, 1, 1});
  t["model"]["ignore_merges"] = false;
  CHECK(ids(t, "abb") == Ids{0, 1, 1});
  t["model"]["ignore_merges"] = true;
  CHECK(ids(t, "abb") == Ids{8});
}

TEST_CASE("tokenizer.json: a normaliser has no key more, and added tokens are not normalised") {
  json t = byte_pairs(), b = word_pieces();
  const json added = json::array({{{"id", 9}, {"content", "<e>"}, {"normalized", true}}});
  t["added_tokens"] = added;
  CHECK(said(t) == "nothing was thrown");
  t["normalizer"] = {{"type", "NFC"}};
  CHECK(said(t) == "t: added_tokens[0].normalized: true is not known here");
  t["added_tokens"][0]["normalized"] = false;
  CHECK(said(t) == "nothing was thrown");
  t["normalizer"]["more"] = 1;
  CHECK(said(t) == "t: normalizer.more: not known here");
  b["added_tokens"] = added;
  b["added_tokens"][0]["id"] = 3;
  CHECK(said(b) == "t: added_tokens[0].normalized: true is not known here");
  b.erase("added_tokens");
  b["pre_tokenizer"]["more"] = 1;
  CHECK(said(b) == "t: pre_tokenizer.more: not known here");
}

TEST_CASE("tokenizer.json: added tokens stand for their own text, the longest first") {
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
  t["model"]["vocab"].emplace("x y", 9);  // a token that is no visible letters is one as it stands
  t["added_tokens"] = json::array({{{"id", 9}, {"content", "x y"}}});
  CHECK(ids(t, "bx yb") == Ids{1, 9, 1});
}

TEST_CASE("tokenizer.json: a word has 1 to 200 characters at most, or is unknown") {
  json t = word_pieces();
  CHECK(ids(t, "Abb ab b abbb") == Ids{0, 1, 1, 0, 1, 2, 2});
  json wide = t;  // of two bytes each
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
    CHECK(said(t) == "t: model.max_input_chars_per_word: 1 to 200 is wanted");
  }
}

TEST_CASE("BERT's normaliser drops what cannot be seen, and makes every blank a space") {
  const io::BertNormalizer cleaned{true, false, false, false}, nothing{false, false, false, false};
  std::vector<char32_t> all = {0xFFFD, 0x200B, 0x2028, 0x3000, 0x4E00};
  for (char32_t c = 0; c < 0x180; ++c) all.push_back(c);
  for (const char32_t c : all) {
    const bool line = c == '\t' || c == '\n' || c == '\r';
    const bool gone =
        !line && (c < 32 || (c >= 127 && c < 160) || c == 0xFFFD || c == 0x200B || c == 0xAD);
    const bool blank = line || c == ' ' || c == 0xA0 || c == 0x2028 || c == 0x3000;
    const std::string text = io::encode_utf8(c);
    INFO(io::shown(c));
    CHECK(cleaned("a" + text + "b") == "a" + (gone ? "" : blank ? " " : text) + "b");
    CHECK(nothing(text) == text);
  }
}

TEST_CASE("BERT's normaliser sets each Chinese character apart, where it is asked to") {
  const io::BertNormalizer apart{false, true, false, false}, plain{false, false, false, false};
  const std::pair<char32_t, char32_t> blocks[] = {
      {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},  {0x20000, 0x2A6DF},
      {0x2A700, 0x2B81F}, {0x2B920, 0x2CEAF}, {0x2F800, 0x2FA1F}};
  for (const auto& [first, last] : blocks)
    for (const std::uint32_t number :
         {first - 1u, first + 0u, first + 1u, last - 1u, last + 0u, last + 1u}) {
      const char32_t c = number;
      const std::string text = io::encode_utf8(c);
      INFO(io::shown(c));
      CHECK(apart(text) == (first <= c && c <= last ? " " + text + " " : text));
      CHECK(plain(text) == text);
    }
}

TEST_CASE("the words of a GGUF file's tokenizer are cut as its name says") {
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

TEST_CASE("the first of the combining marks is composed as the others are") {
  CHECK(io::composed({U'a', 0x300}) == io::Characters{0xE0});
  CHECK(io::composed({0xE0, 0x2FF, U'a'}) == io::Characters{0xE0, 0x2FF, U'a'});
}

TEST_CASE("only a syllable of Hangul without a tail takes one") {
  for (const char32_t c : {char32_t{0xABFF}, char32_t{0xAC00 - 28}, char32_t{0xD7A4}, U'a'})
    for (const char32_t tail : {0x11A8, 0x11C2}) {
      const io::Characters two = {c, tail};
      CHECK(io::composed(two) == two);
    }
  CHECK(io::composed({0xD788, 0x11C2}) == io::Characters{0xD7A3});
}

}  // namespace gradus::testing
