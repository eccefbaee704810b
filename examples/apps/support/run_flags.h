// The flags that every application's `train` has, and the run that they describe.
//
//   struct Flags : RunFlags {
//     std::int64_t width = 64;
//     Flags() : RunFlags("translate") { steps = 1500; }
//     void add_to(CLI::App& app) {
//       RunFlags::add_to(app);
//       setting(app, "--width", &width, "of the residual stream");
//     }
//   };
//   int learn(Flags& flags) {
//     const DirectoryLock lock = flags.begin();
//     seed(static_cast<std::uint64_t>(flags.seed));
//     Model model(flags.width);
//     optim::AdamW optimizer(model.parameters(), {.lr = flags.learning_rate});
//     train::Trainer trainer(model, optimizer,
//                            optim::warmup_cosine(flags.steps / 20, flags.steps), flags.options());
//     const int code = flags.train(trainer, loss_of, evaluate);
//     if (code == 0) std::printf("accuracy %.3f\n", trainer.best());
//     return code;
//   }
//   int main(int argc, char** argv) {
//     CLI::App app("Learns to write dates in one way.");
//     Flags flags;
//     CLI::App& train = *app.add_subcommand("train", "learn");
//     flags.add_to(train);
//     return program(app, "translate", argc, argv, [&] { return learn(flags); });
//   }
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
  explicit RunFlags(std::string program);  // --out is runs/PROGRAM where it is not given

  std::string out;
  std::int64_t steps = 1000, batch = 32, seed = 1337, eval_every = 100, shards = 1;
  double learning_rate = 1e-3;
  bool resume = false;

  void add_to(CLI::App& app);

  /// An option that the run's settings.json keeps: a resumed run has it again.
  CLI::Option& setting(CLI::App& app, const std::string& flag, Value value, const std::string& help,
                       const Kept& kept = {});
  /// What settings.json has and no flag sets.
  void fact(const std::string& field, Value value);

  /// Before anything is made: ranges, check(), and memory for need(). The error names a flag, or
  /// the field of a file.
  void judge(const Judge& judge, bool to_train = true) const;
  void judge_memory(const Judge& judge, bool to_train) const;  // memory alone
  /// What no range says: one that must divide another.
  virtual void check(const Judge&) const {}
  virtual Need need() const { return {}; }

  /// Before anything is written: judge(); then locks the directory; a new run writes
  /// settings.json, a resumed one reads it.
  /// FileError: the directory holds a run already, or none to resume, or is locked. ValueError: a
  /// flag out of range, or one that contradicts the run. Of several processes rank 0 does this, and
  /// the others, which hold no lock, read what it wrote.
  DirectoryLock begin();

  /// All settings of the run in `directory`, for commands that use one. FileError.
  void load(const std::string& directory);

  /// settings.json as text, and from it. FileError in one line.
  std::string to_json() const;
  void from_json(const std::string& json, bool flags_must_agree = false);

  void write() const;  // settings.json, again where begin() was followed by a change

  train::RunFiles files() const { return {out}; }
  std::string settings_file() const { return out + "/settings.json"; }
  std::vector<std::string> all_files() const;  // of the run's directory
  /// directory, steps, eval_every, shards, processes, name, stop: add what else you want
  train::TrainOptions options() const;
  static bool writes();  // is this the process that writes files?

  /// Called before the first step of a run, new or resumed, and after the last of a finished one.
  struct Report {
    std::function<void()> begun, finished;
  };
  /// Starts or resumes, trains, and says at the end what there is. Returns the exit code.
  int train(train::Trainer& trainer, const train::Trainer::LossOf& loss_of,
            const train::Trainer::Evaluate& evaluate, const Report& report = {}) const;

 protected:
  /// More of settings.json than fields that hold one value.
  virtual void read_more(SettingsFile&) {}
  virtual void write_more(nlohmann::ordered_json&) const {}
  /// Changes how settings.json has a setting that is described already.
  void keep(const std::string& flag, const Kept& kept);
  virtual std::vector<std::string> more_files() const { return {}; }  // that the program writes
  /// What the message about memory names.
  virtual std::vector<std::pair<const char*, std::int64_t>> sizes() const;

 private:
  std::string program_;
};

/// The same of a program that trains a Transformer: its sizes, too.
class ModelFlags : public RunFlags {
 public:
  using RunFlags::RunFlags;
  std::int64_t layers = 2, heads = 4, width = 64;
  double dropout = 0;

  void add_to(CLI::App& app);
  void check(const Judge& judge) const override;

 protected:
  /// So many tokens an example, and logits a token; `rows` of parameters beside those of blocks.
  Need transformer(double tokens, double rows, double outputs) const;
};

}  // namespace gradus::examples
