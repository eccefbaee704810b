#include "flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

#include "gradus/io/text.h"
#include "gradus/models/sizes.h"

namespace gradus::examples {
namespace {

template <class E>
using Names = std::vector<std::pair<std::string, E>>;
const Names<nn::HeadPosition> kPositions = {{"learned", nn::HeadPosition::none},
                                            {"rotary", nn::HeadPosition::rotary},
                                            {"alibi", nn::HeadPosition::alibi},
                                            {"relative", nn::HeadPosition::relative}};
const Names<nn::NormKind> kNorms = {{"layer", nn::NormKind::layer}, {"rms", nn::NormKind::rms}};
const Names<nn::Activation> kActivations = {{"gelu", nn::Activation::gelu_tanh},
                                            {"gelu_erf", nn::Activation::gelu},
                                            {"relu", nn::Activation::relu},
                                            {"silu", nn::Activation::silu},
                                            {"swiglu", nn::Activation::swiglu}};

template <class E>
E value_of(const Names<E>& names, const std::string& name) {
  return std::find_if(names.begin(), names.end(), [&](auto& each) { return each.first == name; })
      ->second;
}

template <class E>
Kept one_of(const Names<E>& names) {
  Kept kept{.optional = true};
  for (const auto& [name, value] : names) kept.choices.push_back(name);
  return kept;
}

/// A larger model learns a small text by heart before it learns its language; a smaller one has no
/// room for what a large text tells.
constexpr ConfigForText kConfigs[] = {
    {"toy", "up to 10,000", 10'000},
    {"cpu", "10,000 to 10,000,000", 10'000'000},
    {"baby12", "10,000,000 or more", std::numeric_limits<std::int64_t>::max()}};

}  // namespace

GptFlags::GptFlags(CLI::App& train) : RunFlags("gpt") {
  out = "", steps = 2000, eval_every = 250;
  describe_text(train);
  describe_model(train);
  describe_recipe(train);
}

void GptFlags::describe_text(CLI::App& app) {
  setting(app, "files", &texts, "text to learn, one or more files",
          {.field = "files", .may_differ = true})
      .type_name("FILE");
  app.add_option("--out", out, "directory of the run (runs/NAME, after the first file)")
      ->type_name("DIR");
  setting(app, "--val", &validation, "text that is held out (the last tenth of FILE)",
          {.field = "validation", .may_differ = true})
      .type_name("FILE");
  setting(app, "--tokenizer", &tokenizer,
          "auto, char, byte, word or bpe (auto: characters up to 512 kinds, else bytes)",
          {.may_differ = true, .choices = {"auto", "char", "byte", "word", "bpe"}})
      .type_name("KIND");
  setting(app, "--vocab", &tokenizer_vocab,
          "kinds of tokens, of word (4096) and bpe (1024) at most",
          {.field = "tokenizer_vocab", .optional = true});
  fact("text_digest", &text_digest);
  fact("vocab", &vocab);
}

void GptFlags::describe_model(CLI::App& app) {
  setting(app, "--config", &config,
          "sizes with a name: toy, cpu, baby12, baby64, gpt2, long (by the text's size)")
      .type_name("NAME");
  setting(app, "--context", &context, "tokens a sequence");
  setting(app, "--layers", &layers, "blocks");
  setting(app, "--heads", &heads, "attention heads; must divide --width");
  setting(app, "--width", &width, "of the residual stream");
  setting(app, "--dropout", &dropout, "in [0, 1) (0)");
  setting(app, "--positions", &positions, "learned, rotary, alibi or relative (learned)",
          one_of(kPositions))
      .type_name("KIND");
  setting(app, "--kv-heads", &kv_heads, "heads of keys and values; must divide --heads (as many)",
          {.optional = true});
  setting(app, "--window", &window, "tokens that a token sees, itself included; 0: all (0)",
          {.optional = true});
  setting(app, "--norm", &norm, "layer or rms (layer)", one_of(kNorms)).type_name("KIND");
  setting(app, "--activation", &activation, "gelu, gelu_erf, relu, silu or swiglu (gelu)",
          one_of(kActivations))
      .type_name("KIND");
  setting(app, "--checkpoint", &checkpoint,
          "keep one block's numbers at a time and compute them again: less memory, more time",
          {.optional = true});
}

void GptFlags::describe_recipe(CLI::App& app) {
  setting(app, "--steps", &steps, "how many (2000)", {.may_differ = true});
  app.add_option("--minutes", minutes,
                 "as many steps as fit into this time, fitted again on the way");
  setting(app, "--batch", &batch, "sequences a step");
  setting(app, "--lr", &learning_rate, "highest learning rate (0.001)", {.field = "learning_rate"});
  setting(app, "--seed", &seed, "of weights, batches and dropout (1337)");
  setting(app, "--eval-every", &eval_every, "steps between evaluations and checkpoints (250)");
  add_shards(app);
  app.add_flag("--no-trial", no_trial,
               "start at once, without the trial steps that tell time and memory");
  app.add_flag("--resume", resume, "go on with the run in --out; other flags may be left out");
  fact("warmup", &warmup);
  fact("final_factor", &final_factor);
  fact("beta2", &beta2);
  fact("weight_decay", &weight_decay);
  fact("clip_norm", &clip_norm);
  for (CLI::Option* each : app.get_options()) each->default_str("");  // the words tell them
}

void GptFlags::read_more(SettingsFile& file) {
  if (!file.has("kv_heads")) kv_heads = heads;
  time = {};
  if (!file.has("time")) return;
  SettingsFile limit = file.part("time");
  limit.read("seconds", time.seconds);
  limit.read("evaluation_steps", time.evaluation_steps);
  limit.read("most_steps", time.most_steps);
  limit.finish();
}

void GptFlags::write_more(nlohmann::ordered_json& json) const {
  if (time.seconds > 0)
    json["time"] = {{"seconds", time.seconds},
                    {"evaluation_steps", time.evaluation_steps},
                    {"most_steps", time.most_steps}};
}

std::vector<std::pair<const char*, std::int64_t>> GptFlags::sizes() const {
  return {{"batch", batch},
          {"context", context},
          {"layers", layers},
          {"width", width},
          {"vocab", vocab}};
}

void GptFlags::check(const Judge& judge) const {
  if (time.seconds != 0) judge.number("seconds", time.seconds);
  judge.number("evaluation_steps", time.evaluation_steps);
  judge.number("most_steps", time.most_steps);
  judge.require(warmup <= steps, "warmup", warmup, ": must be at most the ", steps, " steps");
  judge.require(!texts.empty(), "files", "[]", ": name at least one text");
  judge.require(width % heads == 0, "heads", heads, ": must divide ", judge.name("width"), " ",
                width);
  judge.require(heads % kv_heads == 0, "kv_heads", kv_heads, ": must be positive and divide the ",
                heads, " heads");
  judge.require(positions != "rotary" || width / heads % 2 == 0, "positions", positions,
                " turns pairs of numbers, but a width of ", width, " by ", heads, " heads is odd");
}

Need GptFlags::need() const {
  const auto C = static_cast<double>(width), T = static_cast<double>(context);
  const auto H = static_cast<double>(heads), L = static_cast<double>(layers);
  const double tokens = static_cast<double>(batch) * T;
  const double kept =
      checkpoint ? kept_by_blocks(1, tokens, C) + 4 * L * tokens * C : kept_by_blocks(L, tokens, C);
  const bool biased = positions == "alibi" || positions == "relative";
  const double bias = biased ? 4 * (checkpoint ? 1 : L) * H * T * T : 0;
  return {.parameters = nn::GPT::count(model()),
          .step = kept + bias + 4 * tokens * static_cast<double>(vocab),
          .evaluation = 4 * L * H * T * T,             // the weights of all heads, to be logged
          .data = 2 * sizeof(std::int64_t) * tokens};  // x and y of a batch
}

nn::GPTOptions GptFlags::model() const {
  return {.vocab = vocab,
          .context = context,
          .layers = layers,
          .heads = heads,
          .width = width,
          .dropout = dropout,
          .norm_kind = value_of(kNorms, norm),
          .activation = value_of(kActivations, activation),
          .kv_heads = kv_heads,
          .position = value_of(kPositions, positions),
          .window = window,
          .checkpoint = checkpoint};
}

std::string GptFlags::non_default_options() const {
  std::string all;
  if (positions != "learned") all += ", " + positions + " positions";
  if (kv_heads != heads) all += str_cat(", ", kv_heads, kv_heads == 1 ? " key head" : " key heads");
  if (window > 0) all += str_cat(", a window of ", window);
  if (norm != "layer") all += ", " + norm + " norm";
  if (activation != "gelu") all += ", " + activation;
  if (checkpoint) all += ", gradient checkpointing";
  return all;
}

std::vector<std::string> GptFlags::all_files() const {
  std::vector<std::string> all = files().all();
  all.insert(all.begin(), {settings_file(), tokenizer_file()});
  return all;
}

std::string GptFlags::directory() const {
  if (!out.empty()) return out;
  require(!texts.empty(),
          resume ? "train --resume: which run? Give its directory with --out, or its text"
                 : "train: which text? Give one or more files");
  const std::string stem = std::filesystem::path(texts.front()).stem().string();
  return "runs/" + (stem.empty() || stem == "." || stem == ".." ? "text" : stem);
}

void GptFlags::judge_before_text() {
  const bool words = tokenizer == "word", said = given("--vocab");
  if (words || tokenizer == "bpe") {
    const std::int64_t least = words ? 2 : 256, most = 1'000'000;
    if (!said) tokenizer_vocab = words ? 4096 : 1024;
    require(least <= tokenizer_vocab && tokenizer_vocab <= most, "--vocab ", tokenizer_vocab,
            ": must be ", least, " to ", io::grouped(most), " for --tokenizer ", tokenizer);
  } else {
    require(!said, "--vocab is for --tokenizer word and bpe: the text has the characters it has");
  }
  const std::string asked = config;
  choose_config(asked.empty() ? kConfigs[0].name : asked);
  vocab = 1;
  judge_values(Judge());
  judge_memory(Judge(), true);
  config = asked;
}

void GptFlags::choose_config(const std::string& name) {
  const nn::GPTPreset& preset = nn::gpt_preset(name);
  const auto choose = [&](const char* flag, std::int64_t& size, std::int64_t chosen) {
    if (!given(flag)) size = chosen;
  };
  config = preset.name;
  choose("--context", context, preset.options.context);
  choose("--layers", layers, preset.options.layers);
  choose("--heads", heads, preset.options.heads);
  choose("--width", width, preset.options.width);
  choose("--batch", batch, preset.batch);
  choose("--kv-heads", kv_heads, heads);
}

void GptFlags::take(const Corpus& corpus) {
  choose_config(config.empty() ? config_for(corpus.size()).name : config);
  text_digest = corpus.digest;
  if (tokenizer == "auto") tokenizer = corpus.tokenizer->name() == "byte" ? "byte" : "char";
  vocab = corpus.tokenizer->vocab_size();
  warmup = std::min<std::int64_t>(warmup, steps / 10);
}

const ConfigForText& config_for(std::int64_t tokens) {
  return *std::find_if(std::begin(kConfigs), std::end(kConfigs),
                       [&](const ConfigForText& each) { return tokens <= each.most; });
}

}  // namespace gradus::examples
