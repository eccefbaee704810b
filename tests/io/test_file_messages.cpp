// Messages of files as a whole: what is written is refused, or what is read does not fit.
#include "gradus/io/bpe.h"
#include "gradus/io/checkpoint.h"
#include "gradus/io/gguf.h"
#include "gradus/io/input.h"
#include "gradus/io/pretrained.h"
#include "gradus/io/safetensors.h"
#include "gradus/io/tensor_source.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/ops/views.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/support/golden.h"
#include "gradus/tests/support/refusal.h"

namespace gradus::testing {
namespace {

const std::string kFamilies = GRADUS_SOURCE_DIR "/tests/golden/families/";

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

TEST_CASE("a safetensors header names its tensors, wide ones first, and ends at a multiple of 8") {
  const std::map<std::string, Tensor> tensors = {
      {"flags", ones({3}, Dtype::bool_)}, {"half \"a\"", zeros({2, 1}, Dtype::f32)},
      {"ids", zeros({}, Dtype::i64)},     {"none", zeros({0, 4}, Dtype::f64)},
      {"wide", zeros({1}, Dtype::f64)},   {"a", zeros({1}, Dtype::f32)}};
  const std::string bytes = text_of(io::safetensors_bytes(tensors, {{"k", "v"}, {"a", "é"}}));
  const std::size_t length =
      static_cast<unsigned char>(bytes[0]) + 256u * static_cast<unsigned char>(bytes[1]);
  CHECK(length % 8 == 0);
  CHECK(bytes.size() == 8 + length + 8 + 8 + 8 + 4 + 3);
  for (std::size_t n = 1; n < 20; ++n) {
    const std::string name(n, 'x'), one = text_of(io::safetensors_bytes({{name, ones({1})}}));
    CHECK(one[0] % 8 == 0);
    CHECK(one.size() == 12u + static_cast<unsigned char>(one[0]));
    const std::size_t text = one.rfind('}') + 1;
    CHECK(text + 8 > one.size() - 4);
    CHECK(io::parse_safetensors(as_bytes(one), "m").tensors.at(name).item() == 1);
  }
}

TEST_CASE("what cannot be written is refused by name") {
  const auto said = [](const std::map<std::string, Tensor>& tensors,
                       const std::map<std::string, std::string>& texts = {}) {
    return refusal<std::exception>([&] { io::safetensors_bytes(tensors, texts); });
  };
  CHECK(said({{"", ones({1})}}) == "save_safetensors: a tensor needs a name, and one has \"\"");
  CHECK(
      said({{"__metadata__", ones({1})}}) ==
      "save_safetensors: \"__metadata__\" cannot name a tensor: in the format it names the texts");
  CHECK(said({{"a", Tensor()}}) == "save_safetensors: tensor \"a\" is undefined");
  CHECK(said({{"\xff", ones({1})}}) == "save_safetensors: the name \"\xEF\xBF\xBD\" is not UTF-8");
  CHECK(said({}, {{"\xff", "a"}}) == "save_safetensors: the key \"\xEF\xBF\xBD\" is not UTF-8");
  CHECK(said({}, {{"a", "\xff"}}) == "save_safetensors: the text \"\xEF\xBF\xBD\" is not UTF-8");
  const Folder folder;
  const auto checkpoint = [&](io::Checkpoint what) {
    return refusal<std::exception>([&] { io::save_checkpoint(folder / "c", what); });
  };
  const std::string taken = " has a name that the file format uses: give it another";
  CHECK(checkpoint({{}, {{"format", ""}}}) == "save_checkpoint: the fact \"format\"" + taken);
  CHECK(checkpoint({{}, {{"gradus.x", ""}}}) == "save_checkpoint: the fact \"gradus.x\"" + taken);
  CHECK(checkpoint({{{"a", Tensor()}}, {}}) == "save_checkpoint: tensor \"a\" is undefined");
  CHECK(checkpoint({{{"a", ones({1})}}, {{"formats", "x"}, {"gradus", "y"}}}) ==
        "nothing was thrown");
  CHECK(io::load_checkpoint(folder / "c").facts ==
        std::map<std::string, std::string>{{"formats", "x"}, {"gradus", "y"}});
}

TEST_CASE("a checkpoint tells a plain file, another format and damage apart") {
  const auto parse = [](const std::map<std::string, std::string>& facts) {
    const std::string bytes = text_of(io::safetensors_bytes({{"a", ones({2})}}, facts));
    io::parse_checkpoint(as_bytes(bytes), "c");
  };
  CHECK_REFUSES(FileError, parse({}), "c:", "checkpoint");
  CHECK_REFUSES(FileError, parse({{"gradus.checkpoint", "0"}}), "c:", "0");
  CHECK_REFUSES(FileError, parse({{"gradus.checkpoint", "1"}}), "c:", "checksum");
  CHECK_REFUSES(FileError, parse({{"gradus.checkpoint", "1"}, {"gradus.crc32", "00000000"}}),
                "c:", "damaged");
}

TEST_CASE("byte pairs that do not fit are refused") {
  using Merges = std::vector<io::BpeTokenizer::Merge>;
  const auto said = [](std::vector<std::string> tokens, Merges merges) {
    return refusal([&] { io::BpeTokenizer(std::move(tokens), std::move(merges), "t"); });
  };
  CHECK(said({"a", "b", "ab"}, {{0, 1}}) == "nothing was thrown");
  CHECK(said({"a", ""}, {}) == "t: token 1 is empty");
  CHECK(said({"a", "b", "a"}, {}) == "t: the token \"a\" stands there twice");
  for (const auto& [a, b] : Merges{{-1, 0}, {0, -1}, {3, 0}, {0, 3}, {-1, 3}})
    CHECK(said({"a", "b", "ab"}, {{0, 1}, {a, b}}) ==
          str_cat("t: merge 1 joins tokens ", a, " and ", b, " of 3"));
  CHECK(said({"a", "b"}, {{1, 0}}) == "t: merge 0 makes \"ba\", which is no token");
  CHECK(said({"a", "b", "ab"}, {{0, 1}, {0, 1}}) == "t: merge 1 stands there twice");
}

TEST_CASE("files that are no model are refused in one line") {
  const auto source = [](const std::string& bytes) {
    return refusal([&] { io::TensorSource::parse(as_bytes(bytes), "m"); });
  };
  for (const std::string each : {"", "G", "GGU", "GGUF", "GGUX", "12345678"})
    CHECK(source(each).rfind("m: ", 0) == 0);
  const std::string wrong = "GGUXxxxxxxxxxxxxxxxxxxxx";
  CHECK(refusal([&] {
          io::Input input(as_bytes(wrong), "m");
          io::read_gguf_header(input);
        }) == "m: its first 4 bytes are not \"GGUF\"");
  io::TensorSource small =
      io::TensorSource::parse(io::safetensors_bytes({{"a", ones({1}, Dtype::f64)}}), "small");
  CHECK_REFUSES(FileError, small.read("b"), "small", "\"b\"");
  CHECK(small.read("a", Dtype::f32).dtype() == Dtype::f32);
  CHECK_REFUSES(ShapeError, io::rows_by_pairs(ones({}), 1), "[]", "1");
  CHECK_REFUSES(ShapeError, io::rows_by_pairs(ones({4}), 0), "[4]", "0");
  CHECK_REFUSES(ShapeError, io::rows_by_pairs(zeros({0, 2}), 1), "[0, 2]", "1");
  const Tensor turned = transpose(arange(0.0, 16.0).reshape({2, 8}), 0, 1);
  CHECK(same(io::rows_by_pairs(turned, 2), io::rows_by_pairs(turned.clone(), 2)));
  CHECK_REFUSES(FileError, io::load_text_classifier(kFamilies + "bert"), "bert",
                "\"classifier.weight\"");
  CHECK_REFUSES(FileError, io::load_vision_transformer(kFamilies + "bert"), "bert",
                "\"classifier.weight\"");
  const Folder folder;
  write_bytes(folder / "file", "x");
  CHECK_REFUSES(
      FileError,
      io::save_pretrained(folder / "file", nn::GPT({.vocab = 2, .context = 2, .width = 2})), "file",
      "made");
  CHECK(io::is_pretrained("x.gguf"));
  CHECK(io::is_pretrained(kFamilies + "bert"));
  CHECK(!io::is_pretrained(folder / ""));
}

}  // namespace gradus::testing
