// Settings as JSON, one field a line, and back.
#include "settings.h"

#include <nlohmann/json.hpp>

#include "gradus/base/error.h"
#include "gradus/examples/support/json_fields.h"
#include "gradus/io/text.h"
#include "names.h"

namespace gradus::examples {

using Json = nlohmann::ordered_json;

namespace {

/// Runs that are older than these lack them: a GPT-2 then, which the defaults are.
void read_peculiarities(const JsonFields& fields, nn::GPTOptions& model) {
  const auto choice = [&](const char* key, auto& value, const auto& names) {
    std::string name = name_of(names, value);
    fields.read_if_there(key, name);
    value = called(names, key, name);
  };
  choice("positions", model.position, kPositions);
  choice("norm", model.norm_kind, kNorms);
  choice("activation", model.activation, kActivations);
  model.kv_heads = model.heads;
  fields.read_if_there("kv_heads", model.kv_heads);
  fields.read_if_there("window", model.window);
  fields.read_if_there("checkpoint", model.checkpoint);
}

}  // namespace

std::string peculiarities(const nn::GPTOptions& model) {
  const nn::GPTOptions usual;
  std::string out;
  const auto add = [&](bool peculiar, const std::string& words) {
    if (peculiar) out += ", " + words;
  };
  add(model.position != usual.position, name_of(kPositions, model.position) + " positions");
  add(model.kv_heads > 0 && model.kv_heads != model.heads,
      text(model.kv_heads, model.kv_heads == 1 ? " key head" : " key heads"));
  add(model.window > 0, text("a window of ", model.window));
  add(model.norm_kind != usual.norm_kind, name_of(kNorms, model.norm_kind) + " norm");
  add(model.activation != usual.activation, name_of(kActivations, model.activation));
  add(model.checkpoint, "gradient checkpointing");
  return out;
}

std::string to_json(const Settings& s) {
  Json json = {{"files", s.files},
               {"validation", s.validation},
               {"text_digest", s.text_digest},
               {"tokenizer", s.tokenizer},
               {"tokenizer_vocab", s.tokenizer_vocab},
               {"config", s.config},
               {"vocab", s.model.vocab},
               {"context", s.model.context},
               {"layers", s.model.layers},
               {"heads", s.model.heads},
               {"width", s.model.width},
               {"dropout", s.model.dropout},
               {"positions", name_of(kPositions, s.model.position)},
               {"kv_heads", s.model.kv_heads},
               {"window", s.model.window},
               {"norm", name_of(kNorms, s.model.norm_kind)},
               {"activation", name_of(kActivations, s.model.activation)},
               {"checkpoint", s.model.checkpoint},
               {"batch", s.batch},
               {"steps", s.steps},
               {"warmup", s.warmup},
               {"eval_every", s.eval_every},
               {"learning_rate", s.learning_rate},
               {"final_factor", s.final_factor},
               {"beta2", s.beta2},
               {"weight_decay", s.weight_decay},
               {"clip_norm", s.clip_norm},
               {"seed", s.seed}};
  if (s.time.seconds > 0)
    json["time"] = {{"seconds", s.time.seconds},
                    {"evaluation_steps", s.time.evaluation_steps},
                    {"most_steps", s.time.most_steps}};
  return json.dump(2) + "\n";
}

Settings settings_from_json(const std::string& text, const std::string& name) {
  try {
    const auto json = nlohmann::json::parse(text);  // the ordered one seeks each key among all
    const JsonFields fields(json, name);
    Settings s;
    fields.read("files", s.files);
    fields.read("validation", s.validation);
    fields.read("text_digest", s.text_digest);
    fields.read("tokenizer", s.tokenizer);
    fields.read_if_there("tokenizer_vocab", s.tokenizer_vocab);  // older runs lack it
    fields.read("config", s.config);
    fields.read("vocab", s.model.vocab);
    fields.read("context", s.model.context);
    fields.read("layers", s.model.layers);
    fields.read("heads", s.model.heads);
    fields.read("width", s.model.width);
    fields.read("dropout", s.model.dropout);
    read_peculiarities(fields, s.model);
    fields.read("batch", s.batch);
    fields.read("steps", s.steps);
    if (json.contains("time")) {
      const JsonFields time(json.at("time"), name);
      time.read("seconds", s.time.seconds);
      time.read("evaluation_steps", s.time.evaluation_steps);
      time.read("most_steps", s.time.most_steps);
    }
    fields.read("warmup", s.warmup);
    fields.read("eval_every", s.eval_every);
    fields.read("learning_rate", s.learning_rate);
    fields.read("final_factor", s.final_factor);
    fields.read("beta2", s.beta2);
    fields.read("weight_decay", s.weight_decay);
    fields.read("clip_norm", s.clip_norm);
    fields.read("seed", s.seed);
    return s;
  } catch (const nlohmann::json::exception& error) {
    fail<FileError>(name, ": is not the settings of a gpt run: ", io::in_short(error.what()));
  } catch (const ValueError& error) {
    fail<FileError>(name, ": ", error.what());
  }
}

}  // namespace gradus::examples
