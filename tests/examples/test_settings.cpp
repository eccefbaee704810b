// gpt's settings.json: each field comes back as it was written.
#include <sstream>

#include "gradus/examples/gpt/settings.h"
#include "gradus/tests/support/catch.h"

namespace gradus::testing {
namespace {

/// The line with another value: half of a number, another name, the other of true and false.
std::string other(const std::string& line) {
  const std::size_t colon = line.find("\": ");
  if (colon == std::string::npos) return line;
  const std::string field = line.substr(0, colon + 3), value = line.substr(colon + 3);
  const std::string end = value.back() == ',' ? "," : "";
  if (value[0] == '"') {
    const bool norm = field.find("norm") != std::string::npos;
    const std::string name = field.find("positions") != std::string::npos    ? "alibi"
                             : field.find("activation") != std::string::npos ? "silu"
                                                                             : "rms";
    return field + '"' + (norm ? "rms" : name) + '"' + end;
  }
  if (value.rfind("false", 0) == 0) return field + "true" + end;
  if (value[0] == '[' || value[0] == '{') return line;
  std::ostringstream out;
  out << std::stod(value) / 2;
  const bool whole = out.str().find('.') == std::string::npos;
  return field + out.str() + (whole && value.find('.') != std::string::npos ? ".0" : "") + end;
}

TEST_CASE("each setting of a gpt run comes back as it was written") {
  examples::Settings settings;
  settings.files = {"a.txt", "b.txt"};
  settings.validation = "c.txt", settings.text_digest = "12", settings.config = "toy";
  settings.tokenizer = "bpe", settings.tokenizer_vocab = 300;
  settings.model = {};
  settings.model.vocab = 300, settings.model.context = 32, settings.model.layers = 4;
  settings.model.heads = 4, settings.model.width = 16;
  settings.model.kv_heads = 2, settings.model.window = 8, settings.model.dropout = 0.5;
  settings.time = {.seconds = 30, .evaluation_steps = 2.5, .most_steps = 700};
  settings.warmup = 50, settings.seed = 8;
  const std::string all = examples::to_json(settings);
  std::istringstream in(all);
  std::size_t at = 0, changed = 0;
  for (std::string line; std::getline(in, line); at += line.size() + 1) {
    std::string text = all;
    text.replace(at, line.size(), other(line));
    INFO(line);
    changed += text != all;
    CHECK(examples::to_json(examples::settings_from_json(text, "x")) == text);
  }
  CHECK(changed == 30);  // all fields but the files'
}

}  // namespace
}  // namespace gradus::testing
