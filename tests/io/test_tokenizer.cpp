#include <random>
#include <string>
#include <vector>

#include "gradus/io/text.h"
#include "gradus/io/tokenizer.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/support/refusal.h"

namespace gradus::testing::test_tokenizer {
namespace {

using Ids = std::vector<std::int64_t>;

std::string stream(const io::Tokenizer& tokenizer, const Ids& ids) {
  io::StreamDecoder decoder(tokenizer);
  std::string text;
  for (const std::int64_t id : ids) text += decoder.push(id);
  return text + decoder.finish();
}

}  // namespace

TEST_CASE("tokenizer: characters are numbered in ascending order") {
  const io::CharTokenizer tokenizer("banana\nÄ🙂");
  CHECK(tokenizer.name() == "character");
  CHECK(tokenizer.vocab_size() == 6);
  CHECK((tokenizer.characters() == std::vector<char32_t>{U'\n', U'a', U'b', U'n', U'Ä', U'🙂'}));
  CHECK((tokenizer.encode("nabÄ🙂\n") == Ids{3, 1, 2, 4, 5, 0}));
  CHECK(tokenizer.encode("").empty());
  CHECK(tokenizer.decode(Ids{3, 1, 2, 4, 5, 0}) == "nabÄ🙂\n");
  CHECK(stream(tokenizer, {3, 1, 2, 4, 5, 0}) == "nabÄ🙂\n");
}

TEST_CASE("tokenizer: an unknown character is reported with its position") {
  const io::CharTokenizer tokenizer("abc é");
  const auto fault = [&](const std::string& text) {
    return message_of<ValueError>([&] { tokenizer.encode(text); });
  };
  CHECK(contains(fault("é abz"), "'z' (U+007A) at byte 5 is not among the 5 characters"));
  CHECK(contains(fault("a🙂"), "'🙂' (U+1F642) at byte 1"));
  CHECK(contains(fault("a\n"), "U+000A at byte 1"));
  CHECK(contains(fault("ab\xC3"), "byte 2"));
  CHECK_REFUSES(ValueError, io::CharTokenizer(""), "empty");
  CHECK(contains(message_of<ValueError>([] { io::CharTokenizer("a\xFF"); }), "byte 1"));
}

TEST_CASE("tokenizer: bytes encode any text losslessly") {
  const io::ByteTokenizer tokenizer;
  CHECK(tokenizer.vocab_size() == 256);
  std::string any;
  for (int i = 0; i < 256; ++i) any += static_cast<char>(i);
  const Ids ids = tokenizer.encode(any);
  REQUIRE(ids.size() == 256);
  std::string bytes;
  for (std::size_t i = 0; i < 256; ++i) {
    CHECK(ids[i] == static_cast<std::int64_t>(i));
    bytes += tokenizer.bytes_of(ids[i]);
  }
  CHECK(bytes == any);
  CHECK(tokenizer.decode(tokenizer.encode("naïve 🙂")) == "naïve 🙂");
  CHECK(tokenizer.decode(Ids{'a', 0xFF, 'b', 0xC3}) ==
        "a\xEF\xBF\xBD"
        "b\xEF\xBF\xBD");
}

TEST_CASE("tokenizer: an id outside the vocabulary is rejected") {
  const io::CharTokenizer characters("ab");
  const io::ByteTokenizer bytes;
  CHECK_REFUSES(IndexError, characters.decode(Ids{0, 2}), "character tokenizer", "2", "0");
  CHECK_THROWS_AS(characters.decode(Ids{-1}), IndexError);
  CHECK_THROWS_AS(bytes.decode(Ids{256}), IndexError);
  CHECK_THROWS_AS(stream(bytes, {-1}), IndexError);
}

TEST_CASE("tokenizer: an incomplete character is held back until it is complete") {
  const io::ByteTokenizer tokenizer;
  io::StreamDecoder decoder(tokenizer);
  CHECK(decoder.push(0xF0) == "");
  CHECK(decoder.push(0x9F) == "");
  CHECK(decoder.push(0x99) == "");
  CHECK(decoder.push(0x82) == "🙂");
  CHECK(decoder.push(0xC3) == "");
  CHECK(decoder.push('a') ==
        "\xEF\xBF\xBD"
        "a");
  CHECK(decoder.push(0xE2) == "");
  CHECK(decoder.finish() == "\xEF\xBF\xBD");
  CHECK(decoder.finish() == "");
}

TEST_CASE("tokenizer: decoding token by token gives the same text as decoding together") {
  const io::ByteTokenizer tokenizer;
  std::mt19937 random(3);
  const unsigned char likely[] = {'a',  0x80, 0x9F, 0xA0, 0xBF, 0xC3,
                                  0xE0, 0xE2, 0xED, 0xF0, 0xF4, 0xFF};
  for (int round = 0; round < 2000; ++round) {
    Ids ids(random() % 12);
    for (std::int64_t& id : ids) id = likely[random() % sizeof likely];
    CHECK(stream(tokenizer, ids) == tokenizer.decode(ids));
  }
}

TEST_CASE("tokenizer: a malformed file is rejected") {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "not JSON"},
      {"{", "not JSON"},
      {"[]", "must be an object"},
      {"7", "must be an object"},
      {std::string("{}\0", 3), "NUL"},
      {"{}", "\"gradus_tokenizer\""},
      {"{\"gradus_tokenizer\":\"1\"}", "gradus_tokenizer: \"1\""},
      {"{\"gradus_tokenizer\":2}", "the tokenizer has format 2"},
      {"{\"gradus_tokenizer\":1}", "\"type\""},
      {"{\"gradus_tokenizer\":1,\"type\":3}", "type: 3"},
      {"{\"gradus_tokenizer\":1,\"type\":\"nope\"}", "or \"bpe\", got \"nope\""},
      {"{\"gradus_tokenizer\":1,\"type\":\"byte\",\"x\":1}", "x: "},
      {"{\"gradus_tokenizer\":1,\"type\":\"byte\",\"type\":\"byte\"}", "\"type\""},
      {"{\"gradus_tokenizer\":1,\"type\":\"character\"}", "\"characters\""},
      {"{\"gradus_tokenizer\":1,\"type\":\"character\",\"characters\":[\"a\"]}",
       "characters: a list"},
      {"{\"gradus_tokenizer\":1,\"type\":\"character\",\"characters\":7}", "characters: 7"},
      {"{\"gradus_tokenizer\":1,\"type\":\"character\",\"characters\":\"\"}",
       "\"characters\" must not be empty"},
      {"{\"gradus_tokenizer\":1,\"type\":\"character\",\"characters\":\"ba\"}",
       "must be in increasing order without repetitions"},
      {"{\"gradus_tokenizer\":1,\"type\":\"character\",\"characters\":\"aa\"}",
       "must be in increasing order without repetitions"},
      {"{\"gradus_tokenizer\":1,\"type\":\"character\",\"characters\":\"\xFF\"}", "not JSON"},
      {"{\"a\":{\"b\":1}}", "\"gradus_tokenizer\""},
      {std::string(100000, '['), "nested"},
  };
  for (const auto& entry : cases) {
    const std::string &json = entry.first, &message = entry.second;
    INFO(json.substr(0, 100));
    const std::string found =
        message_of<FileError>([&] { io::tokenizer_from_json(json, "t.json"); });
    INFO(found);
    CHECK(contains(found, "t.json: "));
    CHECK(contains(found, message));
    CHECK(io::is_utf8(found));
  }
}

}  // namespace gradus::testing::test_tokenizer
