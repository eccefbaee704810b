// Tables and tokenizers against their writers: random numbers, names and texts come back.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <memory>

#include "gradus/io/bpe.h"
#include "gradus/io/csv.h"
#include "gradus/io/pieces.h"
#include "gradus/io/text.h"
#include "gradus/io/word_tokenizer.h"
#include "gradus/ops/logic.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/io/random.h"

namespace gradus::testing {
namespace {

TEST_CASE("csv: tables of any numbers and names come back") {
  const Folder here;
  Random random(2);
  for (int round = 0; round < 120; ++round) {
    const Dtype dtype = random() % 2 == 0 ? Dtype::f32 : Dtype::f64;
    Tensor x = any_bits(random, {below(random, 4) + round % 2, 1 + below(random, 3)}, dtype);
    x = where(isnan(x), full({}, 1.5, dtype), x);
    if (x.numel() > 0 && random() % 2 == 0) x = transpose(x, 0, 1);
    Names names;
    for (std::int64_t j = 0; j < x.size(1) && (round % 3 > 0 || x.size(0) == 0); ++j)
      names.push_back(any_text(random, 5));
    CAPTURE(round, x.shape(), names);
    try {
      io::save_csv(here / "t.csv", {names, x});
    } catch (const ValueError&) {  // one of the names is a number
      CHECK(std::any_of(names.begin(), names.end(), [](const std::string& name) {
        return name.find('7') < name.size() && name.find_first_not_of("7.-") > name.size();
      }));
      continue;
    }
    const io::Table table = io::load_csv(here / "t.csv", dtype);
    CHECK(table.columns == names);
    CHECK(same(table.values, x));
  }
}

TEST_CASE("csv: blanks, quotes and line ends that mean nothing change nothing") {
  Random random(3);
  const auto one_of = [&](const Names& choices) { return choices[random() % choices.size()]; };
  for (int round = 0; round < 200; ++round) {
    const Tensor x = randn({1 + below(random, 4), 1 + below(random, 3)}, Dtype::f64);
    const std::vector<double> numbers = x.to_vector<double>();
    std::string text = one_of({"", "\xEF\xBB\xBF"});
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const std::string quote = one_of({"", "\""});
      char number[64];
      std::snprintf(number, sizeof number, "%.17g", numbers[i]);
      const bool last = (i + 1) % static_cast<std::size_t>(x.size(1)) == 0;
      text += one_of({"", " ", "\t "}) + quote + one_of({"", numbers[i] > 0 ? "+" : ""}) + number +
              quote + one_of({"", " ", "  \t"}) + (last ? one_of({"\n", "\r\n"}) : ",");
    }
    text += one_of({"", "\n", " \r\n\n"});
    INFO(text);
    CHECK(same(io::parse_csv(text, "t", Dtype::f64).values, x));
  }
}

TEST_CASE("pieces: a run of letters without end is cut between characters, wherever they begin") {
  Random random(6);
  const Names letters = {"x", "é", "日", "🙂"};
  for (int round = 0; round < 50; ++round) {
    std::string run;
    for (int i = 0; i < 200; ++i) run += letters[random() % 4];
    for (const std::string_view piece : io::pieces(run)) {
      CHECK(piece.size() <= 128);
      CHECK(io::is_utf8(piece));
    }
  }
}

TEST_CASE("pieces: two characters are one piece where they are of one kind") {
  const auto kind = [](int c) {
    return c >= 0x80 || std::isalpha(c) ? 'a' : std::isdigit(c) ? '1' : std::isspace(c) ? ' ' : '.';
  };
  std::size_t wrong = 0;
  for (int a = 0; a < 256; ++a)
    for (int b = 0; b < 256; ++b) {
      if (kind(a) == ' ' && a != ' ') continue;  // a run of blanks leaves its last to the word
      const std::string both = {static_cast<char>(a), static_cast<char>(b)};
      const bool short_form = both == "'s" || both == "'t" || both == "'m" || both == "'d";
      const bool one = a == ' ' || short_form || kind(a) == kind(b);
      wrong += io::pieces(both).size() != (one ? 1u : 2u);
    }
  CHECK(wrong == 0);
}

using Ids = std::vector<std::int64_t>;

std::vector<std::unique_ptr<io::Tokenizer>> every_tokenizer(const std::string& text) {
  std::vector<std::unique_ptr<io::Tokenizer>> out;
  out.push_back(std::make_unique<io::CharTokenizer>(text));
  out.push_back(std::make_unique<io::ByteTokenizer>());
  out.push_back(std::make_unique<io::WordTokenizer>(io::WordTokenizer::train(text, 1 << 20)));
  out.push_back(std::make_unique<io::BpeTokenizer>(io::BpeTokenizer::train(text, 290)));
  return out;
}

TEST_CASE("tokenizers: any text they know comes back, from a file too, a cut file is refused") {
  const Folder here;
  Random random(4);
  for (int round = 0; round < 30; ++round) {
    const std::string text = "a" + any_text(random, 60);
    for (const auto& tokenizer : every_tokenizer(text)) {
      CAPTURE(round, tokenizer->name(), text);
      io::save_tokenizer(here / "t.json", *tokenizer);
      const auto loaded = io::load_tokenizer(here / "t.json");
      CHECK(loaded->name() == tokenizer->name());
      CHECK(loaded->to_json() == tokenizer->to_json());
      const Ids ids = tokenizer->encode(text);
      CHECK(tokenizer->decode(ids) == text);
      CHECK(loaded->encode(text) == ids);
      for (std::int64_t id = 0; id < tokenizer->vocab_size(); ++id)
        CHECK(loaded->bytes_of(id) == tokenizer->bytes_of(id));
      const std::string json = read_bytes(here / "t.json");
      for (std::size_t n = 0; n + 1 < json.size(); n += 1 + json.size() / 50)
        CHECK(refuses([&] { io::tokenizer_from_json(json.substr(0, n), "t"); }));
      CHECK(refuses([&] { io::tokenizer_from_json(json.substr(0, json.size() - 2), "t"); }));
    }
  }
}

TEST_CASE("bpe: Hugging Face's files say the same with their ids in any order") {
  const Folder here;
  Random random(5);
  std::string text;
  for (int i = 0; i < 40; ++i) text += any_text(random, 9) + " the" + any_text(random, 3);
  const io::BpeTokenizer own = io::BpeTokenizer::train(text, 300);
  Ids order(static_cast<std::size_t>(own.vocab_size()));  // the other one's ids
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
  std::shuffle(order.begin(), order.end(), random);
  std::string vocab = "{", merges;
  for (std::size_t i = 0; i < order.size(); ++i) {
    std::string token;
    for (const char c : io::visible(own.bytes_of(static_cast<std::int64_t>(i))))
      token += (c == '"' || c == '\\' ? "\\" : "") + std::string(1, c);
    vocab += (i == 0 ? "\"" : ", \"") + token + "\": " + std::to_string(order[i]);
  }
  const std::string json = own.to_json(), key = "\"merges\": \"";
  const std::size_t begin = json.find(key) + key.size();
  for (std::size_t i = begin; json[i] != '"'; ++i) {
    if (json[i] != '\\') {
      merges += json[i];
      continue;
    }
    ++i;
    merges += json[i] == 'n' ? '\n' : json[i];
  }
  write_bytes(here / "vocab.json", vocab + "}");
  write_bytes(here / "merges.txt", "#version: 0.2\n" + merges);
  const io::BpeTokenizer theirs =
      io::load_hugging_face_bpe(here / "vocab.json", here / "merges.txt");
  Ids expected;
  for (const std::int64_t id : own.encode(text))
    expected.push_back(order[static_cast<std::size_t>(id)]);
  CHECK(theirs.encode(text) == expected);
}

}  // namespace
}  // namespace gradus::testing
