#include <unistd.h>
#include <cerrno>
#include <cstring>
#include <limits>

#include "gradus/io/bpe.h"
#include "gradus/io/input.h"
#include "gradus/io/json.h"
#include "gradus/io/output_file.h"
#include "gradus/io/pretrained/model_config.h"
#include "gradus/io/pretrained/pretrained.h"
#include "gradus/io/pretrained/tensor_source.h"
#include "gradus/io/safetensors.h"
#include "gradus/io/text.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/support/refusal.h"

namespace gradus::testing::test_files {
namespace {

struct Watched {
  explicit Watched(std::function<int(const io::FileChange&)> watch) {
    io::file_watch = std::move(watch);
  }
  ~Watched() { io::file_watch = nullptr; }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
};

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

TEST_CASE("no file or directory stays open") {
  const Folder folder;
  const int before = next_file();
  CHECK(io::sync_directory_of("plain name") == 0);
  CHECK(io::sync_directory_of(folder / "none/f") == ENOENT);
  {
    io::OutputFile file;
    CHECK(file.create(folder / "f") == 0);
    CHECK(next_file() > before);
  }
  CHECK(next_file() == before);
}

TEST_CASE("JSON: described values are distinct, and integers out of range are rejected") {
  const io::Json all =
      json(R"({"text":"a\n\"","long":9223372036854775807,"longer":9223372036854775808,)"
           R"("many":{"a":1,"b":2,"c":3},"sizes":[1,2,3],"list":[]})");
  CHECK(all.at("text").describe() == "\"a\\u000A\\\"\"");
  CHECK(all.at("many").describe() == "an object");
  CHECK(all.at("list").describe() == "a list");
  CHECK(all.at("long").as_int() == std::numeric_limits<std::int64_t>::max());
  CHECK_REFUSES(FileError, all.at("longer").as_int(), "j", "9223372036854775808");
  CHECK(all.at("sizes").sizes(3) == std::vector<std::uint64_t>{1, 2, 3});
  CHECK_REFUSES(FileError, all.at("sizes").sizes(2), "j", "3", "2");
  CHECK_REFUSES(FileError, all.at("many").sizes(2), "j", "object");
}

TEST_CASE("configurations: unsupported keys are all listed in one error") {
  CHECK(options("").window == 0);
  CHECK(options(R"(,"sliding_window":3)").window == 0);
  CHECK(options(R"(,"use_sliding_window":false,"sliding_window":3)").window == 0);
  const std::string used = R"(,"use_sliding_window":true,"sliding_window":3)";
  CHECK(options(used).window == 0);  // max_window_layers defaults to 28
  CHECK(options(used + R"(,"max_window_layers":0)").window == 3);
  CHECK(options(used + R"(,"max_window_layers":1)").window == 0);
  CHECK_REFUSES(FileError, options(used + R"(,"max_window_layers":1,"num_hidden_layers":2)"), "j");
  CHECK(options(used + R"(,"layer_types":["sliding_attention"])").window == 3);
  CHECK(options(R"(,"rope_scaling":{"type":"default","rope_theta":7})").block.head.rotary.base ==
        7);
  const std::string message =
      refusal([] { options(R"(,"a_new":1,"b_new":{"c":2},"d":[],"e":{})"); });
  CHECK(contains(message, "\n  a_new: 1"));
  CHECK(contains(message, "\n  b_new: an object"));
  CHECK_FALSE(contains(message, "\n  d"));
  CHECK_FALSE(contains(message, "\n  e"));
}

TEST_CASE("configurations: redundant keys change nothing") {
  const char* bert =
      R"({"model_type":"bert","vocab_size":5,"max_position_embeddings":4,"num_hidden_layers":1,)"
      R"("num_attention_heads":2,"hidden_size":8,"intermediate_size":6,"hidden_act":"gelu",)"
      R"("position_embedding_type":"absolute","tie_word_embeddings":true,"pad_token_id":3})";
  CHECK(io::bert_options(json(bert)).padding_idx == 3);
}

TEST_CASE("files that are not models are rejected in one line") {
  for (const std::string each :
       {"", "G", "GGU", "GGUF", "GGUX", "12345678", "GGUXxxxxxxxxxxxxxxxxxxxxx"})
    CHECK_REFUSES(FileError, io::TensorSource::parse(as_bytes(each), "m"), "m: ");
  io::TensorSource small =
      io::TensorSource::parse(io::safetensors_bytes({{"a", ones({1}, Dtype::f64)}}), "small");
  CHECK_REFUSES(FileError, small.read("b"), "small", "\"b\"");
  const Folder folder;
  write_bytes(folder / "file", "x");
  CHECK_REFUSES(FileError,
                io::save_pretrained(folder / "file",
                                    nn::GPT({.vocab = 2, .context = 2, .block = {.width = 2}})),
                "file", "cannot create the directory");
}

namespace {

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

TEST_CASE("an unreadable file or directory is reported with its cause") {
  if (geteuid() == 0) return;  // root can read every file
  const Folder folder;
  const std::string path = folder / "f", directory = folder / "d";
  write_bytes(path, "x");
  std::filesystem::create_directory(directory);
  const Closed file(path), closed(directory);
  const std::string cause = std::generic_category().message(EACCES);
  CHECK_REFUSES(FileError, io::Input(path), path, cause);
  CHECK_REFUSES(FileError, io::read_text(path), path, cause);
  CHECK_REFUSES(FileError, io::TensorSource::open(directory), directory, cause);
}

}  // namespace gradus::testing::test_files
