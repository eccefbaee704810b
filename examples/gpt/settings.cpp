// Settings as JSON, one field a line, and back.
#include "settings.h"

#include <nlohmann/json.hpp>

#include "gradus/base/error.h"
#include "names.h"

namespace gradus::examples {

using Json = nlohmann::ordered_json;

namespace {

/// Runs that are older than these lack them: a GPT-2 then, which the defaults are.
void read_peculiarities(const Json& json, nn::GPTOptions& model) {
  const auto choice = [&](const char* key, auto& value, const auto& names) {
    if (json.contains(key)) value = called(names, key, json.at(key).get<std::string>());
  };
  choice("positions", model.position, kPositions);
  choice("norm", model.norm_kind, kNorms);
  choice("activation", model.activation, kActivations);
  model.kv_heads = json.value("kv_heads", model.heads);
  model.window = json.value("window", model.window);
  model.checkpoint = json.value("checkpoint", model.checkpoint);
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
    const Json json = Json::parse(text);
    Settings s;
    json.at("files").get_to(s.files);
    json.at("validation").get_to(s.validation);
    json.at("text_digest").get_to(s.text_digest);
    json.at("tokenizer").get_to(s.tokenizer);
    s.tokenizer_vocab = json.value("tokenizer_vocab", s.tokenizer_vocab);  // older runs lack it
    json.at("config").get_to(s.config);
    json.at("vocab").get_to(s.model.vocab);
    json.at("context").get_to(s.model.context);
    json.at("layers").get_to(s.model.layers);
    json.at("heads").get_to(s.model.heads);
    json.at("width").get_to(s.model.width);
    json.at("dropout").get_to(s.model.dropout);
    read_peculiarities(json, s.model);
    json.at("batch").get_to(s.batch);
    json.at("steps").get_to(s.steps);
    if (json.contains("time")) {
      const Json& time = json.at("time");
      time.at("seconds").get_to(s.time.seconds);
      time.at("evaluation_steps").get_to(s.time.evaluation_steps);
      time.at("most_steps").get_to(s.time.most_steps);
    }
    json.at("warmup").get_to(s.warmup);
    json.at("eval_every").get_to(s.eval_every);
    json.at("learning_rate").get_to(s.learning_rate);
    json.at("final_factor").get_to(s.final_factor);
    json.at("beta2").get_to(s.beta2);
    json.at("weight_decay").get_to(s.weight_decay);
    json.at("clip_norm").get_to(s.clip_norm);
    json.at("seed").get_to(s.seed);
    return s;
  } catch (const nlohmann::json::exception& error) {
    fail<FileError>(name, ": is not the settings of a gpt run: ", error.what());
  } catch (const ValueError& error) {
    fail<FileError>(name, ": ", error.what());
  }
}

}  // namespace gradus::examples
