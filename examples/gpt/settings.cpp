// Settings as JSON, one field a line, and back.
#include "settings.h"

#include <nlohmann/json.hpp>

#include "gradus/base/error.h"
#include "gradus/models/sizes.h"
#include "names.h"

namespace gradus::examples {

using Json = nlohmann::ordered_json;

namespace {

void read_model(SettingsFile& file, const std::string& name, nn::GPTOptions& model) {
  file.read("vocab", model.vocab);
  file.read("context", model.context);
  file.read("layers", model.layers);
  file.read("heads", model.heads);
  file.read("width", model.width);
  file.read("dropout", model.dropout);
  // Runs that are older than these lack them: a GPT-2 then, which the defaults are.
  const auto choice = [&](const char* key, auto& value, const auto& names) {
    std::string chosen = name_of(names, value);
    file.read_if_there(key, chosen);
    try {
      value = called(names, name + ": " + key, chosen);
    } catch (const ValueError& error) {
      fail<FileError>(error.what(), kWayOn);
    }
  };
  choice("positions", model.position, kPositions);
  choice("norm", model.norm_kind, kNorms);
  choice("activation", model.activation, kActivations);
  model.kv_heads = model.heads;
  file.read_if_there("kv_heads", *model.kv_heads);
  file.read_if_there("window", model.window);
  file.read_if_there("checkpoint", model.checkpoint);
}

void judge_fit(const Judge& judge, const nn::GPTOptions& model) {
  judge.require(model.width % model.heads == 0, "heads", model.heads, ": must divide ",
                judge.name("width"), " ", model.width);
  judge.require(model.heads % *model.kv_heads == 0, "kv_heads", *model.kv_heads,
                ": must be positive and divide the ", model.heads, " heads");
  judge.require(model.position != nn::HeadPosition::rotary || model.width / model.heads % 2 == 0,
                "positions", "rotary", " turns pairs of numbers, but a width of ", model.width,
                " by ", model.heads, " heads is odd");
}

}  // namespace

Need need_of(const Settings& s) {
  const auto C = static_cast<double>(s.model.width);
  const auto T = static_cast<double>(s.model.context), H = static_cast<double>(s.model.heads);
  const double tokens = static_cast<double>(s.batch) * T;
  const auto layers = static_cast<double>(s.model.layers);
  const double kept = s.model.checkpoint ? kept_by_blocks(1, tokens, C) + 4 * layers * tokens * C
                                         : kept_by_blocks(layers, tokens, C);
  const bool biased =
      s.model.position == nn::HeadPosition::alibi || s.model.position == nn::HeadPosition::relative;
  const double bias = biased ? 4 * (s.model.checkpoint ? 1 : layers) * H * T * T : 0;
  return {.parameters = nn::GPT::count(s.model),
          .step = kept + bias + 4 * tokens * static_cast<double>(s.model.vocab),
          .evaluation = 4 * layers * H * T * T,        // the weights of all heads: Run::log_heads
          .data = 2 * sizeof(std::int64_t) * tokens};  // x and y of a batch
}

void judge_sizes(const Settings& s, const Judge& judge, bool to_train) {
  for (const auto& [key, value] : {std::pair("vocab", s.model.vocab),
                                   {"context", s.model.context},
                                   {"layers", s.model.layers},
                                   {"heads", s.model.heads},
                                   {"width", s.model.width},
                                   {"kv_heads", s.model.kv_heads.value_or(s.model.heads)},
                                   {"window", s.model.window},
                                   {"batch", s.batch},
                                   {"steps", s.steps},
                                   {"tokenizer_vocab", s.tokenizer_vocab},
                                   {"warmup", s.warmup},
                                   {"eval_every", s.eval_every},
                                   {"seed", s.seed},
                                   {"most_steps", s.time.most_steps}})
    judge.number(key, value);
  for (const auto& [key, value] : {std::pair("dropout", s.model.dropout),
                                   {"learning_rate", s.learning_rate},
                                   {"final_factor", s.final_factor},
                                   {"beta2", s.beta2},
                                   {"weight_decay", s.weight_decay},
                                   {"clip_norm", s.clip_norm},
                                   {"evaluation_steps", s.time.evaluation_steps}})
    judge.number(key, value);
  if (s.time.seconds != 0) judge.number("seconds", s.time.seconds);
  const Need need = need_of(s);
  judge.memory(to_train ? need.training() : need.using_it(), {{"batch", s.batch},
                                                              {"context", s.model.context},
                                                              {"layers", s.model.layers},
                                                              {"width", s.model.width},
                                                              {"vocab", s.model.vocab}});
}

void judge(const Settings& s, const Judge& judge, bool to_train) {
  judge_sizes(s, judge, to_train);
  judge.require(s.warmup <= s.steps, "warmup", s.warmup, ": must be at most the ", s.steps,
                " steps");
  judge.require(!s.files.empty(), "files", "[]", ": name at least one text");
  judge_fit(judge, s.model);
}

std::string peculiarities(const nn::GPTOptions& model) {
  const nn::GPTOptions usual;
  std::string out;
  const auto add = [&](bool peculiar, const std::string& words) {
    if (peculiar) out += ", " + words;
  };
  add(model.position != usual.position, name_of(kPositions, model.position) + " positions");
  add(model.kv_heads.value_or(model.heads) != model.heads,
      text(model.kv_heads.value_or(model.heads), model.kv_heads == 1 ? " key head" : " key heads"));
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
               {"kv_heads", s.model.kv_heads.value_or(s.model.heads)},
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

Settings settings_from_json(const std::string& json, const std::string& name) {
  SettingsFile file(json, name, "gpt");
  Settings s;
  file.read("files", s.files);
  file.read("validation", s.validation);
  file.read("text_digest", s.text_digest);
  file.read("tokenizer", s.tokenizer);
  file.read_if_there("tokenizer_vocab", s.tokenizer_vocab);  // older runs lack it
  file.read("config", s.config);
  read_model(file, name, s.model);
  file.read("batch", s.batch);
  file.read("steps", s.steps);
  if (file.has("time")) {
    SettingsFile time = file.part("time");
    time.read("seconds", s.time.seconds);
    time.read("evaluation_steps", s.time.evaluation_steps);
    time.read("most_steps", s.time.most_steps);
    time.finish();
  }
  file.read("warmup", s.warmup);
  file.read("eval_every", s.eval_every);
  file.read("learning_rate", s.learning_rate);
  file.read("final_factor", s.final_factor);
  file.read("beta2", s.beta2);
  file.read("weight_decay", s.weight_decay);
  file.read("clip_norm", s.clip_norm);
  file.read("seed", s.seed);
  file.finish();
  return s;
}

}  // namespace gradus::examples
