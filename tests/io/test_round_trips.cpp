#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gradus/engine/strided.h"
#include "gradus/io/bpe.h"
#include "gradus/io/checkpoint.h"
#include "gradus/io/csv.h"
#include "gradus/io/input.h"
#include "gradus/io/npy.h"
#include "gradus/io/pieces.h"
#include "gradus/io/safetensors.h"
#include "gradus/io/tokenizer.h"
#include "gradus/ops/logic.h"
#include "gradus/ops/members.h"
#include "gradus/tests/io/random.h"
#include "gradus/tests/support/refusal.h"

namespace gradus::testing::test_round_trips {
namespace {

Tensor any_view(Random& random, const Tensor& x) {
  if (x.rank() == 0 || x.numel() == 0) return x;
  const int axis = static_cast<int>(below(random, x.rank()));
  switch (random() % 4) {
    case 0:
      return transpose(x, axis, x.rank() - 1);
    case 1:
      return slice(x, axis, below(random, x.size(axis)), x.size(axis));
    case 2: {
      Shape shape = x.shape();
      Strides strides = x.strides();
      shape[axis] = 3, strides[axis] = 0;
      return kernel::strided_view(x, shape, strides, 0);
    }
    default:
      return x;
  }
}

Tensor any_tensor(Random& random) {
  constexpr Dtype dtypes[] = {Dtype::f32, Dtype::f64, Dtype::i64, Dtype::bool_};
  constexpr std::int64_t sizes[] = {1, 2, 3, 5, 0};
  Shape shape;
  for (std::int64_t rank = below(random, 6); rank > 0; --rank)
    shape.push_back(sizes[random() % (random() % 3 == 0 ? 5 : 4)]);
  return any_view(random, any_bits(random, shape, dtypes[random() % 4]));
}

std::map<std::string, Tensor> any_tensors(Random& random) {
  std::map<std::string, Tensor> out;
  for (std::int64_t n = below(random, 5); n > 0; --n)
    out["t" + any_text(random, 6)] = any_tensor(random);
  return out;
}

bool same_all(const std::map<std::string, Tensor>& a, const std::map<std::string, Tensor>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](auto& x, auto& y) {
           return x.first == y.first && same(x.second, y.second);
         });
}

TEST_CASE("arrays, weights and checkpoints of any contents are restored bit for bit") {
  const Folder here;
  const std::string path = here / "file";
  Random random(1);
  for (int round = 0; round < 60; ++round) {
    const Tensor x = any_tensor(random);
    CAPTURE(round, x.shape(), x.strides());
    io::save_npy(path, x);
    CHECK(same(io::load_npy(path), x));
    CHECK(read_bytes(path).size() % 64 ==
          // Values are aligned to 64 bytes, as in NumPy.
          static_cast<std::size_t>(x.numel()) * size_of(x.dtype()) % 64);
    const std::map<std::string, Tensor> tensors = any_tensors(random);
    const std::map<std::string, std::string> texts = {{any_text(random, 5), any_text(random, 9)},
                                                      {"b" + any_text(random, 5), ""}};
    const io::TensorFile file = io::parse_safetensors(io::safetensors_bytes(tensors, texts), "w");
    CHECK(same_all(file.tensors, tensors));
    auto expected = texts;
    expected.emplace("format", "pt");
    CHECK(file.metadata == expected);
    io::save_checkpoint(path, {tensors, texts});
    const io::Checkpoint loaded = io::load_checkpoint(path);
    CHECK(same_all(loaded.tensors, tensors));
    CHECK(loaded.facts == texts);
  }
}

/// Returns the value of a binary16, or of the upper half of a binary32.
float plain_half(std::uint32_t bits, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1, top = (1 << exponent_bits) - 1;
  const int exponent = static_cast<int>(bits >> fraction_bits) & top;
  const auto fraction = static_cast<float>(bits & ((1u << fraction_bits) - 1));
  const float one = std::ldexp(1.0f, fraction_bits);
  const float size = exponent == top ? (fraction == 0 ? INFINITY : NAN)
                                     : std::ldexp(exponent == 0 ? fraction : one + fraction,
                                                  std::max(exponent, 1) - bias - fraction_bits);
  return bits >> 15 ? -size : size;
}

TEST_CASE("narrow types are read exactly, in tensors of several pieces") {
  std::string all;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits)
    all += {static_cast<char>(bits & 0xFFu), static_cast<char>(bits >> 8)};
  const auto read = [&](io::Stored stored, std::int64_t count) {
    io::Input input(as_bytes(all), "all");
    return io::read_numbers(input, 0, stored, {count});
  };
  const std::vector<float> f16 = read(io::Stored::f16, 0x10000).to_vector<float>(),
                           bf16 = read(io::Stored::bf16, 0x10000).to_vector<float>();
  const std::vector<std::int64_t> i32 = read(io::Stored::i32, 0x8000).to_vector<std::int64_t>(),
                                  u8 = read(io::Stored::u8, 0x20000).to_vector<std::int64_t>();
  const std::vector<bool> flags = [&] {
    const std::vector<std::int64_t> numbers =
        read(io::Stored::bool_, 0x20000).to(Dtype::i64).to_vector<std::int64_t>();
    return std::vector<bool>(numbers.begin(), numbers.end());
  }();
  const auto as_it_is = [](float a, float b) {
    return std::isnan(b) ? std::isnan(a)
                         : std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
  };
  std::size_t wrong = 0;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits)
    wrong += !as_it_is(f16[bits], plain_half(bits, 5, 10)) +
             !as_it_is(bf16[bits], plain_half(bits, 8, 7));
  for (std::size_t i = 0; i < u8.size(); ++i)
    wrong += u8[i] != static_cast<unsigned char>(all[i]) || flags[i] != (all[i] != '\0');
  for (std::size_t i = 0; i < i32.size(); ++i) {
    const auto low = static_cast<std::int64_t>(2 * i), high = low + 1;  // 16-bit halves
    wrong += i32[i] != low + 65536 * (high < 0x8000 ? high : high - 0x10000);
  }
  CHECK(wrong == 0);
}

TEST_CASE("safetensors: header entries may have any order") {
  std::vector<std::string> entries = {R"("a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]})",
                                      R"("b":{"dtype":"U8","shape":[0],"data_offsets":[2,2]})",
                                      R"("c":{"dtype":"U8","shape":[0,4],"data_offsets":[0,0]})",
                                      R"("d":{"dtype":"U8","shape":[1],"data_offsets":[2,3]})",
                                      R"("e":{"dtype":"U8","shape":[0],"data_offsets":[3,3]})"};
  std::sort(entries.begin(), entries.end());
  do {
    std::string header = "{";
    for (const std::string& each : entries) header += (header == "{" ? "" : ",") + each;
    header += "}";
    const std::string bytes =
        std::string{static_cast<char>(header.size()), static_cast<char>(header.size() >> 8)} +
        std::string(6, '\0') + header + "\5\6\7";
    const io::TensorFile file = io::parse_safetensors(as_bytes(bytes), "w");
    CHECK(same(file.tensors.at("a"), indices({5, 6})));
    CHECK(same(file.tensors.at("d"), indices({7})));
    CHECK(file.tensors.at("c").shape() == Shape{0, 4});
  } while (std::next_permutation(entries.begin(), entries.end()));
}

void change_each(const std::string& bytes, std::size_t from, std::size_t to,
                 const std::function<void(const std::string&, std::size_t)>& judge) {
  for (std::size_t i = from; i < to; ++i)
    for (unsigned more = 1; more < 256; ++more) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(static_cast<unsigned char>(bytes[i]) + more);
      judge(changed, i);
    }
}

TEST_CASE("npy: a changed byte of the header is rejected or keeps the shape and values") {
  const Folder here;
  const Tensor x = tensor(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3});
  io::save_npy(here / "x.npy", x);
  const std::string first = read_bytes(here / "x.npy");
  const std::size_t end = first.find('\n') + 1;
  const auto parse = [](const std::string& bytes) { return io::parse_npy(as_bytes(bytes), "x"); };
  std::string second = first;  // version 2.0 has a length of 4 bytes
  second[6] = '\2';
  second.insert(10, 2, '\0');
  CHECK(same(parse(second), x));
  change_each(first, 0, 10, [&](const std::string& bytes, std::size_t i) {
    INFO("byte " << i);
    CHECK(refuses([&] { parse(bytes); }));
  });
  change_each(second, 0, 12, [&](const std::string& bytes, std::size_t i) {
    INFO("byte " << i);
    CHECK((bytes[6] == '\3' || refuses([&] { parse(bytes); })));  // version 3.0 has the same layout
  });
  change_each(first, 10, end, [&](const std::string& bytes, std::size_t i) {
    INFO("byte " << i << ": " << bytes.substr(10, end - 10));
    Tensor loaded;  // may load with another type of 4 bytes, blank or quote
    if (refuses([&] { loaded = parse(bytes); })) return;
    CHECK(loaded.shape() == x.shape());
    CHECK((contains(bytes, "'<i4'") || same(loaded, x)));
  });
}

TEST_CASE("safetensors: a changed byte of the length is rejected") {
  const auto written = io::safetensors_bytes({{"a", tensor({1, 2})}, {"b", tensor(3)}});
  const std::string bytes(reinterpret_cast<const char*>(written.data()), written.size());
  change_each(bytes, 0, 8, [&](const std::string& changed, std::size_t i) {
    INFO("byte " << i);
    CHECK(refuses([&] { io::parse_safetensors(as_bytes(changed), "w"); }));
  });
}

TEST_CASE("checkpoint: the checksum detects a difference in any single part") {
  const Folder here;
  const Tensor x = tensor(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3});
  const io::Checkpoint whole{{{"a", x}, {"b", tensor({0.0f, 0.0f})}},
                             {{"k", "12"}, {"l", ""}, {"m", "3"}}};
  io::save_checkpoint(here / "whole", whole);
  const auto metadata = io::load_safetensors(here / "whole").metadata;
  using Change = std::function<void(io::TensorFile&)>;
  const std::map<std::string, Change> changes = {
      {"shape",
       [&](auto& f) {
         f.tensors["a"] = x.view({3, 2});
       }},
      {"axes",
       [&](auto& f) {
         f.tensors["a"] = x.view({2, 3, 1});
       }},
      {"dtype", [&](auto& f) { f.tensors["b"] = indices({0}); }},
      {"name", [&](auto& f) { f.tensors.erase("a"), f.tensors["c"] = x; }},
      {"numbers",
       [&](auto& f) {
         f.tensors["a"] = transpose(x.view({3, 2}), 0, 1);
       }},
      {"a missing tensor", [&](auto& f) { f.tensors.erase("b"); }},
      {"an extra tensor", [&](auto& f) { f.tensors["c"] = Tensor::empty({0}, Dtype::f32); }},
      {"text", [&](auto& f) { f.metadata["k"] = "21"; }},
      {"the text of another fact", [&](auto& f) { f.metadata["k"] = "1", f.metadata["l"] = "2"; }},
      {"a missing fact", [&](auto& f) { f.metadata.erase("l"); }},
      {"an extra fact", [&](auto& f) { f.metadata["n"] = ""; }},
      {"the name of a fact", [&](auto& f) { f.metadata.erase("m"), f.metadata["n"] = "3"; }}};
  for (const auto& [what, change] : changes) {
    INFO(what);
    io::TensorFile file{whole.tensors, metadata};
    change(file);
    io::save_safetensors(here / "changed", file.tensors, file.metadata);
    CHECK_REFUSES(FileError, io::load_checkpoint(here / "changed"), "damaged");
  }
}

TEST_CASE("checkpoint: reserved fact names are rejected, and others are restored") {
  const Folder here;
  const auto save = [&](const char* name) {
    io::save_checkpoint(here / "file", {{}, {{name, "x"}}});
  };
  for (const char* name : {"format", "gradus.checkpoint", "gradus.crc32", "gradus.", "gradus.a"})
    CHECK_THROWS_AS(save(name), ValueError);
  for (const char* name : {"formats", "Format", "gradus", "a.gradus.crc32", ""}) {
    save(name);
    CHECK(io::load_checkpoint(here / "file").facts.at(name) == "x");
  }
}

TEST_CASE("count_of returns a product if and only if the tensor has less than 2⁶³ bytes") {
  const auto size = [](int power) { return power < 0 ? 0u : std::uint64_t{1} << power; };
  std::size_t wrong = 0;
  for (int a = -1; a < 64; ++a)  // −1: a size of 0
    for (int b = -1; b < 64; ++b)
      for (int c = -1; c < 64; c += 7) {
        const std::uint64_t sizes[] = {size(a), size(b), size(c)};
        const int power = std::max(a, 0) + std::max(b, 0) + std::max(c, 0);
        const auto count = io::count_of(sizes);
        if (power > 59) wrong += count.has_value();  // 2⁶⁰ values of 8 bytes are too many
        if (power <= 59) wrong += count != (std::min({a, b, c}) < 0 ? 0 : size(power));
      }
  CHECK(wrong == 0);
}

TEST_CASE("reading a file that shrinks throws") {
  const Folder here;
  write_bytes(here / "file", std::string(100'000, 'x'));
  io::Input input(here / "file");
  std::filesystem::resize_file(here / "file", 50'000);
  std::string bytes(100'000, ' ');
  CHECK_REFUSES(FileError, input.read(0, bytes.data(), bytes.size()), "100000", "50000");
}

TEST_CASE("csv: tables of any numbers and names are restored") {
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
    } catch (const ValueError&) {  // some column name is a number
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

TEST_CASE("csv: insignificant blanks, quotes and line endings change nothing") {
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

using Ids = std::vector<std::int64_t>;

std::vector<std::unique_ptr<io::Tokenizer>> every_tokenizer(const std::string& text) {
  std::vector<std::unique_ptr<io::Tokenizer>> out;
  out.push_back(std::make_unique<io::CharTokenizer>(text));
  out.push_back(std::make_unique<io::ByteTokenizer>());
  out.push_back(std::make_unique<io::WordTokenizer>(io::WordTokenizer::train(text, 1 << 20)));
  out.push_back(std::make_unique<io::BpeTokenizer>(io::BpeTokenizer::train(text, 290)));
  return out;
}

TEST_CASE("tokenizers: any known text is restored, and a truncated file is rejected") {
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

TEST_CASE("bpe: Hugging Face's files may list their ids in any order") {
  const Folder here;
  Random random(5);
  std::string text;
  for (int i = 0; i < 40; ++i) text += any_text(random, 9) + " the" + any_text(random, 3);
  const io::BpeTokenizer own = io::BpeTokenizer::train(text, 300);
  Ids order(static_cast<std::size_t>(own.vocab_size()));  // ids of the other tokenizer
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
}  // namespace gradus::testing::test_round_trips
