// Reads files of version 0.1.0 (tests/compat/v1/README.md).
#include <cmath>

#include "gradus/io/checkpoint.h"
#include "gradus/io/csv.h"
#include "gradus/io/npy.h"
#include "gradus/io/safetensors.h"
#include "gradus/io/tokenizer.h"
#include "gradus/tests/io/files.h"
#include "gradus/train/metrics.h"
#include "gradus/train/trainer.h"

namespace gradus::testing::test_compat {
namespace {

const std::string kFiles = GRADUS_SOURCE_DIR "/tests/compat/v1/";
const Tensor kF32 = tensor(std::vector<float>{0.5f, -1.25f, 3, 1e-40f, INFINITY, -0.0f}, {2, 3});
const Tensor kI64 = tensor(std::vector<std::int64_t>{INT64_MIN, -1, INT64_MAX}, {3, 1});

void check_tokenizer(const std::string& kind, std::int64_t vocabulary, const std::string& text,
                     const std::vector<std::int64_t>& ids, const std::string& decoded) {
  CAPTURE(kind);
  const auto tokenizer = io::load_tokenizer(kFiles + kind + ".json");
  CHECK(tokenizer->vocab_size() == vocabulary);
  CHECK(tokenizer->encode(text) == ids);
  CHECK(tokenizer->decode(ids) == decoded);
}

}  // namespace

TEST_CASE("safetensors of version 0.1.0 are read") {
  const io::TensorFile file = io::load_safetensors(kFiles + "weights.safetensors");
  CHECK(file.tensors.size() == 6);
  CHECK(same(file.tensors.at("f32"), kF32));
  CHECK(same(file.tensors.at("f64"), tensor(std::vector<double>{0.1, 1e300, -1e-300}, {3})));
  CHECK(same(file.tensors.at("i64"), kI64));
  CHECK(same(file.tensors.at("bool"), tensor(std::vector<bool>{true, false, true})));
  CHECK(same(file.tensors.at("scalar"), tensor(7.5, Dtype::f64)));
  CHECK(same(file.tensors.at("empty"), zeros({0, 4})));
  CHECK(file.metadata.at("note") == "größer");
}

TEST_CASE("arrays and tables of version 0.1.0 are read") {
  CHECK(same(io::load_npy(kFiles + "f32.npy"), kF32));
  CHECK(same(io::load_npy(kFiles + "i64.npy"), kI64));
  const io::Table table = io::load_csv(kFiles + "table.csv", Dtype::f64);
  CHECK(table.columns == std::vector<std::string>{"x", "a \"quoted\", name"});
  CHECK(same(table.values, tensor(std::vector<double>{0.1, 1e300, -2, 1.0 / 3}, {2, 2})));
}

TEST_CASE("tokenizers of version 0.1.0 return the same ids") {
  const std::string text = "the größe, cats";
  check_tokenizer("character", 17, "the größe", {14, 8, 5, 0, 7, 12, 16, 15, 5}, "the größe");
  check_tokenizer("byte", 256, text,
                  {116, 104, 101, 32, 103, 114, 195, 182, 195, 159, 101, 44, 32, 99, 97, 116, 115},
                  text);
  check_tokenizer("word", 6, text, {0, 4, 0, 0}, "<unknown> größe<unknown><unknown>");
  check_tokenizer("bpe", 264, text, {258, 32, 103, 114, 195, 182, 195, 159, 101, 44, 263, 115},
                  text);
}

TEST_CASE("the checkpoint, weights and metrics of a run of version 0.1.0 are read") {
  const train::RunFiles run{kFiles + "run"};
  const io::Checkpoint checkpoint = io::load_checkpoint(run.checkpoint());
  CHECK(checkpoint.facts.at("step") == "7");
  CHECK(checkpoint.facts.at("random_seed") == "7");
  CHECK(checkpoint.tensors.at("model.token.weight").shape() == Shape{24, 8});
  CHECK(checkpoint.tensors.at("optimizer.exp_avg.token.weight").shape() == Shape{24, 8});
  const train::SavedState state = train::read_state(run);
  CHECK(state.step == 7);
  CHECK(state.best_step == 6);
  CHECK(std::abs(state.best - 2.5754507862695375) < 1e-12);
  CHECK(state.parameters == 1336);
  CHECK(io::load_safetensors(run.model()).tensors.size() == 16);

  const auto loss = train::read_metric(run.metrics(), "loss");
  REQUIRE(loss.size() == 7);
  CHECK(loss.back() == std::pair<double, double>{6, 2.5715737342834473});
  CHECK(train::read_metric(run.metrics(), "held_out_loss").size() == 2);
}

}  // namespace gradus::testing::test_compat
