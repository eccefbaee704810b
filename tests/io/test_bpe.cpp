#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "gradus/io/bpe.h"
#include "gradus/io/pieces.h"
#include "gradus/io/pretrained/pretrained_tokenizer.h"
#include "gradus/io/text.h"
#include "gradus/io/tokenizer.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/support/refusal.h"

namespace gradus::testing::test_bpe {
namespace {

using Ids = std::vector<std::int64_t>;

std::string cut(const std::string& text) {
  std::string out;
  for (const std::string_view piece : io::pieces(text))
    out += (out.empty() ? "" : "|") + std::string(piece);
  return out;
}

std::string any_bytes(unsigned seed, std::size_t size) {
  std::mt19937 random(seed);
  std::string out;
  for (std::size_t i = 0; i < size; ++i) out += static_cast<char>(random() % 256);
  return out;
}

std::string join(const io::Tokenizer& tokenizer, const Ids& ids) {
  std::string out;
  for (const std::int64_t id : ids) out += tokenizer.bytes_of(id);
  return out;
}

const std::string kText =
    "the cat sat on the mat; the cats sat, and the mats. It's the cat's mat, isn't it? 12 cats\n";

/// Encodes by the definition of byte-pair encoding.
Ids merged(const std::string& piece,
           const std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t>& joined) {
  Ids ids;
  for (const char c : piece) ids.push_back(static_cast<unsigned char>(c));
  for (const auto& [id, pair] : [&] {
         std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> by_id;
         for (const auto& [two, one] : joined) by_id[one] = two;
         return by_id;
       }())
    for (std::size_t i = 0; i + 1 < ids.size(); ++i)
      if (ids[i] == pair.first && ids[i + 1] == pair.second)
        ids[i] = id, ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  return ids;
}

/// Learns merges, recounting all pairs for each merge.
std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> learnt(const std::string& text,
                                                                     std::int64_t vocab) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> joined;
  for (std::int64_t id = 256; id < vocab; ++id) {
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> counts;
    for (const std::string_view piece : io::pieces(text)) {
      const Ids ids = merged(std::string(piece), joined);
      for (std::size_t i = 0; i + 1 < ids.size(); ++i) ++counts[{ids[i], ids[i + 1]}];
    }
    std::pair<std::int64_t, std::int64_t> best;
    std::int64_t most = 1;
    for (const auto& [pair, count] : counts)
      if (count > most) most = count, best = pair;
    if (most == 1) break;
    joined[best] = id;
  }
  return joined;
}

}  // namespace

TEST_CASE("pieces are words with the preceding space, as in GPT-2") {
  CHECK(cut("It's 12 o'clock,  now") == "It|'s| 12| o|'|clock|,| | now");
  CHECK(cut("we'll they've I'm you're don't he'd") ==
        "we|'ll| they|'ve| I|'m| you|'re| don|'t| he|'d");
  CHECK(cut("a\n\n  b") == "a|\n\n | b");
  CHECK(cut("\n\nx") == "\n|\n|x");
  CHECK(cut("x  ") == "x|  ");
  CHECK(cut(" ") == " ");
  CHECK(cut("f(x)+=1;//") == "f|(|x|)+=|1|;//");
  CHECK(cut("naïve 日本 a1") == "naïve| 日本| a|1");
  CHECK(cut("\tx").substr(0, 2) == "\t|");
  CHECK(cut("").empty());
}

TEST_CASE("bpe learns pairs by definition and merges them in the learned order") {
  std::string text = kText;
  for (unsigned seed = 1; seed < 4; ++seed) {
    const io::BpeTokenizer tokenizer = io::BpeTokenizer::train(text, 300);
    const auto joined = learnt(text, 300);
    CHECK(tokenizer.vocab_size() == 256 + std::ssize(joined));
    for (const auto& [pair, id] : joined)
      CHECK(tokenizer.bytes_of(id) ==
            tokenizer.bytes_of(pair.first) + tokenizer.bytes_of(pair.second));
    Ids expected;
    for (const std::string_view piece : io::pieces(text)) {
      const Ids ids = merged(std::string(piece), joined);
      expected.insert(expected.end(), ids.begin(), ids.end());
    }
    CHECK(tokenizer.encode(text) == expected);
    for (std::mt19937 random(seed); text.size() < 400 * seed;)  // generates many ties
      text += "aab b\n"[random() % 6];
  }
}

TEST_CASE("bpe encodes any bytes losslessly into fewer tokens than bytes") {
  const io::BpeTokenizer tokenizer = io::BpeTokenizer::train(kText + kText, 280);
  for (unsigned seed = 1; seed < 20; ++seed) {
    const std::string text = any_bytes(seed, 700) + kText;
    CHECK(join(tokenizer, tokenizer.encode(text)) == text);
  }
  CHECK(tokenizer.encode(kText).size() < kText.size() / 2 + 10);
  CHECK(tokenizer.encode("").empty());
  CHECK(io::BpeTokenizer::train("abc", 300).vocab_size() == 256);  // no pair occurs twice
  CHECK_THROWS_AS(tokenizer.bytes_of(280), IndexError);
  CHECK_REFUSES(ValueError, io::BpeTokenizer::train("", 300), "empty");
  CHECK_REFUSES(ValueError, io::BpeTokenizer::train("a", 255), "255", "256");
}

TEST_CASE("bpe can learn from a megabyte") {
  std::mt19937 random(5);
  std::vector<std::string> words;
  for (int i = 0; i < 20000; ++i) {
    std::string word;
    for (unsigned k = 0; k < 3 + random() % 7; ++k) word += "etaoinshrdlu"[random() % 12];
    words.push_back(word);
  }
  std::string text;
  while (text.size() < 1'000'000) text += words[random() % 20000 * (random() % 100) / 100] + " ";
  const io::BpeTokenizer tokenizer = io::BpeTokenizer::train(text, 4000);
  const Ids ids = tokenizer.encode(text);
  CHECK(tokenizer.vocab_size() == 4000);
  CHECK(join(tokenizer, ids) == text);
}

TEST_CASE("words: frequent words have their own tokens, and all others share one token") {
  const io::WordTokenizer tokenizer = io::WordTokenizer::train("a cat a dog a cat,", 5);
  CHECK(tokenizer.vocab_size() == 5);  // " a" and " cat" occur twice; the others are in byte order
  CHECK(tokenizer.bytes_of(0) == "<unknown>");
  CHECK(tokenizer.bytes_of(1) == " a");
  CHECK(tokenizer.bytes_of(2) == " cat");
  CHECK(tokenizer.bytes_of(3) == " dog");
  CHECK(tokenizer.bytes_of(4) == ",");
  CHECK(tokenizer.encode("a cat, a fish") == Ids{0, 2, 4, 1, 0});
  CHECK(tokenizer.decode(Ids{1, 2, 4, 0}) == " a cat,<unknown>");
  CHECK(io::WordTokenizer::train("a cat a dog a cat,", 100, 2).vocab_size() == 3);
  CHECK_THROWS_AS(tokenizer.bytes_of(5), IndexError);

  CHECK_REFUSES(ValueError, io::WordTokenizer::train("", 9), "empty");
  CHECK_REFUSES(ValueError, io::WordTokenizer::train("a", 1), "1");
  CHECK_REFUSES(ValueError, io::WordTokenizer::train("a b", 9, 2), "2");
}

namespace {

using io::BpeTokenizer;
using Words = std::vector<std::string>;

Ids ids_of(const BpeTokenizer& tokenizer, std::string_view piece) {
  Ids ids;
  tokenizer.encode_pieces(std::span(&piece, 1), ids);
  return ids;
}

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

TEST_CASE("bpe: unknown bytes are omitted, and no merge crosses them") {
  const BpeTokenizer tokenizer({"a", "b", "ab"}, {{0, 1}}, "t");
  CHECK(ids_of(tokenizer, "ab") == Ids{2});
  CHECK(ids_of(tokenizer, "a?b") == Ids{2});  // the unknown character is dropped before merging
  CHECK(ids_of(tokenizer, "?ab?") == Ids{2});
  CHECK(ids_of(tokenizer, "bab") == Ids{1, 2});
  CHECK(ids_of(tokenizer, "aba") == Ids{2, 0});
  CHECK(ids_of(tokenizer, "b") == Ids{1});
  CHECK(ids_of(tokenizer, "?").empty());
  CHECK(ids_of(tokenizer, "").empty());
  CHECK_REFUSES(FileError, tokenizer.require_all_bytes("v"), "v", "0");
}

TEST_CASE("bpe: a piece that is a token is not split if whole_first is set") {
  BpeTokenizer tokenizer({"a", "b", "c", "ab", "abc"}, {{0, 1}}, "t");
  CHECK(ids_of(tokenizer, "abc") == Ids{3, 2});
  CHECK(ids_of(tokenizer, "ab") == Ids{3});
  tokenizer.set_whole_first(true);
  CHECK(ids_of(tokenizer, "abc") == Ids{4});
  CHECK(ids_of(tokenizer, "abcc") == Ids{3, 2, 2});
  CHECK(ids_of(tokenizer, "cab") == Ids{2, 3});
}

TEST_CASE("bpe: encode_pieces appends the ids of each piece in order") {
  const BpeTokenizer tokenizer({"a", "b", "ab"}, {{0, 1}}, "t");
  const std::vector<std::string_view> all = {"ab", "?", "ba", "ab", "?", "ba", "a", "ba", ""};
  Ids ids = {7}, wanted = {7, 2, 1, 0, 2, 1, 0, 0, 1, 0};
  tokenizer.encode_pieces(all, ids);
  CHECK(ids == wanted);
}

TEST_CASE("bpe: a tokenizer is written as the documented JSON") {
  const BpeTokenizer tokenizer({"a", " b", "b", " ", "ab"}, {{3, 2}, {0, 2}}, "t");
  CHECK(tokenizer.to_json() ==
        "{\n  \"gradus_tokenizer\": 1,\n  \"merges\": \"Ġ b\\na b\",\n"
        "  \"tokens\": \"a Ġb b Ġ ab\",\n  \"type\": \"bpe\"\n}\n");
}

TEST_CASE("bpe: a vocabulary must have the ids 0 to n - 1, each once, and no empty token") {
  const auto read = [](const std::string& text) {
    return io::tokens_by_id(io::Json::parse(text, "v"));
  };
  CHECK(read("{}").empty());
  CHECK(read(R"({"a": 2, "b": 0, "c": 1})") == Words{"b", "c", "a"});
  const std::vector<std::pair<const char*, const char*>> cases = {
      {R"({"a": 0, "": 1})", "1 repeats"},
      {R"({"a": 0, "b": -1})", "-1 repeats"},
      {R"({"a": 0, "b": 2})", "2 repeats"},
      {R"({"a": 0, "b": 0})", "0 repeats"},
      {R"({"a": 0, "b": 1000000000000})", "1000000000000 repeats"},
      {R"({"a": 0, "b": -1000000000000})", "-1000000000000 repeats"}};
  for (const auto& [text, message] : cases)
    CHECK_REFUSES(FileError, read(text), std::string("id ") + message);
}

TEST_CASE("bpe: merges that contradict the tokens are rejected") {
  using Merges = std::vector<io::BpeTokenizer::Merge>;
  const auto message = [](std::vector<std::string> tokens, Merges merges) {
    return refusal([&] { io::BpeTokenizer(std::move(tokens), std::move(merges), "t"); });
  };
  CHECK(message({"a", "b", "ab"}, {{0, 1}}) == "nothing was thrown");
  CHECK(message({"a", ""}, {}) == "t: token 1 is empty");
  CHECK(contains(message({"a", "b", "a"}, {}), "t: the token \"a\""));
  for (const auto& [a, b] : Merges{{-1, 0}, {0, -1}, {3, 0}, {0, 3}, {-1, 3}})
    CHECK(message({"a", "b", "ab"}, {{0, 1}, {a, b}}) ==
          str_cat("t: merge 1 joins tokens ", a, " and ", b, ", but ids must be 0 to 2"));
  CHECK(contains(message({"a", "b"}, {{1, 0}}), "t: merge 0 makes \"ba\""));
  CHECK(contains(message({"a", "b", "ab"}, {{0, 1}, {0, 1}}), "t: merge 1"));
}

TEST_CASE("bpe: empty lines and the version line are skipped, and a merge has two tokens") {
  const std::string vocab = vocabulary({"ab"});
  const auto read = [&](const std::string& merges) {
    return io::parse_hugging_face_bpe(vocab, "v", merges, "m");
  };
  CHECK(read("#version: 0.2\n\na b\n\r\n").encode("ab") == Ids{256});
  CHECK(read("").encode("ab").size() == 2);
  const auto hashes =
      io::parse_hugging_face_bpe(vocabulary({"##"}), "v", "#version: 1\n# #\n", "m");
  CHECK(hashes.encode("##") == Ids{256});  // "##" is a merge, not a comment
  for (const std::string line : {"a", "a ", " a", " ", "ab?", "a b "})
    CHECK(contains(refusal([&] { read(line); }), "m: the merge " + io::quote(line)));
}

TEST_CASE("bpe: a vocabulary must have 256 to 1,048,576 tokens") {
  for (const std::int64_t size : {256, 257, 1 << 20})
    CHECK(BpeTokenizer::train("aa", size).vocab_size() == 256);
  CHECK(BpeTokenizer::train("aa aa", 256).vocab_size() == 256);
  CHECK(BpeTokenizer::train("aa aa", 257).vocab_size() == 257);
  for (const std::int64_t size : {-1, 0, 255, (1 << 20) + 1, 1 << 21})
    CHECK(contains(refusal<ValueError>([&] { BpeTokenizer::train("aa", size); }),
                   "must be 256 (one token per byte) to 1,048,576, got " + std::to_string(size)));
}

TEST_CASE("words: a vocabulary must have at least two words, distinct and not empty") {
  CHECK(io::WordTokenizer::train("a b", 2).vocab_size() == 2);
  const auto message = [](Words words) {
    return refusal([&] { io::WordTokenizer(std::move(words), "w"); });
  };
  CHECK(message({"", "a"}) == "w: word 0 is empty");
  CHECK(message({"a", ""}) == "w: word 1 is empty");
  CHECK(message({"a", "b", ""}) == "w: word 2 is empty");
  CHECK(contains(message({"a", "b", "b"}), "w: the word \"b\""));
  CHECK(message({"a", "a"}) == "nothing was thrown");  // the first "a" is the unknown token
  CHECK(io::WordTokenizer({"a", "a"}, "w").encode("ab a") == Ids{0, 0});
  CHECK(io::WordTokenizer({"a", "a"}, "w").encode("a") == Ids{1});
  CHECK(message({"a"}) == "w: the vocabulary must have at least 2 words, got 1");
}

TEST_CASE("words and bpe: malformed tokenizer files are rejected") {
  const std::pair<const char*, const char*> cases[] = {
      {R"("type":"word")", "\"words\""},
      {R"("type":"word","words":"a")", "at least 2 words, got 1"},
      {R"("type":"word","words":"a b b")", "\"b\""},
      {R"("type":"word","words":"a 日")", "日"},
      {R"("type":"word","words":"a b","x":0)", "x: "},
      {R"("type":"bpe","tokens":"a")", "\"merges\""},
      {R"("type":"bpe","tokens":"a","merges":"")", "no token for byte 0"},
      {R"("type":"bpe","tokens":"a a","merges":"")", "the token \"a\""},
      {R"("type":"bpe","tokens":"a","merges":"","x":0)", "x: "},
      {R"("type":"byte","model":{})", "model: "}};
  for (const auto& [rest, message] : cases)
    CHECK_REFUSES(
        FileError,
        io::tokenizer_from_json("{\"gradus_tokenizer\": 1, " + std::string(rest) + "}", "t"),
        "t: ", message);
}

TEST_CASE("characters: the first and last code points can be tokens") {
  const std::string all("\0a\xF4\x8F\xBF\xBF", 6);
  const io::CharTokenizer tokenizer(all);
  CHECK(tokenizer.characters() == std::vector<char32_t>{0, U'a', 0x10FFFF});
  CHECK(tokenizer.encode(all) == Ids{0, 1, 2});
  const io::CharTokenizer few("bc");
  for (const std::string text : {"a", "d", "\xF4\x8F\xBF\xBF"})
    CHECK_REFUSES(ValueError, few.encode(text), "2");
}

}  // namespace gradus::testing::test_bpe
