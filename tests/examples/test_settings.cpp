#include <CLI/CLI.hpp>
#include <sstream>

#include "gradus/examples/apps/gpt/flags.h"
#include "gradus/tests/support/catch.h"

namespace gradus::testing::test_settings {
namespace {

/// Returns the line with numbers halved, names replaced, and booleans negated.
std::string other(const std::string& line) {
  const std::size_t colon = line.find("\": ");
  if (colon == std::string::npos) return line;
  const std::string field = line.substr(0, colon + 3), value = line.substr(colon + 3);
  const std::string end = value.back() == ',' ? "," : "";
  if (value[0] == '"') {
    const bool norm = field.find("norm") != std::string::npos;
    const std::string name = field.find("positions") != std::string::npos    ? "alibi"
                             : field.find("activation") != std::string::npos ? "silu"
                             : field.find("optimizer") != std::string::npos  ? "muon"
                                                                             : "rms";
    return field + '"' + (norm ? "rms" : name) + '"' + end;
  }
  if (value.rfind("false", 0) == 0) return field + "true" + end;
  if (value.rfind("true", 0) == 0) return field + "false" + end;
  if (value[0] == '[' || value[0] == '{') return line;
  std::ostringstream out;
  out << std::stod(value) / 2;
  const bool whole = out.str().find('.') == std::string::npos;
  return field + out.str() + (whole && value.find('.') != std::string::npos ? ".0" : "") + end;
}

std::string written(const std::string& json) {
  CLI::App app;
  examples::GptFlags flags(app);
  flags.from_json(json);
  return flags.to_json();
}

TEST_CASE("each setting of a gpt run is restored from settings.json") {
  CLI::App app;
  examples::GptFlags flags(app);
  flags.texts = {"a.txt", "b.txt"};
  flags.validation = "c.txt", flags.text_digest = "12", flags.config = "toy";
  flags.tokenizer = "bpe", flags.tokenizer_vocab = 300;
  flags.batch = 12, flags.shards = 4;
  flags.vocab = 300, flags.context = 32, flags.layers = 4, flags.heads = 4, flags.width = 16;
  flags.kv_heads = 2, flags.window = 8, flags.dropout = 0.5;
  flags.time = {.seconds = 30, .evaluation_steps = 2.5, .most_steps = 700};
  flags.warmup = 50, flags.seed = 8;
  const std::string all = flags.to_json();
  std::istringstream in(all);
  std::size_t at = 0, changed = 0;
  for (std::string line; std::getline(in, line); at += line.size() + 1) {
    if (line.find("\"program\"") != std::string::npos) continue;  // only one value is valid
    std::string text = all;
    text.replace(at, line.size(), other(line));
    INFO(line);
    changed += text != all;
    CHECK(written(text) == text);
  }
  CHECK(changed > 20);  // all fields except those of the files and the program
}

}  // namespace
}  // namespace gradus::testing::test_settings
