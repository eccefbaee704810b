// Files, JSON and model configurations: the limits of their rules.
#include <unistd.h>
#include <cerrno>
#include <cstring>
#include <limits>
#include <set>

#include "gradus/io/bpe.h"
#include "gradus/io/checkpoint.h"
#include "gradus/io/gguf.h"
#include "gradus/io/input.h"
#include "gradus/io/json.h"
#include "gradus/io/model_config.h"
#include "gradus/io/output_file.h"
#include "gradus/io/pretrained.h"
#include "gradus/io/safetensors.h"
#include "gradus/io/tensor_source.h"
#include "gradus/io/text.h"
#include "gradus/io/write_file.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/ops/views.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/support/golden.h"
#include "gradus/tests/support/refusal.h"

namespace gradus::testing {
namespace {

/// While one lives each change of a file is passed to `watch`.
struct Watched {
  explicit Watched(std::function<int(const io::FileChange&)> watch) {
    io::file_watch = std::move(watch);
  }
  ~Watched() { io::file_watch = nullptr; }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
};

/// The number that the next file to be opened will have.
int next_file() {
  const int next = dup(STDERR_FILENO);
  close(next);
  return next;
}

io::Json json(const std::string& text) { return io::Json::parse(text, "j"); }

nn::GPTOptions options(const std::string& more) {
  return io::gpt_options(json(
      R"({"model_type":"qwen2","vocab_size":5,"max_position_embeddings":4,"num_hidden_layers":1,)"
      R"("num_attention_heads":2,"hidden_size":8,"intermediate_size":6,"hidden_act":"silu",)"
      R"("rms_norm_eps":1e-6)" +
      more + "}"));
}

}  // namespace

TEST_CASE("remove_file returns the reason of a failure") {
  const Folder folder;
  const std::string path = folder / "f";
  CHECK(io::remove_file(path) == ENOENT);
  write_bytes(path, "x");
  {
    const Watched fails([](const io::FileChange&) { return EIO; });
    CHECK(io::remove_file(path) == EIO);
  }
  CHECK(read_bytes(path) == "x");
  CHECK(io::remove_file(path) == 0);
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("a directory is synced by its name, and no file stays open") {
  const Folder folder;
  std::vector<std::string> asked;
  const Watched watch([&](const io::FileChange& change) {
    asked.push_back(change.path);
    return 0;
  });
  const int before = next_file();
  CHECK(io::sync_directory_of("plain name") == 0);
  CHECK(io::sync_directory_of(folder / "f") == 0);
  CHECK(io::sync_directory_of(folder / "none/f") == ENOENT);
  CHECK(asked == std::vector<std::string>{".", folder / "", folder / "none/"});
  {
    io::OutputFile file;
    CHECK(file.create(folder / "f") == 0);
    CHECK(next_file() > before);
  }
  CHECK(next_file() == before);
}

TEST_CASE("at most 10,000 temporary file names are tried") {
  const Folder folder;
  int tried = 0;
  const Watched watch([&](const io::FileChange& change) {
    tried += change.kind == io::FileChange::create;
    return tried < 20'000 ? EEXIST : EIO;
  });
  CHECK(contains(refusal([&] { io::write_file_atomically(folder / "f", "x", 1); }),
                 std::strerror(EEXIST)));
  CHECK(tried == 10'000);
}

TEST_CASE("JSON: lists may be nested to the documented depth and no deeper") {
  const auto said = [](std::size_t depth) {
    return refusal(
        [&] { json("{\"a\":" + std::string(depth, '[') + "1" + std::string(depth, ']') + "}"); });
  };
  std::size_t deepest = 1;
  while (deepest < 2000 && said(deepest + 1) == "nothing was thrown") ++deepest;
  CHECK(said(deepest + 1) ==
        "j: its JSON is nested more than " + std::to_string(deepest + 1) + " deep");
}

TEST_CASE("JSON: shown values are distinct, and integers out of range are refused") {
  const io::Json all =
      json(R"({"text":"a\n\"","long":9223372036854775807,"longer":9223372036854775808,)"
           R"("many":{"a":1,"b":2,"c":3},"sizes":[1,2,3],"list":[]})");
  CHECK(all.at("text").shown() == "\"a\\u000A\\\"\"");
  CHECK(all.at("many").shown() == "an object");
  CHECK(all.at("list").shown() == "a list");
  CHECK(all.at("long").whole() == std::numeric_limits<std::int64_t>::max());
  CHECK_REFUSES(FileError, all.at("longer").whole(), "j", "9223372036854775808");
  CHECK(all.at("sizes").sizes(3) == std::vector<std::uint64_t>{1, 2, 3});
  CHECK_REFUSES(FileError, all.at("sizes").sizes(2), "j", "3", "2");
  CHECK_REFUSES(FileError, all.at("many").sizes(2), "j", "object");
}

TEST_CASE("configurations: unsupported keys are all listed in one error") {
  CHECK(options("").window == 0);
  CHECK(options(R"(,"sliding_window":3)").window == 0);
  CHECK(options(R"(,"use_sliding_window":false,"sliding_window":3)").window == 0);
  CHECK(options(R"(,"use_sliding_window":true,"sliding_window":3)").window == 3);
  const std::string said = refusal([] { options(R"(,"a_new":1,"b_new":{"c":2},"d":[],"e":{})"); });
  CHECK(contains(said, "\n  a_new: 1"));
  CHECK(contains(said, "\n  b_new: an object"));
  CHECK_FALSE(contains(said, "\n  d"));
  CHECK_FALSE(contains(said, "\n  e"));
}

TEST_CASE("configurations: a window of one token is kept, and biases follow the family") {
  const char* one =
      R"(,"use_sliding_window":true,"sliding_window":1,"layer_types":["sliding_attention"])";
  nn::GPTOptions o = options(one);
  CHECK(o.window == 1);
  CHECK(options(R"(,"layer_types":["full_attention"])").window == 0);
  const io::Json written = json(io::config_of(o));
  CHECK(written.at("sliding_window").whole() == 1);
  CHECK(written.at("use_sliding_window").flag());
  CHECK(written.at("max_window_layers").whole() == 0);
  CHECK(io::gpt_options(written).window == 1);
  o.bias = true, o.qkv_bias = true, o.out_bias = false;
  CHECK_REFUSES(ValueError, io::config_of(o), "config_of", "mistral");
}

TEST_CASE("configurations: redundant keys change nothing") {
  const char* bert =
      R"({"model_type":"bert","vocab_size":5,"max_position_embeddings":4,"num_hidden_layers":1,)"
      R"("num_attention_heads":2,"hidden_size":8,"intermediate_size":6,"hidden_act":"gelu",)"
      R"("position_embedding_type":"absolute","tie_word_embeddings":true,"pad_token_id":3})";
  CHECK(io::bert_options(json(bert)).padding_idx == 3);
}

TEST_CASE("GGUF: unknown keys are all listed in one error, and one head is accepted") {
  std::map<std::string, io::Fact> facts = {{"general.architecture", std::string("llama")}};
  for (const char* key : {"context_length", "block_count", "attention.head_count",
                          "embedding_length", "feed_forward_length"})
    facts[std::string("llama.") + key] = std::int64_t{1};
  facts["llama.attention.layer_norm_rms_epsilon"] = 0.5;
  CHECK(io::gguf_options(facts, "g").heads == 1);
  facts["llama.x"] = facts["llama.y"] = std::int64_t{1};
  CHECK_REFUSES(FileError, io::gguf_options(facts, "g"), "g", "Gradus");
}

TEST_CASE("checkpoints: the checksum has eight digits, and reserved fact names are refused") {
  std::set<char> first, last;
  for (int i = 0; i < 40; ++i) {
    const Folder folder;
    io::save_checkpoint(folder / "c", {{}, {{"n", std::to_string(i)}}});
    const std::string sum = io::load_safetensors(folder / "c").metadata.at("gradus.crc32");
    CHECK(sum.size() == 8);
    first.insert(sum.front()), last.insert(sum.back());
  }
  CHECK(first.size() > 4);
  CHECK(last.size() > 4);
  const Folder folder;
  for (const std::string key : {"gradus.", "gradus.gradus.x"})
    CHECK_REFUSES(ValueError, io::save_checkpoint(folder / "c", {{}, {{key, ""}}}), "format");
  io::save_checkpoint(folder / "c", {{}, {{"xgradus.", ""}}});
}

TEST_CASE("safetensors: a tensor that is too large is reported with its type and sizes") {
  const std::string header =
      R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})";
  std::string bytes(8, '\0');
  bytes[0] = static_cast<char>(header.size());
  bytes += header;
  CHECK_REFUSES(FileError, io::parse_safetensors(as_bytes(bytes), "m"), "m", "\"a\"",
                "[4294967296, 4294967296]");
  bytes = std::string(8, '\0') + "  \t";
  bytes[0] = 3;
  CHECK_REFUSES(FileError, io::parse_safetensors(as_bytes(bytes), "m"), "m", "header");
}

namespace {

const std::string kFamilies = GRADUS_SOURCE_DIR "/tests/golden/families/";

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

TEST_CASE("safetensors: the header lists wide types first and is padded to a multiple of 8") {
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

TEST_CASE("save_safetensors refuses wrong tensors and names them") {
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

TEST_CASE("checkpoint errors distinguish plain files, other formats and damage") {
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

TEST_CASE("bpe refuses merges that do not fit its tokens") {
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

TEST_CASE("files that are not models are refused in one line") {
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

namespace {

/// Takes what may be read from a path for as long as it lives.
class Closed {
 public:
  explicit Closed(std::string path) : path_(std::move(path)) {
    std::filesystem::permissions(path_, std::filesystem::perms::none);
  }
  ~Closed() { std::filesystem::permissions(path_, std::filesystem::perms::owner_all); }
  Closed(const Closed&) = delete;
  Closed& operator=(const Closed&) = delete;

 private:
  std::string path_;
};

}  // namespace

TEST_CASE("an unreadable file is reported with its cause") {
  if (geteuid() == 0) return;  // root may read everything
  const Folder folder;
  const std::string path = folder / "f";
  write_bytes(path, "x");
  const Closed file(path);
  const std::string said = "cannot read " + path + ": " + std::generic_category().message(EACCES);
  CHECK(refusal([&] { io::Input input(path); }) == said);
  CHECK(refusal([&] { io::read_text(path); }) == said);
}

TEST_CASE("an unreadable directory is reported with its cause") {
  if (geteuid() == 0) return;  // root may read everything
  const Folder folder;
  const std::string path = folder / "d";
  std::filesystem::create_directory(path);
  const Closed directory(path);
  CHECK(refusal([&] { io::TensorSource::open(path); }) ==
        "cannot read " + path + ": " + std::generic_category().message(EACCES));
}

}  // namespace gradus::testing
