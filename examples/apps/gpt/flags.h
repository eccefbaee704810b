// The settings of a gpt run, for the command line, settings.json and validation.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gradus/examples/apps/support/run_flags.h"
#include "gradus/nn/models/gpt.h"

namespace gradus::examples {

struct Corpus;

class GptFlags : public ModelFlags {
 public:
  explicit GptFlags(CLI::App& train);

  std::vector<std::string> texts;  // files, concatenated
  std::string validation;          // held-out file; "" selects the last tenth of the text
  std::string text_digest;
  std::string tokenizer = "auto";
  std::int64_t tokenizer_vocab = 0;  // for word and bpe
  std::string config;                // preset; "" selects by the text's size
  std::int64_t vocab = 0, context = 0, kv_heads = 0, window = 0;
  // Defaults of older runs. choose_recipe() sets the defaults of new runs.
  std::string positions = "learned", norm = "layer", activation = "gelu";
  bool bias = true, qk_norm = false, zero_init = false;
  bool checkpoint = false;
  std::string from;          // pretrained model; "" if none
  std::string architecture;  // config.json of `from`, for options that have no flag
  std::string freeze, lora;  // patterns: frozen parameters; layers with adapters
  std::int64_t lora_rank = 8;
  train::TimeLimit time;  // if set, `steps` is the initial plan
  std::int64_t warmup = 100;
  double final_factor = 0.1;  // last learning rate / highest learning rate
  double beta2 = 0.99, weight_decay = 0.1, clip_norm = 1.0;
  // Not in settings.json:
  std::optional<double> minutes;
  bool no_trial = false;
  std::string weights = "f32";  // precision for inference, or "auto"
  std::string cache = "f32";
  /// Adds --weights, and --cache if the command generates text.
  void add_weights_to(CLI::App& command, bool writes);
  Precision precision(const nn::GPT& model) const;
  Precision cache_precision() const;

  /// Returns --out, or runs/book for texts/book.txt. Throws ValueError if neither is given.
  std::string directory() const;
  /// Sets sizes that no flag gives. Throws ValueError for unknown presets.
  void choose_config(const std::string& name);
  void judge_before_text();
  /// Sets the values that depend on the text. Call judge() afterwards.
  void take(const Corpus& corpus);

  nn::GPTOptions model() const;
  /// Loads `from`, or draws random weights. Applies --freeze and --lora.
  nn::GPT make_model(bool load) const;
  /// Throws ValueError if --freeze or --lora matches no layer.
  void check_patterns() const;
  /// Returns a text such as ", rotary positions, 2 key heads".
  std::string non_default_options() const;
  std::string tokenizer_file() const { return out + "/tokenizer.json"; }

  void check(const Judge& judge) const override;
  Need need() const override;

 protected:
  void choose_defaults() override {}  // take() chooses them
  std::vector<std::string> more_files() const override { return {tokenizer_file()}; }
  void read_more(SettingsFile& file) override;
  void write_more(nlohmann::ordered_json& json) const override;
  std::vector<std::pair<const char*, std::int64_t>> sizes() const override;

 private:
  void describe_text(CLI::App& app);
  void describe_model(CLI::App& app);
  void describe_recipe(CLI::App& app);
  void take_model();
  void choose_recipe();  // changes only settings that no flag gives
};

/// A preset and the text sizes that it is for, in tokens: "10,000 to 10,000,000".
struct ConfigForText {
  const char *name, *range;
  std::int64_t most;
};
const ConfigForText& config_for(std::int64_t tokens);

}  // namespace gradus::examples
