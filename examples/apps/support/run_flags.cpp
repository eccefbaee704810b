// settings.json has one field per flag: {"program": "translate", "steps": 1500, …}.
#include "run_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iomanip>
#include <nlohmann/json.hpp>

#include "gradus/engine/base/bits.h"
#include "gradus/engine/base/parallel.h"
#include "gradus/engine/base/platform.h"
#include "gradus/examples/apps/support/interrupt.h"
#include "gradus/examples/apps/support/processes.h"
#include "gradus/examples/apps/support/run.h"
#include "gradus/examples/apps/support/words.h"
#include "gradus/io/output_file.h"
#include "gradus/io/text.h"
#include "gradus/nn/block.h"
#include "gradus/ops/create.h"
#include "gradus/train/distributed/faults/agreement.h"
#include "gradus/train/distributed/shards.h"

namespace gradus::examples {
namespace {

using Json = nlohmann::ordered_json;

/// Removes partial files of killed processes, FILE.tmp-PROCESS-NUMBER. Requires the lock.
void remove_leftovers(const std::string& directory, const std::vector<std::string>& files) {
  std::vector<std::filesystem::path> leftovers;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    for (const std::string& file : files)
      if (entry.path().filename().string().starts_with(
              std::filesystem::path(file).filename().string() + ".tmp-"))
        leftovers.push_back(entry.path());
  for (const std::filesystem::path& each : leftovers) io::remove_file(each.string());
}

void say_cost(double seconds, std::int64_t steps) {
  if (steps > 0)
    say("took", duration(seconds), " for ", io::grouped(steps), " steps, and ",
        byte_size(static_cast<std::int64_t>(platform::peak_resident_bytes())), " of memory");
}

/// Prints the path of the loss curve, or how to resume. Returns the exit code.
int end_of_run(train::TrainEnd end, const std::string& program, const train::RunFiles& files) {
  std::error_code none;
  if (std::filesystem::exists(files.curve(), none))
    std::printf("loss curve: %s\n", files.curve().c_str());
  if (end != train::TrainEnd::interrupted) return 0;
  std::fprintf(stderr, "%s: stopped and saved; resume with: %s\n", program.c_str(),
               resume_command(program, files.directory).c_str());
  return 128 + interrupt_signal;
}

constexpr std::int64_t kMostBatches = 1'000'000'000;

/// Returns facts that results depend on in addition to the settings.
std::string describe_machine() {
  if (bits() == Bits::portable) return "";
  return str_cat("threads: ", num_threads(), "\nmatmul: ", matmul_backend(), "\n");
}

void say_traffic(const train::Trainer& trainer, std::int64_t steps, double seconds, double waited) {
  if (processes().size() == 1 || steps == 0) return;
  const auto a_step = [&](double all) { return 1e3 * all / static_cast<double>(steps); };
  say("processes", processes().size(), " for ", trainer.shards()->count(),
      " shards: this one sends ", io::grouped(trainer.shards()->bytes_a_step()),
      " bytes per step and waits ", std::setprecision(3), a_step(waited), " of ", a_step(seconds),
      " ms per step for the others");
}

}  // namespace

RunFlags::RunFlags(std::string program) : out("runs/" + program), program_(std::move(program)) {}

CLI::Option& RunFlags::setting(CLI::App& app, const std::string& flag, Value value,
                               const std::string& help, const Kept& kept) {
  CLI::Option& added = option(app, flag, value, help);
  keep(flag, kept);
  return added;
}

void RunFlags::keep(const std::string& flag, const Kept& kept) {
  Setting& setting = described(flag);
  const std::string field = kept.field.empty() ? setting.kept.field : kept.field;
  setting.kept = kept;
  setting.kept.field = field;
  setting.in_file = true;
}

void RunFlags::fact(const std::string& field, Value value) {
  settings_.push_back({"", {.field = field}, value, nullptr, true});
}

void RunFlags::add_to(CLI::App& app) {
  option(app, "--out", &out, "directory of the run").type_name("DIR");
  setting(app, "--steps", &steps, "training steps");
  setting(app, "--batch", &batch, "examples per step");
  setting(app, "--lr", &learning_rate, "highest learning rate");
  setting(app, "--seed", &seed, "random seed of weights, data and dropout");
  setting(app, "--eval-every", &eval_every, "steps between evaluations and checkpoints");
  setting(app, "--shards", &shards,
          "batches per step, divided among the processes of mpirun; the number of processes does "
          "not change results",
          {.optional = true});
  setting(app, "--bits", &bits,
          "fast, or portable: the same weights on every machine (default: GRADUS_BITS, or fast)",
          {.optional = true, .choices = {"fast", "portable"}})
      .type_name("KIND")
      ->default_str("");
  option(app, "--resume", &resume, "continue the run in --out; other flags are optional");
}

bool RunFlags::writes() { return processes().rank() == 0; }

void RunFlags::judge(const Judge& judge, bool to_train) const {
  judge_values(judge);
  judge.require(shards <= kMostBatches / steps, "shards", shards, ": with ", steps,
                " steps, the run has more than ", io::grouped(kMostBatches), " batches");
  check(judge);
  judge_memory(judge, to_train);
}

void RunFlags::judge_memory(const Judge& judge, bool to_train) const {
  const Need need = this->need();
  judge.memory(to_train ? need.training() : need.using_it(), sizes());
}

std::vector<std::pair<const char*, std::int64_t>> RunFlags::sizes() const {
  std::vector<std::pair<const char*, std::int64_t>> all;
  for (const Setting& each : settings_)
    if (const auto* at = std::get_if<std::int64_t*>(&each.value); at && each.in_file)
      if (const std::string& field = each.kept.field;
          field != "seed" && field != "steps" && field != "eval_every")
        all.emplace_back(field.c_str(), **at);
  return all;
}

std::vector<std::string> RunFlags::all_files() const {
  std::vector<std::string> all = {settings_file()};
  for (const std::vector<std::string>& more : {more_files(), files().all()})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

DirectoryLock RunFlags::begin() {
  if (!writes()) {
    processes().barrier();
    from_json(SettingsFile::text_of(settings_file()), true);
    use_bits();
    return DirectoryLock();
  }
  if (resume) {  // resuming must not create the directory
    require<FileError>(std::filesystem::exists(files().checkpoint()), out,
                       ": there is no checkpoint to resume; leave out --resume to start a run");
  } else {
    choose_defaults();
    if (!given("--bits") && gradus::bits() == Bits::portable) bits = "portable";
    judge(Judge());
    use_bits();  // before the directory is created
  }
  DirectoryLock lock(out);
  if (!resume) require_no_run(program_, files());  // under the lock, to avoid a race
  remove_leftovers(out, all_files());
  if (resume) {
    from_json(SettingsFile::text_of(settings_file()), true);
    judge(Judge(settings_file()));
    use_bits();
  } else {
    write();
  }
  processes().barrier();
  return lock;
}

void RunFlags::use_bits() const {
  set_bits(bits == "portable" ? Bits::portable : Bits::fast);
  matmul_backend();  // fails before anything is written
}

void RunFlags::load(const std::string& directory) {
  out = directory;
  require<FileError>(std::filesystem::exists(settings_file()), out, ": holds no ", program_,
                     " run, as it has no settings.json; train one with ", program_, " train --out ",
                     out);
  from_json(SettingsFile::text_of(settings_file()));
  judge(Judge(settings_file()), false);
}

void RunFlags::from_json(const std::string& json, bool flags_must_agree) {
  SettingsFile file(json, settings_file(), program_);
  std::string program = "gpt";  // older gpt runs lack the field
  file.read_if_there("program", program);
  require<FileError>(program == program_, out, ": is a run of ", io::quote(program), ", not of ",
                     program_, "; give a run of ", program_);
  for (const Setting& each : settings_)
    std::visit(
        [&]<class T>(T* at) {
          const Kept& kept = each.kept;
          T run = *at;
          if (!each.in_file || (kept.optional && !file.has(kept.field))) return;
          file.read(kept.field, run);
          if constexpr (!std::is_same_v<T, std::vector<std::string>>)
            if (flags_must_agree && !kept.may_differ && each.option && each.option->count() > 0)
              must_agree(each.flag, *at, run, out);
          *at = run;
        },
        each.value);
  read_more(file);
  file.finish();
}

std::string RunFlags::to_json() const {
  Json json = {{"program", program_}};
  for (const Setting& each : settings_)
    if (each.in_file) std::visit([&](const auto* at) { json[each.kept.field] = *at; }, each.value);
  write_more(json);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

void RunFlags::write() const {
  const std::string text = to_json();
  io::write_file_atomically(settings_file(), text.data(), text.size());
}

train::TrainOptions RunFlags::options() const {
  train::TrainOptions options;
  options.directory = out;
  options.steps = steps;
  options.eval_every = eval_every;
  options.shards = shards;
  options.transport = &processes();
  options.program = program_;
  options.stop = &interrupt_signal;
  options.hash_weights = bits == "portable";
  return options;
}

int RunFlags::train(train::Trainer& trainer, const train::Trainer::LossOf& loss_of,
                    const train::Trainer::Evaluate& evaluate, const Report& report) const {
  distributed::require_same(processes(), to_json() + describe_machine(), "run");
  if (resume)
    load_fitting(files().checkpoint(), [&] { trainer.resume(); });
  else
    trainer.start();
  if (report.begun) report.begun();
  const std::int64_t first = trainer.step();
  const auto start = std::chrono::steady_clock::now();
  const double before = processes().seconds_waited();
  train::TrainEnd end{};
  try {
    end = trainer.run(loss_of, evaluate);
  } catch (const FileError& error) {
    fail<FileError>(error.what(), ". Stopped at step ", trainer.step(),
                    "; free disk space, then resume from the last checkpoint with: ",
                    resume_command(program_, out));
  }
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  say_cost(taken.count(), trainer.step() - first);
  say_traffic(trainer, trainer.step() - first, taken.count(),
              processes().seconds_waited() - before);
  if (end == train::TrainEnd::finished && report.finished) report.finished();
  return end_of_run(end, program_, files());
}

void ModelFlags::add_to(CLI::App& app) {
  RunFlags::add_to(app);
  setting(app, "--layers", &layers, "Transformer blocks");
  setting(app, "--heads", &heads, "attention heads; must divide --width");
  setting(app, "--width", &width, "size of the residual stream");
  setting(app, "--dropout", &dropout, "dropout probability, in [0, 1)");
  setting(app, "--optimizer", &optimizer, "muon or adamw",
          {.optional = true, .choices = {"muon", "adamw"}})
      .type_name("KIND")
      ->default_str(new_optimizer);
  app.get_option("--lr")
      ->description(str_cat("highest learning rate (default: ", muon_rate, " for muon, ",
                            learning_rate, " for adamw)"))
      ->default_str("");
}

void ModelFlags::choose_defaults() {
  if (!given("--optimizer")) optimizer = new_optimizer;
  if (optimizer == "muon" && !given("--lr")) learning_rate = muon_rate;
}

void ModelFlags::check(const Judge& judge) const {
  judge.require(width % heads == 0, "heads", heads, ": must divide ", judge.name("width"), " ",
                width);
}

Need ModelFlags::transformer(double tokens, double rows, double outputs) const {
  const auto C = static_cast<double>(width), L = static_cast<double>(layers);
  const double seen = static_cast<double>(batch) * tokens;  // tokens per step
  return {.parameters = L * nn::Block::parameter_count({.width = width, .heads = heads}) + rows * C,
          .step = kept_by_blocks(L, seen, C) + 8 * seen * outputs};
}

}  // namespace gradus::examples
