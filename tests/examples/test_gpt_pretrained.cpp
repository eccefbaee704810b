#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "gradus/io/safetensors.h"
#include "gradus/ops/members.h"
#include "gradus/tests/examples/gpt_program.h"
#include "gradus/tests/support/catch.h"

namespace gradus::testing::test_gpt_pretrained {
namespace {

const std::string kFamilies = GRADUS_SOURCE_DIR "/tests/golden/families/";

/// The tokenizer has 35 characters for a vocabulary of 37 tokens.
void write_model(const Workplace& here, const std::string& family) {
  fs::create_directories(here.directory / family);
  for (const char* file : {"config.json", "model.safetensors"})
    fs::copy_file(kFamilies + family + "/" + file, here.directory / family / file);
  here.write(family + "/tokenizer.json",
             R"({"gradus_tokenizer": 1, "type": "character",)"
             R"( "characters": "\n ,.0123456789?abcdefghijklmnopqrst"})");
}

void write_text(const Workplace& here) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "a cat sat on a mat. " + std::to_string(i * i % 97) + "\n";
  here.write("text.txt", text);
}

std::vector<std::vector<double>> printed(const Outcome& outcome) {
  CAPTURE(outcome.err);
  REQUIRE(outcome.code == 0);
  std::vector<std::vector<double>> rows;
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);)
    rows.push_back(nlohmann::json::parse(line).get<std::vector<double>>());
  return rows;
}

}  // namespace

TEST_CASE("gpt logits prints the logits of transformers, one line per position") {
  const Workplace here;
  for (const char* family : {"gpt2", "llama", "mistral", "qwen2", "qwen3"}) {
    INFO(family);
    const auto golden = io::load_safetensors(kFamilies + family + "/golden.safetensors").tensors;
    std::string ids;
    for (const std::int64_t id : golden.at("ids")[0].to_vector<std::int64_t>())
      ids += (ids.empty() ? "" : ",") + std::to_string(id);
    const auto rows = printed(here.gpt("logits '" + kFamilies + family + "' --ids " + ids));
    const std::vector<float> expected = golden.at("output")[0].to_vector<float>();
    REQUIRE(rows.size() == 11);
    double largest = 0, apart = 0;
    for (std::size_t t = 0; t < rows.size(); ++t) {
      REQUIRE(rows[t].size() == 37);
      for (std::size_t v = 0; v < 37; ++v) {
        largest = std::max(largest, std::abs(rows[t][v]));
        apart = std::max(apart, std::abs(rows[t][v] - static_cast<double>(expected[t * 37 + v])));
      }
    }
    CHECK(apart < 1e-5 * largest);  // tests/io/pretrained/test_pretrained.cpp derives the bound
  }
}

TEST_CASE("gpt rejects wrong models and ids, in one line") {
  const Workplace here;
  const std::string llama = "'" + kFamilies + "llama'";
  check_refused(here.gpt("logits " + llama + " --ids 1,x"), {"--ids", "x", "1,5,9"});
  check_refused(here.gpt("logits " + llama + " --ids 1,99"), {"99", "37"});
  check_refused(here.gpt("sample " + llama), {"tokenizer.json"});
  check_refused(here.gpt("logits '" + kFamilies + "bert' --ids 1"), {"bert", "gpt2, llama"});
  check_refused(here.gpt("train text.txt --from " + llama + " --layers 3"),
                {"--layers contradicts --from"});
}

TEST_CASE("gpt fine-tunes a pretrained model with adapters and exports the result") {
  const Workplace here;
  write_model(here, "llama");
  write_text(here);
  const Outcome trained = here.gpt(
      "train text.txt --from llama --lora '*.qkv_proj,*.up' --lora-rank 2 --out run --steps 30 "
      "--lr 0.01 --context 16 --batch 4 --eval-every 10 --no-trial --threads 1");
  CAPTURE(trained.err, trained.out);
  REQUIRE(trained.code == 0);
  CHECK(trained.err.find("adapters in *.qkv_proj,*.up") != std::string::npos);
  const auto before = io::load_safetensors(kFamilies + "llama/model.safetensors").tensors;
  const auto after =
      io::load_safetensors((here.directory / "run/model.safetensors").string()).tensors;
  CHECK(after.at("token.weight").to_vector<float>() ==
        before.at("model.embed_tokens.weight").to_vector<float>());
  CHECK(after.count("blocks.0.attention.qkv_proj.lora_a") == 1);

  const Outcome written = here.gpt("export run merged");
  CAPTURE(written.err);
  REQUIRE(written.code == 0);
  const auto apart = printed(here.gpt("logits run --ids 1,2,3"));
  const auto merged = printed(here.gpt("logits merged --ids 1,2,3"));
  for (std::size_t t = 0; t < 3; ++t)
    for (std::size_t v = 0; v < 37; ++v)  // merging rounds each weight once
      CHECK(std::abs(apart[t][v] - merged[t][v]) < 1e-4);
  REQUIRE(here.gpt("export run adapters --adapters").code == 0);
  const auto adapters =
      io::load_safetensors((here.directory / "adapters/adapters.safetensors").string()).tensors;
  CHECK(adapters.size() == 2 * 2 * 3);  // layers · projections · (A, B and scale)
}

TEST_CASE("with --from, the seed of gpt train selects the windows, and other flags apply") {
  const Workplace here;
  write_model(here, "llama");
  write_text(here);
  int runs = 0;
  const auto first_loss = [&](const std::string& flags) {
    const std::string run = std::to_string(++runs);
    const Outcome trained =
        here.gpt("train text.txt --from llama --steps 1 --batch 4 --no-trial --threads 1 --out " +
                 run + " " + flags);
    CAPTURE(flags, trained.err);
    REQUIRE(trained.code == 0);
    return contents(here.directory / run / "metrics.jsonl");
  };
  const std::string usual = first_loss("--seed 1 --dropout 0 --context 16");
  CHECK(first_loss("--seed 1 --dropout 0 --context 16 --checkpoint") == usual);
  CHECK(first_loss("--seed 2 --dropout 0 --context 16") != usual);
  CHECK(first_loss("--seed 1 --dropout 0.3 --context 16") != usual);
  CHECK(first_loss("--seed 1 --dropout 0 --context 12") != usual);
}

TEST_CASE("gpt info describes a pretrained model") {
  const Workplace here;
  const Outcome info = here.gpt("info '" + kFamilies + "llama'");
  CHECK(info.code == 0);
  CHECK(info.out.find("3 heads, 1 for keys and values, rotary positions with base 5003") !=
        std::string::npos);
}

}  // namespace gradus::testing::test_gpt_pretrained
