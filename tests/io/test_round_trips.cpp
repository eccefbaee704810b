// Loaders against writers: random contents come back bit for bit, whatever dtype, shape and strides
// they have, and what was changed or cut off is refused.
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "gradus/engine/strided.h"
#include "gradus/io/checkpoint.h"
#include "gradus/io/input.h"
#include "gradus/io/npy.h"
#include "gradus/io/safetensors.h"
#include "gradus/ops/members.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/io/random.h"

namespace gradus::testing {
namespace {

/// Contiguous, transposed, with gaps, or one row for many.
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

TEST_CASE("arrays, weights and checkpoints of any contents come back bit for bit") {
  const Folder here;
  const std::string path = here / "file";
  Random random(1);
  for (int round = 0; round < 60; ++round) {
    const Tensor x = any_tensor(random);
    CAPTURE(round, x.shape(), x.strides());
    io::save_npy(path, x);
    CHECK(same(io::load_npy(path), x));
    CHECK(read_bytes(path).size() % 64 ==
          static_cast<std::size_t>(x.numel()) * size_of(x.dtype()) % 64);  // aligned, as NumPy does
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

/// What IEEE 754 says of binary16, and of the upper half of binary32.
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

TEST_CASE("each narrow number is the one that its bits say, in tensors of several pieces") {
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
    const auto low = static_cast<std::int64_t>(2 * i), high = low + 1;  // two halves that follow
    wrong += i32[i] != low + 65536 * (high < 0x8000 ? high : high - 0x10000);
  }
  CHECK(wrong == 0);
}

TEST_CASE("safetensors: entries may stand in any order in the header") {
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

/// Gives `judge` the bytes with each one changed to each other value.
void change_each(const std::string& bytes, std::size_t from, std::size_t to,
                 const std::function<void(const std::string&, std::size_t)>& judge) {
  for (std::size_t i = from; i < to; ++i)
    for (unsigned more = 1; more < 256; ++more) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(static_cast<unsigned char>(bytes[i]) + more);
      judge(changed, i);
    }
}

TEST_CASE("npy: a changed byte of magic, version or length is refused, of the rest means that") {
  const Folder here;
  const Tensor x = tensor(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3});
  io::save_npy(here / "x.npy", x);
  const std::string first = read_bytes(here / "x.npy");
  const std::size_t end = first.find('\n') + 1;
  const auto parse = [](const std::string& bytes) { return io::parse_npy(as_bytes(bytes), "x"); };
  std::string second = first;  // version 2.0: the length takes 4 bytes
  second[6] = '\2';
  second.insert(10, 2, '\0');
  CHECK(same(parse(second), x));
  change_each(first, 0, 10, [&](const std::string& bytes, std::size_t i) {
    INFO("byte " << i);
    CHECK(refuses([&] { parse(bytes); }));
  });
  change_each(second, 0, 12, [&](const std::string& bytes, std::size_t i) {
    INFO("byte " << i);
    CHECK((bytes[6] == '\3' || refuses([&] { parse(bytes); })));  // 3.0 has the same places
  });
  change_each(first, 10, end, [&](const std::string& bytes, std::size_t i) {
    INFO("byte " << i << ": " << bytes.substr(10, end - 10));
    Tensor loaded;  // 4 bytes of another type, or one kind of blank or quote for another
    if (refuses([&] { loaded = parse(bytes); })) return;
    CHECK(loaded.shape() == x.shape());
    CHECK((contains(bytes, "'<i4'") || same(loaded, x)));
  });
}

TEST_CASE("safetensors: a changed byte of the length is refused") {
  const auto written = io::safetensors_bytes({{"a", tensor({1, 2})}, {"b", tensor(3)}});
  const std::string bytes(reinterpret_cast<const char*>(written.data()), written.size());
  change_each(bytes, 0, 8, [&](const std::string& changed, std::size_t i) {
    INFO("byte " << i);
    CHECK(refuses([&] { io::parse_safetensors(as_bytes(changed), "w"); }));
  });
}

TEST_CASE("checkpoint: its checksum tells apart what differs in one thing") {
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
      {"a tensor less", [&](auto& f) { f.tensors.erase("b"); }},
      {"a tensor more", [&](auto& f) { f.tensors["c"] = Tensor::empty({0}, Dtype::f32); }},
      {"text", [&](auto& f) { f.metadata["k"] = "21"; }},
      {"text of another", [&](auto& f) { f.metadata["k"] = "1", f.metadata["l"] = "2"; }},
      {"a fact less", [&](auto& f) { f.metadata.erase("l"); }},
      {"a fact more", [&](auto& f) { f.metadata["n"] = ""; }},
      {"its name", [&](auto& f) { f.metadata.erase("m"), f.metadata["n"] = "3"; }}};
  for (const auto& [what, change] : changes) {
    INFO(what);
    io::TensorFile file{whole.tensors, metadata};
    change(file);
    io::save_safetensors(here / "changed", file.tensors, file.metadata);
    CHECK_REFUSES(FileError, io::load_checkpoint(here / "changed"), "damaged");
  }
}

TEST_CASE("checkpoint: names of facts that the format has are refused, others come back") {
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

TEST_CASE("sizes have a product where a tensor of it has less than 2⁶³ bytes") {
  const auto size = [](int power) { return power < 0 ? 0u : std::uint64_t{1} << power; };
  std::size_t wrong = 0;
  for (int a = -1; a < 64; ++a)  // −1: an axis of size 0, which strides do not count
    for (int b = -1; b < 64; ++b)
      for (int c = -1; c < 64; c += 7) {
        const std::uint64_t sizes[] = {size(a), size(b), size(c)};
        const int power = std::max(a, 0) + std::max(b, 0) + std::max(c, 0);
        const auto count = io::count_of(sizes);
        if (power > 59) wrong += count.has_value();  // 2⁶⁰ numbers of 8 bytes
        if (power <= 59) wrong += count != (std::min({a, b, c}) < 0 ? 0 : size(power));
      }
  CHECK(wrong == 0);
}

TEST_CASE("a file that shrinks while it is read is an error") {
  const Folder here;
  write_bytes(here / "file", std::string(100'000, 'x'));
  io::Input input(here / "file");
  std::filesystem::resize_file(here / "file", 50'000);
  std::string bytes(100'000, ' ');
  CHECK_REFUSES(FileError, input.read(0, bytes.data(), bytes.size()), "100000", "50000");
}

}  // namespace
}  // namespace gradus::testing
