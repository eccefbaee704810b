// The rules of vocabularies and merges, each at its edge.
#include <nlohmann/json.hpp>

#include "gradus/io/bpe.h"
#include "gradus/io/pieces.h"
#include "gradus/io/pretrained_tokenizer.h"
#include "gradus/io/text.h"
#include "gradus/io/word_tokenizer.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/support/refusal.h"

namespace gradus::testing {
namespace {

using io::BpeTokenizer;
using Ids = std::vector<std::int64_t>;
using Words = std::vector<std::string>;

Ids ids_of(const BpeTokenizer& tokenizer, std::string_view piece) {
  Ids ids;
  tokenizer.encode_pieces(std::span(&piece, 1), ids);
  return ids;
}

/// {"…": 0, …}: the letters of all bytes, then what is given.
std::string vocabulary(const Words& more = {}) {
  std::string bytes;
  for (int b = 0; b < 256; ++b) bytes += static_cast<char>(b);
  nlohmann::json vocab;
  for (const char32_t c : io::decode_utf8(io::visible(bytes), "bytes"))
    vocab.emplace(io::encode_utf8(c), vocab.size());
  for (const std::string& each : more) vocab.emplace(each, vocab.size());
  return vocab.dump();
}

}  // namespace

TEST_CASE("bpe: a byte that is no token is left out, and nothing is joined across it") {
  const BpeTokenizer tokenizer({"a", "b", "ab"}, {{0, 1}}, "t");
  CHECK(ids_of(tokenizer, "ab") == Ids{2});
  CHECK(ids_of(tokenizer, "a?b") == Ids{2});  // left out before merges are tried
  CHECK(ids_of(tokenizer, "?ab?") == Ids{2});
  CHECK(ids_of(tokenizer, "bab") == Ids{1, 2});
  CHECK(ids_of(tokenizer, "aba") == Ids{2, 0});
  CHECK(ids_of(tokenizer, "b") == Ids{1});
  CHECK(ids_of(tokenizer, "?").empty());
  CHECK(ids_of(tokenizer, "").empty());
  CHECK_REFUSES(FileError, tokenizer.require_all_bytes("v"), "v", "0");
}

TEST_CASE("bpe: a piece that is a token is that token where it is asked for") {
  BpeTokenizer tokenizer({"a", "b", "c", "ab", "abc"}, {{0, 1}}, "t");
  CHECK(ids_of(tokenizer, "abc") == Ids{3, 2});
  CHECK(ids_of(tokenizer, "ab") == Ids{3});
  tokenizer.set_whole_first(true);
  CHECK(ids_of(tokenizer, "abc") == Ids{4});
  CHECK(ids_of(tokenizer, "abcc") == Ids{3, 2, 2});
  CHECK(ids_of(tokenizer, "cab") == Ids{2, 3});
}

TEST_CASE("bpe: of one text each piece is joined once, wherever its ids came to stand") {
  const BpeTokenizer tokenizer({"a", "b", "ab"}, {{0, 1}}, "t");
  const std::vector<std::string_view> all = {"ab", "?", "ba", "ab", "?", "ba", "a", "ba", ""};
  Ids ids = {7}, wanted = {7, 2, 1, 0, 2, 1, 0, 0, 1, 0};
  tokenizer.encode_pieces(all, ids);
  CHECK(ids == wanted);
}

TEST_CASE("bpe: a tokenizer as JSON, to the letter") {
  const BpeTokenizer tokenizer({"a", " b", "b", " ", "ab"}, {{3, 2}, {0, 2}}, "t");
  CHECK(tokenizer.to_json() ==
        "{\n  \"gradus_tokenizer\": 1,\n  \"merges\": \"Ġ b\\na b\",\n"
        "  \"tokens\": \"a Ġb b Ġ ab\",\n  \"type\": \"bpe\"\n}\n");
}

TEST_CASE("bpe: ids of a vocabulary are 0 to n - 1, each once, of tokens that are not empty") {
  const auto read = [](const std::string& text) {
    return io::tokens_by_id(io::Json::parse(text, "v"));
  };
  CHECK(read("{}").empty());
  CHECK(read(R"({"a": 2, "b": 0, "c": 1})") == Words{"b", "c", "a"});
  const std::vector<std::pair<const char*, const char*>> cases = {
      {R"({"a": 0, "": 1})", "1: ids must be 0 to 1"},
      {R"({"a": 0, "b": -1})", "-1: ids must be 0 to 1"},
      {R"({"a": 0, "b": 2})", "2: ids must be 0 to 1"},
      {R"({"a": 0, "b": 0})", "0: ids must be 0 to 1"},
      {R"({"a": 0, "b": 1000000000000})", "1000000000000: ids must be 0 to 1"},
      {R"({"a": 0, "b": -1000000000000})", "-1000000000000: ids must be 0 to 1"}};
  for (const auto& [text, said] : cases)
    CHECK(contains(refusal([&] { read(text); }), std::string("the id ") + said));
}

TEST_CASE("bpe: empty lines and the version are no merges, and each merge is two tokens") {
  const std::string vocab = vocabulary({"ab"});
  const auto read = [&](const std::string& merges) {
    return io::parse_hugging_face_bpe(vocab, "v", merges, "m");
  };
  CHECK(read("#version: 0.2\n\na b\n\r\n").encode("ab") == Ids{256});
  CHECK(read("").encode("ab").size() == 2);
  const auto hashes =
      io::parse_hugging_face_bpe(vocabulary({"##"}), "v", "#version: 1\n# #\n", "m");
  CHECK(hashes.encode("##") == Ids{256});  // which is no comment
  for (const std::string line : {"a", "a ", " a", " ", "ab?", "a b "})
    CHECK(refusal([&] { read(line); }) ==
          "m: the merge " + io::in_quotes(line) + " is not of two tokens");
}

TEST_CASE("bpe: a vocabulary has 256 tokens to 1,048,576") {
  for (const std::int64_t size : {256, 257, 1 << 20})
    CHECK(BpeTokenizer::train("aa", size).vocab_size() == 256);
  CHECK(BpeTokenizer::train("aa aa", 256).vocab_size() == 256);
  CHECK(BpeTokenizer::train("aa aa", 257).vocab_size() == 257);
  for (const std::int64_t size : {-1, 0, 255, (1 << 20) + 1, 1 << 21})
    CHECK(contains(refusal<ValueError>([&] { BpeTokenizer::train("aa", size); }),
                   "a vocabulary of " + std::to_string(size) + ": must be 256"));
}

TEST_CASE("words: a vocabulary has two words at least, none empty, each once") {
  CHECK(io::WordTokenizer::train("a b", 2).vocab_size() == 2);
  const auto said = [](Words words) {
    return refusal([&] { io::WordTokenizer(std::move(words), "w"); });
  };
  CHECK(said({"", "a"}) == "w: word 0 is empty");
  CHECK(said({"a", ""}) == "w: word 1 is empty");
  CHECK(said({"a", "b", ""}) == "w: word 2 is empty");
  CHECK(said({"a", "b", "b"}) == "w: the word \"b\" stands there twice");
  CHECK(said({"a", "a"}) == "nothing was thrown");  // the first is what is unknown
  CHECK(io::WordTokenizer({"a", "a"}, "w").encode("ab a") == Ids{0, 0});
  CHECK(io::WordTokenizer({"a", "a"}, "w").encode("a") == Ids{1});
  CHECK(said({"a"}) == "w: a vocabulary of 1 words");
}

TEST_CASE("files of tokenizers hold what they must, and no more") {
  const auto said = [](const std::string& rest) {
    return refusal([&] { io::tokenizer_from_json("{" + rest + "}", "t"); });
  };
  const std::string bpe = R"("gradus_tokenizer":1,"type":"bpe","tokens":"a","merges":"","x":0)";
  CHECK(said(bpe) == "t: x: not known here");
  CHECK(said(R"("gradus_tokenizer":1,"type":"word","words":"a b","x":0)") ==
        "t: x: not known here");
  CHECK(said(R"("gradus_tokenizer":1,"type":"byte","model":{})") == "t: model: not known here");
  CHECK(contains(said(R"("model":{})"), "pre_tokenizer"));
}

TEST_CASE("characters: the first and the last code points are tokens too") {
  const std::string all("\0a\xF4\x8F\xBF\xBF", 6);
  const io::CharTokenizer tokenizer(all);
  CHECK(tokenizer.characters() == std::vector<char32_t>{0, U'a', 0x10FFFF});
  CHECK(tokenizer.encode(all) == Ids{0, 1, 2});
  const io::CharTokenizer few("bc");
  for (const std::string text : {"a", "d", "\xF4\x8F\xBF\xBF"})
    CHECK_REFUSES(ValueError, few.encode(text), "2");
}

}  // namespace gradus::testing
