// The flags of `train` commands, and the run that they describe.
//
//   struct Flags : ModelFlags {
//     std::int64_t examples = 10'000;
//     Flags() : ModelFlags("translate") { steps = 1500; }
//     void add_to(CLI::App& app) {
//       ModelFlags::add_to(app);
//       setting(app, "--examples", &examples, "pairs to learn from");
//     }
//   };
//   const DirectoryLock lock = flags.begin();
//   Model model({.width = flags.width});
//   const auto optimizer = make_optimizer(flags, {{model.parameters()}});  // optimizer.h
//   train::Trainer trainer(model, *optimizer, schedule, flags.options());
//   return flags.train(trainer, loss_of, evaluate);
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gradus/examples/apps/support/directory_lock.h"
#include "gradus/examples/apps/support/options.h"
#include "gradus/train/trainer.h"

namespace gradus::examples {

class RunFlags : public Options {
 public:
  explicit RunFlags(std::string program);  // --out is runs/PROGRAM by default

  std::string out;
  std::int64_t steps = 1000, batch = 32, seed = 1337, eval_every = 100, shards = 1;
  double learning_rate = 1e-3;
  std::string bits = "fast";  // or portable: engine/base/bits.h
  bool resume = false;

  void add_to(CLI::App& app);

  /// Adds an option that is stored in settings.json.
  CLI::Option& setting(CLI::App& app, const std::string& flag, Value value, const std::string& help,
                       const Kept& kept = {});
  /// Adds a field of settings.json that no flag sets.
  void fact(const std::string& field, Value value);

  /// Validates ranges, check(), and the memory for need().
  void judge(const Judge& judge, bool to_train = true) const;
  void judge_memory(const Judge& judge, bool to_train) const;
  /// Checks rules between settings, such as divisibility.
  virtual void check(const Judge&) const {}
  virtual Need need() const { return {}; }

  /// Validates the settings, locks the directory, and writes settings.json, or reads it to resume.
  /// Ranks other than 0 only read the file. Throws FileError if the directory is locked, already
  /// contains a run, or contains none to resume, and ValueError for wrong flags.
  DirectoryLock begin();

  /// Loads the settings of the run in `directory`. Throws FileError.
  void load(const std::string& directory);

  /// Convert to and from settings.json. from_json throws FileError.
  std::string to_json() const;
  void from_json(const std::string& json, bool flags_must_agree = false);

  /// Sets the process's bits. Throws ValueError if GRADUS_BLAS contradicts them.
  void use_bits() const;

  void write() const;  // rewrites settings.json after a change

  train::RunFiles files() const { return {out}; }
  std::string settings_file() const { return out + "/settings.json"; }
  std::vector<std::string> all_files() const;
  train::TrainOptions options() const;
  static bool writes();  // true for rank 0

  /// Functions that train() calls before the first step of a new or resumed run (begun), and after
  /// the last step (finished).
  struct Report {
    std::function<void()> begun, finished;
  };
  /// Starts or resumes, trains, and prints the cost. Returns the exit code.
  int train(train::Trainer& trainer, const train::Trainer::LossOf& loss_of,
            const train::Trainer::Evaluate& evaluate, const Report& report = {}) const;

 protected:
  /// Sets defaults that depend on other flags. Called for a new run before validation.
  virtual void choose_defaults() {}
  /// Reads fields of settings.json that are objects or lists.
  virtual void read_more(SettingsFile&) {}
  virtual void write_more(nlohmann::ordered_json&) const {}
  /// Changes how settings.json stores an existing setting.
  void keep(const std::string& flag, const Kept& kept);
  virtual std::vector<std::string> more_files() const { return {}; }
  /// Returns the sizes that an error about memory names.
  virtual std::vector<std::pair<const char*, std::int64_t>> sizes() const;

 private:
  std::string program_;
};

/// Adds flags for the sizes of a Transformer and for its optimizer.
class ModelFlags : public RunFlags {
 public:
  using RunFlags::RunFlags;
  std::int64_t layers = 2, heads = 4, width = 64;
  double dropout = 0;
  std::string optimizer = "adamw";     // default of older runs
  std::string new_optimizer = "muon";  // default of new runs
  double muon_rate = 0.02;             // default --lr for Muon; learning_rate starts as AdamW's

  void add_to(CLI::App& app);
  void check(const Judge& judge) const override;

 protected:
  void choose_defaults() override;
  /// Returns the memory for `tokens` per example, `outputs` logits per token, and `rows` rows of
  /// parameters outside the blocks.
  Need transformer(double tokens, double rows, double outputs) const;
};

}  // namespace gradus::examples
