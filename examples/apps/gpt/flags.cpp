#include "flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "corpus.h"
#include "gradus/examples/apps/support/run.h"
#include "gradus/io/pretrained/model_config.h"
#include "gradus/io/pretrained/pretrained.h"
#include "gradus/io/text.h"
#include "gradus/nn/extras/lora.h"
#include "gradus/nn/extras/packing.h"
#include "gradus/nn/init.h"
#include "gradus/nn/pattern.h"

namespace gradus::examples {
namespace {

template <class E>
using Names = std::map<std::string, E>;
const Names<nn::HeadPosition> kPositions = {{"learned", nn::HeadPosition::none},
                                            {"rotary", nn::HeadPosition::rotary},
                                            {"alibi", nn::HeadPosition::alibi},
                                            {"relative", nn::HeadPosition::relative}};
const Names<nn::NormKind> kNorms = {{"layer", nn::NormKind::layer}, {"rms", nn::NormKind::rms}};
const Names<nn::Activation> kActivations = {
    {"gelu", nn::Activation::gelu_tanh}, {"gelu_erf", nn::Activation::gelu},
    {"relu", nn::Activation::relu},      {"relu2", nn::Activation::relu2},
    {"silu", nn::Activation::silu},      {"swiglu", nn::Activation::swiglu}};

const Names<Precision> kPrecisions = {{"f32", Precision::f32},
                                      {"bf16", Precision::bf16},
                                      {"f16", Precision::f16},
                                      {"int8", Precision::int8}};

template <class E>
Kept one_of(const Names<E>& names) {
  Kept kept{.optional = true};
  for (const auto& [name, value] : names) kept.choices.push_back(name);
  return kept;
}

constexpr ConfigForText kConfigs[] = {
    {"toy", "up to 10,000", 10'000},
    {"cpu", "10,000 to 10,000,000", 10'000'000},
    {"baby12", "10,000,000 or more", std::numeric_limits<std::int64_t>::max()}};

}  // namespace

void GptFlags::add_weights_to(CLI::App& command, bool writes) {
  std::vector<std::string> choices = one_of(kPrecisions).choices;
  if (writes)
    command.add_option("--cache", cache, "precision of cached keys and values")
        ->check(CLI::IsMember(choices))
        ->capture_default_str();
  choices.push_back("auto");
  command
      .add_option("--weights", weights, "precision of the weights; auto: bf16 if that is faster")
      ->check(CLI::IsMember(choices))
      ->capture_default_str();
}

Precision GptFlags::precision(const nn::GPT& model) const {
  return weights == "auto" ? nn::fast_precision(model) : kPrecisions.at(weights);
}

Precision GptFlags::cache_precision() const { return kPrecisions.at(cache); }

GptFlags::GptFlags(CLI::App& train) : ModelFlags("gpt") {
  out = "";
  steps = 2000;
  eval_every = 250;
  muon_rate = 0.03;
  batch = layers = heads = width = 0;  // 0: determined by the config
  describe_text(train);
  add_to(train);
  train.get_option("--out")->description(
      "directory of the run (default: runs/NAME of the first file)");
  keep("--steps", {.may_differ = true});  // --minutes changes them
  keep("--lr", {.field = "learning_rate"});
  describe_model(train);
  describe_recipe(train);
}

void GptFlags::describe_text(CLI::App& app) {
  setting(app, "files", &texts, "one or more text files to train on", {.may_differ = true})
      .type_name("FILE");
  setting(app, "--val", &validation, "held-out text file (default: the last tenth of FILE)",
          {.field = "validation", .may_differ = true})
      .type_name("FILE");
  setting(app, "--tokenizer", &tokenizer,
          "char, byte, word or bpe; auto: char for at most 512 different characters, else byte",
          {.may_differ = true, .choices = {"auto", "char", "byte", "word", "bpe"}})
      .type_name("KIND");
  setting(app, "--vocab", &tokenizer_vocab,
          "largest vocabulary for word (default 4096) or bpe (default 1024)",
          {.field = "tokenizer_vocab", .optional = true});
  fact("text_digest", &text_digest);
  fact("vocab", &vocab);
}

void GptFlags::describe_model(CLI::App& app) {
  setting(app, "--config", &config,
          "preset of the model sizes: toy, cpu, baby12, baby64, gpt2, long (default: by text size)")
      .type_name("NAME");
  setting(app, "--context", &context, "tokens per sequence");
  setting(app, "--positions", &positions, "position encoding: learned, rotary, alibi or relative",
          one_of(kPositions))
      .type_name("KIND")
      ->default_str("rotary");
  setting(app, "--kv-heads", &kv_heads,
          "key and value heads; must divide --heads (default: --heads)", {.optional = true});
  setting(app, "--window", &window,
          "tokens in the attention window, including the current one (default: 0, all tokens)",
          {.optional = true});
  setting(app, "--norm", &norm, "normalization: layer or rms", one_of(kNorms))
      .type_name("KIND")
      ->default_str("rms");
  setting(app, "--activation", &activation,
          "activation function: gelu, gelu_erf, relu, relu2, silu or swiglu", one_of(kActivations))
      .type_name("KIND");
  setting(app, "--qk-norm", &qk_norm,
          "RMS norms for queries and keys (default: on; --qk-norm=false: off)", {.optional = true});
  setting(app, "--bias", &bias, "biases in layers and norms (default: off)", {.optional = true});
  setting(app, "--zero-init", &zero_init,
          "start with blocks that have no effect (default: on; --zero-init=false: as in GPT-2)",
          {.optional = true});
  setting(
      app, "--checkpoint", &checkpoint,
      "gradient checkpointing: recompute each block in the backward pass; less memory, more time",
      {.optional = true});
  setting(app, "--from", &from, "pretrained model to start from: a directory or a .gguf file",
          {.optional = true, .may_differ = true})
      .type_name("MODEL");
  setting(app, "--freeze", &freeze, "parameters to freeze, such as token.*,blocks.0.*",
          {.optional = true})
      .type_name("PATTERN");
  setting(app, "--lora", &lora, "layers to train only by LoRA adapters, such as *.qkv_proj",
          {.optional = true})
      .type_name("PATTERN");
  setting(app, "--lora-rank", &lora_rank, "rank of the LoRA adapters", {.optional = true});
}

void GptFlags::describe_recipe(CLI::App& app) {
  app.add_option("--minutes", minutes,
                 "time limit of training in minutes; sets the number of steps");
  option(app, "--no-trial", &no_trial, "skip the trial steps that estimate time and memory");
  fact("warmup", &warmup);
  fact("final_factor", &final_factor);
  fact("beta2", &beta2);
  fact("weight_decay", &weight_decay);
  fact("clip_norm", &clip_norm);
}

void GptFlags::read_more(SettingsFile& file) {
  if (!file.has("kv_heads")) kv_heads = heads;
  if (file.has("architecture")) file.read("architecture", architecture);
  time = {};
  if (!file.has("time")) return;
  SettingsFile limit = file.part("time");
  limit.read("seconds", time.seconds);
  limit.read("evaluation_steps", time.evaluation_steps);
  limit.read("most_steps", time.most_steps);
  limit.finish();
}

void GptFlags::write_more(nlohmann::ordered_json& json) const {
  if (!architecture.empty()) json["architecture"] = architecture;
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
  ModelFlags::check(judge);
  if (time.seconds != 0) judge.number("seconds", time.seconds);
  judge.number("evaluation_steps", time.evaluation_steps);
  judge.number("most_steps", time.most_steps);
  judge.require(warmup <= steps, "warmup", warmup, ": must be at most the ", steps, " steps");
  judge.require(!texts.empty(), "files", "[]", ": name at least one text");
  judge.require(heads % kv_heads == 0, "kv_heads", kv_heads, ": must be positive and divide the ",
                heads, " heads");
  judge.require(1 <= lora_rank && (lora.empty() || lora_rank <= width), "lora_rank", lora_rank,
                ": must be 1 to ", width);
  judge.require(positions != "rotary" || width / heads % 2 == 0, "positions", positions,
                " rotates pairs of values, but the width of a head, ", width, " / ", heads,
                ", is odd");
}

Need GptFlags::need() const {
  const auto C = static_cast<double>(width), T = static_cast<double>(context);
  const auto H = static_cast<double>(heads), L = static_cast<double>(layers);
  const double tokens = static_cast<double>(batch) * T;
  const double kept =
      checkpoint ? kept_by_blocks(1, tokens, C) + 4 * L * tokens * C : kept_by_blocks(L, tokens, C);
  const bool biased = positions == "alibi" || positions == "relative";
  const double bias = biased ? 4 * (checkpoint ? 1 : L) * H * T * T : 0;
  return {.parameters = nn::GPT::parameter_count(model()),
          .step = kept + bias + 4 * tokens * static_cast<double>(vocab),
          .evaluation = 4 * L * H * T * T,             // logged weights of all heads
          .data = 2 * sizeof(std::int64_t) * tokens};  // x and y of one batch
}

nn::GPTOptions GptFlags::model() const {
  if (!architecture.empty()) {
    nn::GPTOptions o = io::gpt_options(io::Json::parse(architecture, settings_file()));
    o.block.dropout = dropout;
    o.checkpoint = checkpoint;
    if (!o.learns_positions()) o.context = context;  // a table of positions has a fixed length
    return o;
  }
  nn::HeadOptions head{.position = kPositions.at(positions)};
  if (qk_norm) head.qk_norm = nn::BlockOptions().norm_eps;
  return {.vocab = vocab,
          .context = context,
          .layers = layers,
          .block = {.width = width,
                    .heads = heads,
                    .kv_heads = kv_heads,
                    .dropout = dropout,
                    .bias = bias,
                    .activation = kActivations.at(activation),
                    .norm_kind = kNorms.at(norm),
                    .head = head},
          .window = window,
          .checkpoint = checkpoint,
          .zero_init = zero_init};
}

nn::GPT GptFlags::make_model(bool load) const {
  const nn::GPTOptions options = model();
  nn::GPT made = load && !from.empty() ? io::load_gpt(from, [&](nn::GPTOptions& o) { o = options; })
                                       : nn::GPT(options);
  made.train();
  if (!lora.empty()) nn::add_adapters(made, lora, {.rank = lora_rank});
  std::istringstream patterns(freeze);
  for (std::string each; std::getline(patterns, each, ',');) nn::freeze(made, each);
  return made;
}

void GptFlags::check_patterns() const {
  if (lora.empty() && freeze.empty()) return;
  const nn::init::Skip no_values;  // large models remain untouched, so they take no memory
  static_cast<void>(make_model(false));
}

std::string GptFlags::non_default_options() const {
  if (!architecture.empty())
    return str_cat(", from ", from, lora.empty() ? "" : ", adapters in " + lora,
                   freeze.empty() ? "" : ", frozen: " + freeze);
  std::string all;
  if (positions != "learned") all += ", " + positions + " positions";
  if (kv_heads != heads) all += str_cat(", ", kv_heads, kv_heads == 1 ? " key head" : " key heads");
  if (window > 0) all += str_cat(", a window of ", window);
  if (norm != "layer") all += ", " + norm + " norm";
  if (qk_norm) all += ", q/k norm";
  if (!bias) all += ", no biases";
  if (activation != "gelu") all += ", " + activation;
  if (checkpoint) all += ", gradient checkpointing";
  return all;
}

std::string GptFlags::directory() const {
  require(!texts.empty() || (resume && !out.empty()),
          resume ? "train --resume needs a run; give its directory with --out, or its text"
                 : "train needs a text; give one or more files");
  if (!out.empty()) return out;
  const std::string stem = std::filesystem::path(texts.front()).stem().string();
  return "runs/" + (stem.empty() || stem == "." || stem == ".." ? "text" : stem);
}

void GptFlags::judge_before_text() {
  require(!minutes || !given("--steps"), "--minutes contradicts --steps; give only one of them");
  require(!minutes || !no_trial,
          "--minutes contradicts --no-trial; the trial determines the number of steps");
  if (minutes) Judge().number("minutes", *minutes);
  require_no_run("gpt", files());
  const bool words = tokenizer == "word", said = given("--vocab");
  if (words || tokenizer == "bpe") {
    const std::int64_t least = words ? 2 : 256, most = 1'000'000;
    if (!said) tokenizer_vocab = words ? 4096 : 1024;
    require(least <= tokenizer_vocab && tokenizer_vocab <= most, "--vocab ", tokenizer_vocab,
            ": must be ", least, " to ", io::grouped(most), " for --tokenizer ", tokenizer);
  } else {
    require(!said, "--vocab requires --tokenizer word or bpe; the others have a fixed vocabulary");
  }
  const std::string asked = config;
  choose_config(asked.empty() ? kConfigs[0].name : asked);
  if (from.empty()) vocab = 1;
  judge_values(Judge());
  judge_memory(Judge(), true);
  config = asked;
}

void GptFlags::take_model() {
  for (const char* flag :
       {"--config", "--layers", "--heads", "--width", "--positions", "--kv-heads", "--window",
        "--norm", "--activation", "--qk-norm", "--bias", "--zero-init", "--tokenizer"})
    require(!given(flag), flag, " contradicts --from; ", from, " determines it");
  const nn::GPTOptions o = io::read_gpt_options(from);
  config = std::filesystem::path(from).filename().string();
  architecture = io::config_of(o);
  layers = o.layers;
  heads = o.block.heads;
  width = o.block.width;
  vocab = o.vocab;
  window = o.window;
  kv_heads = o.block.kv_heads.value_or(heads);
  if (!given("--context")) context = std::min<std::int64_t>(o.context, 128);
  if (!given("--batch")) batch = 4;
  require(context <= o.context, "--context ", context, ": must be at most ", o.context,
          ", the context of ", from);
}

void GptFlags::choose_config(const std::string& name) {
  if (!from.empty()) return take_model();
  const nn::GPTPreset& preset = nn::gpt_preset(name);
  const auto choose = [&](const char* flag, std::int64_t& size, std::int64_t chosen) {
    if (!given(flag)) size = chosen;
  };
  config = preset.name;
  choose("--context", context, preset.options.context);
  choose("--layers", layers, preset.options.layers);
  choose("--heads", heads, preset.options.block.heads);
  choose("--width", width, preset.options.block.width);
  choose("--batch", batch, preset.batch);
  choose("--kv-heads", kv_heads, heads);
  choose_recipe();
}

void GptFlags::choose_recipe() {
  const auto choose = [&](const char* flag, auto& setting, const auto& chosen) {
    if (!given(flag)) setting = chosen;
  };
  const bool pairs = heads > 0 && width / heads % 2 == 0;  // rotary positions require this
  choose("--positions", positions, pairs ? "rotary" : "learned");
  choose("--norm", norm, "rms");
  choose("--qk-norm", qk_norm, true);
  choose("--bias", bias, false);
  choose("--zero-init", zero_init, true);
  ModelFlags::choose_defaults();
  if (optimizer != "muon") return;
  beta2 = 0.95;
  weight_decay = final_factor = 0;
}

void GptFlags::take(const Corpus& corpus) {
  choose_config(config.empty() ? config_for(corpus.size()).name : config);
  text_digest = corpus.digest;
  if (tokenizer == "auto" && from.empty())
    tokenizer = corpus.tokenizer->name() == "byte" ? "byte" : "char";
  require(from.empty() || corpus.tokenizer->vocab_size() <= vocab, from, ": its tokenizer has ",
          corpus.tokenizer->vocab_size(), " tokens, but the model's vocabulary has ", vocab);
  if (from.empty()) vocab = corpus.tokenizer->vocab_size();
  warmup = std::min<std::int64_t>(warmup, steps / 10);
}

const ConfigForText& config_for(std::int64_t tokens) {
  return *std::find_if(std::begin(kConfigs), std::end(kConfigs),
                       [&](const ConfigForText& each) { return tokens <= each.most; });
}

}  // namespace gradus::examples
