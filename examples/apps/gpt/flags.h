// What a run of gpt is made of: the text, the model's sizes, the recipe. Each setting is described
// in one place, which serves the command line, settings.json, and their checks.
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
  explicit GptFlags(CLI::App& train);  // describes the flags of `train`

  std::vector<std::string> texts;    // files, one after the other
  std::string validation;            // the file that is held out; "": the last tenth of the text
  std::string text_digest;           // of the bytes read, so that a resumed run sees the same
  std::string tokenizer = "auto";    // char, byte, word or bpe once the text is known
  std::int64_t tokenizer_vocab = 0;  // of word and bpe
  std::string config;                // the preset that the sizes come from; "": the text decides
  std::int64_t vocab = 0, context = 0, kv_heads = 0, window = 0;
  // The settings of older runs; choose_recipe() sets those of new ones.
  std::string positions = "learned", norm = "layer", activation = "gelu", optimizer = "adamw";
  bool bias = true, qk_norm = false, zero_init = false;
  bool checkpoint = false;   // of gradients
  std::string from;          // the model of other people that training goes on from; "": none
  std::string architecture;  // its config.json, which says what the sizes here do not
  std::string freeze, lora;  // names of parameters, and of layers that get adapters
  std::int64_t lora_rank = 8;
  train::TimeLimit time;  // with it, `steps` is the plan that the run began with
  std::int64_t warmup = 100;
  double final_factor = 0.1;  // the rate ends at this part of its highest
  double beta2 = 0.99, weight_decay = 0.1, clip_norm = 1.0;
  // Of the command line alone:
  std::optional<double> minutes;
  bool no_trial = false;
  std::string weights = "f32";  // how a model that is only used keeps them, or "auto"
  std::string cache = "f32";    // how keys and values are kept
  /// --weights of a command that only uses a model, and --cache of one that writes.
  void add_weights_to(CLI::App& command, bool writes);
  Precision precision(const nn::GPT& model) const;
  Precision cache_precision() const;

  /// --out, else runs/book for texts/book.txt. ValueError: neither is given.
  std::string directory() const;
  /// Sizes of the preset, but for those that a flag says. ValueError lists the names.
  void choose_config(const std::string& name);
  /// Of a new run, before its text is read: flags that contradict each other, a directory that is
  /// taken, ranges, names, and the memory that the config takes at least.
  void judge_before_text();
  /// What the text decides, after which judge() looks at all.
  void take(const Corpus& corpus);

  nn::GPTOptions model() const;
  /// The model, loaded where training begins `from` one and else at random, with what --freeze and
  /// --lora ask for.
  nn::GPT make_model(bool load) const;
  /// Where the model is not GPT-2's: ", rotary positions, 2 key heads"; else "".
  std::string non_default_options() const;
  std::string tokenizer_file() const { return out + "/tokenizer.json"; }

  void check(const Judge& judge) const override;
  Need need() const override;

 protected:
  std::vector<std::string> more_files() const override { return {tokenizer_file()}; }
  void read_more(SettingsFile& file) override;
  void write_more(nlohmann::ordered_json& json) const override;
  std::vector<std::pair<const char*, std::int64_t>> sizes() const override;

 private:
  void describe_text(CLI::App& app);
  void describe_model(CLI::App& app);
  void describe_recipe(CLI::App& app);
  void take_model();     // the sizes of `from`
  void choose_recipe();  // for a new run, where no flag is given
};

/// A preset, and for texts of how many tokens it is: "10,000 to 10,000,000".
struct ConfigForText {
  const char *name, *range;
  std::int64_t most;
};
const ConfigForText& config_for(std::int64_t tokens);

}  // namespace gradus::examples
