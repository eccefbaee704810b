#include <cstdlib>
#include <cstring>

#include "gradus/io/pretrained/tensor_source.h"
#include "gradus/io/safetensors.h"
#include "gradus/ops/create.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/io/pretrained/gguf_parts.h"
#include "gradus/tests/support/refusal.h"

namespace gradus::testing::test_tensor_source {
namespace {

using io::TensorSource;

const std::string kGolden = GRADUS_SOURCE_DIR "/tests/golden/gguf/";

struct Gguf {
  std::string magic = "GGUF";
  std::uint32_t version = 3;
  std::uint64_t tensors = 2, facts = 1;
  std::string fact = text("general.architecture") + raw(8u) + text("llama");
  std::string first = text("a") + raw(1u) + raw(std::uint64_t{3}) + raw(0u) + raw(std::uint64_t{0});
  std::string second = text("b") + raw(2u) + raw(std::uint64_t{32}) + raw(std::uint64_t{2}) +
                       raw(8u) + raw(std::uint64_t{32});
  std::string data = std::string(32, '\0') + std::string(96, '\1');  // 12 bytes at 0, 68 at 32

  std::string bytes() const {
    std::string out = magic + raw(version) + raw(tensors) + raw(facts) + fact + first + second;
    out.resize((out.size() + 31) / 32 * 32);
    return out + data;
  }
  std::string fault() const {
    const std::string file = bytes();
    return message_of<FileError>([&] { TensorSource::parse(as_bytes(file), "m.gguf"); });
  }
};

}  // namespace

TEST_CASE("GGUF: every storage type is read bit for bit like the reference") {
  TensorSource source = TensorSource::open(kGolden + "small.gguf");
  const auto expected = io::load_safetensors(kGolden + "expected.safetensors").tensors;
  CHECK(source.is_gguf());
  CHECK(source.tensors().size() == expected.size());
  for (const auto& [name, tensor] : expected) {
    INFO(name);
    CHECK(same(source.read(name, tensor.dtype()), tensor));
  }
  CHECK(source.tensors().at("q4_1").dtype == "Q4_1");
  CHECK(source.read("f16", Dtype::f64).dtype() == Dtype::f64);
  CHECK_REFUSES(FileError, (void)source.read("none"), "\"none\"");
  CHECK_REFUSES(FileError, (void)source.read("f32", Dtype::i64), "\"f32\"", "f32");
  const auto& facts = source.facts();
  CHECK(io::fact<std::string>(facts, "general.architecture", "m") == "llama");
  CHECK(io::fact<std::int64_t>(facts, "llama.block_count", "m") == 2);
  CHECK(io::fact<double>(facts, "llama.rope.freq_base", "m") == 10000.5);
  CHECK(io::fact<bool>(facts, "some.flag", "m"));
  CHECK(io::fact<std::int64_t>(facts, "some.negative", "m") == -3);
  CHECK(io::fact<std::int64_t>(facts, "some.large", "m") == std::int64_t{1} << 40);
  CHECK((io::fact<std::vector<std::int64_t>>(facts, "some.numbers", "m") ==
         std::vector<std::int64_t>{1, 2, 3}));
  CHECK((io::fact<std::vector<double>>(facts, "some.floats", "m") ==
         std::vector<double>{0.5, -1.25}));
  CHECK((io::fact<std::vector<std::string>>(facts, "some.texts", "m") ==
         std::vector<std::string>{"a", "é", ""}));
  CHECK(
      contains(message_of<FileError>([&] { io::fact<bool>(facts, "none", "m"); }), "m: \"none\""));
  CHECK_REFUSES(FileError, io::fact<bool>(facts, "some.large", "m"), "wrong type");
}

TEST_CASE("helper: compare tensors",
          "[.]") {  // see tests/golden/make_gguf.py
  const char *file = std::getenv("GRADUS_GGUF"), *expected = std::getenv("GRADUS_EXPECTED");
  REQUIRE((file && expected));
  TensorSource ours = TensorSource::open(file), theirs = TensorSource::open(expected);
  REQUIRE(ours.tensors().size() == theirs.tensors().size());
  for (const auto& entry : theirs.tensors()) {
    INFO(entry.first);
    CHECK(same(ours.read(entry.first), theirs.read(entry.first)));
  }
  WARN(ours.tensors().size() << " tensors of " << file);
}

TEST_CASE("GGUF: a malformed file is rejected with the tensor or byte") {
  const std::string whole = Gguf().bytes();
  CHECK(TensorSource::parse(as_bytes(whole), "m").tensors().size() == 2);
  for (std::size_t size = 4; size + 60 < whole.size(); ++size)
    CHECK_THROWS_AS(TensorSource::parse(as_bytes(whole).first(size), "m"), FileError);

  const auto rejected = [](auto spoil, const char* message) {
    Gguf file;
    spoil(file);
    INFO(file.fault());
    CHECK(contains(file.fault(), message));
  };
  const std::uint64_t huge = std::uint64_t{1} << 62;
  rejected([](Gguf& f) { f.version = 2; }, "m.gguf: the GGUF version must be 3, got 2");
  rejected([](Gguf& f) { f.version = 3u << 24; }, "big-endian");
  rejected([&](Gguf& f) { f.tensors = huge; }, "m.gguf: tensor ");
  rejected([&](Gguf& f) { f.facts = huge; }, "m.gguf: ");
  rejected([](Gguf& f) { f.facts = 2, f.fact += f.fact; }, "the key \"general.architecture\"");
  rejected([](Gguf& f) { f.fact = text("k") + raw(13u); }, "the type 13");
  rejected(
      [](Gguf& f) { f.fact = text("k") + raw(9u) + raw(9u) + raw(std::uint64_t{1}) + raw(0u); },
      "type 9");
  rejected([&](Gguf& f) { f.fact = text("k") + raw(9u) + raw(0u) + raw(huge); },
           "the list of 4611686018427387904");
  rejected([&](Gguf& f) { f.fact = text("k") + raw(8u) + raw(huge); },
           "a string of 4611686018427387904 bytes");
  rejected([](Gguf& f) { f.fact = text("k") + raw(10u) + raw(~std::uint64_t{0}); }, "is too large");
  rejected([](Gguf& f) { f.fact = text("\xFF") + raw(0u) + "x"; }, "is not UTF-8");
  rejected([](Gguf& f) { f.fact = text("general.alignment") + raw(4u) + raw(24u); },
           "must be a power of 2");
  rejected([](Gguf& f) { f.second = f.first; }, "tensor \"a\"");
  rejected([](Gguf& f) { f.first = text("a") + raw(5u); },
           "tensor \"a\": the rank must be at most 4, got 5");
  const auto tensor = [](std::uint64_t size, std::uint32_t type, std::uint64_t at) {
    return text("a") + raw(1u) + raw(size) + raw(type) + raw(at);
  };
  rejected([&](Gguf& f) { f.first = tensor(3, 12, 0); }, "tensor \"a\": type 12");
  rejected([&](Gguf& f) { f.first = tensor(3, 2, 0); }, "Q4_0");
  rejected([&](Gguf& f) { f.first = tensor(huge, 0, 0); }, "tensor \"a\"");
  rejected([&](Gguf& f) { f.first = tensor(3, 0, ~std::uint64_t{0}); },
           "the offset is more than memory can hold");
  rejected([&](Gguf& f) { f.first = tensor(3, 0, 32); }, "there is a gap");
  rejected([&](Gguf& f) { f.first = tensor(20, 0, 0); }, "the tensors overlap");
  rejected([&](Gguf& f) { f.tensors = 1, f.second = ""; }, "the tensors end at byte");
  rejected([](Gguf& f) { f.data.resize(50); }, "may be truncated");
  rejected([](Gguf& f) { f.data += std::string(32, ' '); }, "the tensors end at byte");
  rejected([](Gguf& f) { f.magic = "GGML"; }, "m.gguf: ");
}

TEST_CASE("shards with an index form one source") {
  const Folder folder;
  const Tensor a = randn({2, 3}, Dtype::f32), b = randn({4}, Dtype::f64);
  io::save_safetensors(folder / "one.safetensors", {{"a", a}});
  io::save_safetensors(folder / "two.safetensors", {{"b", b}});
  const std::string index = folder / "model.safetensors.index.json";
  const auto write_index = [&](const std::string& map) {
    write_bytes(index, "{\"metadata\":{\"total_size\":56},\"weight_map\":{" + map + "}}");
  };
  write_index(R"("a":"one.safetensors","b":"two.safetensors")");
  TensorSource source = TensorSource::open(folder / "");
  CHECK(same(source.read("a"), a));
  CHECK(same(source.read("b", Dtype::f64), b));
  CHECK(same(source.read("b"), b.to(Dtype::f32)));

  const auto rejected = [&](const std::string& map, const char* message) {
    write_index(map);
    CHECK(contains(message_of<FileError>([&] { TensorSource::open(index); }), message));
  };
  rejected(R"("a":"one.safetensors","b":"one.safetensors")",
           "weight_map.b: tensor \"b\" is not in \"one.safetensors\"");
  rejected(R"("a":"one.safetensors","c":"two.safetensors")", "tensor \"c\" is not in");
  rejected(R"("a":"one.safetensors","a":"two.safetensors")", "the key \"a\"");
  rejected(R"("a":"../one.safetensors")", ".safetensors file");
  write_bytes(folder / "one.bin", read_bytes(folder / "one.safetensors"));
  write_bytes(folder / "g.safetensors", Gguf().bytes());
  rejected(R"("a":"one.bin")", ".safetensors file");
  rejected(R"("a":"./one.safetensors")", ".safetensors file");
  rejected(R"("a":"g.safetensors")", "a GGUF file cannot be a shard");
  rejected(R"("a":"/etc/passwd")", ".safetensors file");
  rejected(R"("a":7)", "a: 7");
  rejected(R"("a":"three.safetensors")", "three.safetensors");
  io::save_safetensors(folder / "two.safetensors", {{"b", b}, {"c", b}});
  rejected(R"("a":"one.safetensors","b":"two.safetensors")", "two.safetensors is not in the index");
  io::save_safetensors(folder / "two.safetensors", {{"a", a}});
  rejected(R"("a":"one.safetensors","b":"two.safetensors")", "tensor \"a\" is also in");
  std::filesystem::copy_file(folder / "one.safetensors", folder / "model.safetensors");
  CHECK_REFUSES(FileError, TensorSource::open(folder / ""), "2");
}

TEST_CASE("rotary rows: rows_by_pairs equals the conversion of llama.cpp") {
  // Equals w.reshape(heads, 2, d / 2, …).swapaxes(1, 2).reshape(w.shape), for 2 heads of 4.
  const Tensor w = arange(0.0, 16.0).view({8, 2}), y = io::rows_by_pairs(w, 2);
  const std::vector<float> expected = {0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15};
  CHECK(y.to_vector<float>() == expected);
  CHECK(same(io::rows_by_halves(y, 2), w));
  CHECK(same(io::rows_by_halves(io::rows_by_pairs(arange(0.0, 12.0), 1), 1), arange(0.0, 12.0)));
  CHECK_THROWS_AS(io::rows_by_pairs(w, 3), ShapeError);
  for (const Shape& shape : {Shape{}, Shape{0, 2}, Shape{1, 2}})
    CHECK_THROWS_AS(io::rows_by_pairs(ones(shape), 1), ShapeError);
  CHECK_THROWS_AS(io::rows_by_pairs(w, 0), ShapeError);
}

TEST_CASE("GGUF: facts and tensors within the limits are read, and all others are rejected") {
  const auto opened = [](auto change) {
    Gguf file;
    change(file);
    const std::string bytes = file.bytes();
    return TensorSource::parse(as_bytes(bytes), "m");
  };
  const auto alignment = [&](std::uint32_t value) {
    return [=](Gguf& f) {
      f.fact = text("general.alignment") + raw(4u) + raw(value);
      f.tensors = 0, f.first = f.second = f.data = "";
    };
  };
  for (const std::uint32_t value : {8u, 16u, 1u << 20})
    CHECK(opened(alignment(value)).tensors().empty());
  for (const std::uint32_t value : {0u, 1u, 2u, 4u, 12u, 24u, (1u << 20) + 8, 1u << 21})
    CHECK_REFUSES(FileError, opened(alignment(value)), "8", "1048576");
  const std::uint64_t large = std::uint64_t{1} << 62;
  const TensorSource whole = opened([&](Gguf& f) { f.fact = text("k") + raw(10u) + raw(large); });
  CHECK(std::get<std::int64_t>(whole.facts().at("k")) == static_cast<std::int64_t>(large));
  const std::uint64_t one = 1;
  const TensorSource four = opened([&](Gguf& f) {
    f.first = text("a") + raw(4u) + raw(one) + raw(one * 3) + raw(one) + raw(one) + raw(0u) +
              raw(one * 0);
  });
  CHECK(four.tensors().at("a").shape == Shape{1, 1, 3, 1});
  const TensorSource scalar =
      opened([&](Gguf& f) { f.first = text("a") + raw(0u) + raw(0u) + raw(one * 0); });
  CHECK(scalar.tensors().at("a").shape == Shape{});
  CHECK(contains(message_of<FileError>([&] {
                   opened([&](Gguf& f) { f.first = text("a") + raw(0u) + raw(8u) + raw(one * 0); });
                 }),
                 "Q8_0"));
  for (std::size_t n = 0; n < 40; ++n) {  // tests all remainders mod 32 of the header's length
    const TensorSource each =
        opened([&](Gguf& f) { f.fact = text("k") + raw(8u) + text(std::string(n, 'x')); });
    CHECK(each.tensors().size() == 2);
  }
}

TEST_CASE("a directory may contain exactly one GGUF file") {
  const Folder folder;
  const std::string bytes = Gguf().bytes();
  CHECK_REFUSES(FileError, TensorSource::open(folder / ""), "0");
  write_bytes(folder / "other.txt", bytes);
  write_bytes(folder / "m.gguf", bytes);
  CHECK(TensorSource::open(folder / "").tensors().size() == 2);
  write_bytes(folder / "n.gguf", bytes);
  CHECK_REFUSES(FileError, TensorSource::open(folder / ""), "2");
}

TEST_CASE("floats are read in either width, and integers and flags unchanged") {
  const auto file = io::safetensors_bytes({{"f", ones({2}, Dtype::f32)},
                                           {"d", ones({2}, Dtype::f64)},
                                           {"i", ones({2}, Dtype::i64)},
                                           {"b", ones({2}, Dtype::bool_)}});
  TensorSource source = TensorSource::parse(file, "m");
  const std::map<std::string, Dtype> types = {
      {"f", Dtype::f32}, {"d", Dtype::f64}, {"i", Dtype::i64}, {"b", Dtype::bool_}};
  for (const auto& [name, stored] : types)
    for (const auto& [other, wanted] : types) {
      INFO(name << " as " << other);
      const bool floats = (name == "f" || name == "d") && (other == "f" || other == "d");
      if (stored == wanted || floats)
        CHECK(same(source.read(name, wanted), ones({2}, wanted)));
      else
        CHECK(contains(
            message_of<FileError>([&, name = name, wanted = wanted] { source.read(name, wanted); }),
            "m: tensor \"" + name + "\" is "));
    }
}

}  // namespace gradus::testing::test_tensor_source
