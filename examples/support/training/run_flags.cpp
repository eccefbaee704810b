// settings.json: {"program": "translate", "steps": 1500, …}, one field a flag.
#include "run_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "gradus/base/platform.h"
#include "gradus/examples/support/interrupt.h"
#include "gradus/examples/support/run.h"
#include "gradus/io/text.h"
#include "gradus/io/write_file.h"
#include "gradus/models/sizes.h"

namespace gradus::examples {
namespace {

using Json = nlohmann::ordered_json;

std::string field_of(const std::string& flag) {
  std::string field = flag.substr(2);
  std::replace(field.begin(), field.end(), '-', '_');
  return field;
}

}  // namespace

RunFlags::RunFlags(std::string program) : out("runs/" + program), program_(std::move(program)) {}

void RunFlags::setting(CLI::App& app, const std::string& flag, Value value,
                       const std::string& help) {
  const CLI::Option* option = std::visit(
      [&]<class T>(T* at) {
        if constexpr (std::is_same_v<T, bool>)
          return app.add_flag(flag, *at, help);
        else
          return app.add_option(flag, *at, help)->capture_default_str();
      },
      value);
  settings_.push_back({flag, field_of(flag), value, option});
}

void RunFlags::add_to(CLI::App& app) {
  app.add_option("--out", out, "directory of the run")->type_name("DIR")->capture_default_str();
  setting(app, "--steps", &steps, "how many");
  setting(app, "--batch", &batch, "examples a step");
  setting(app, "--lr", &learning_rate, "highest learning rate");
  setting(app, "--seed", &seed, "of weights, data and dropout");
  setting(app, "--eval-every", &eval_every, "steps between evaluations and checkpoints");
  app.add_flag("--resume", resume, "go on with the run in --out; other flags may be left out");
}

void RunFlags::judge(const Judge& judge, bool to_train) const {
  for (const Setting& each : settings_)
    std::visit(
        [&]<class T>(const T* at) {
          if constexpr (std::is_same_v<T, double> || std::is_same_v<T, std::int64_t>)
            judge.number(each.field, *at);
        },
        each.value);
  check(judge);
  const Need need = this->need();
  judge.memory(to_train ? need.training() : need.using_it(), sizes());
}

std::vector<std::pair<const char*, std::int64_t>> RunFlags::sizes() const {
  std::vector<std::pair<const char*, std::int64_t>> all;
  for (const Setting& each : settings_)
    if (const auto* at = std::get_if<std::int64_t*>(&each.value))
      if (each.field != "seed" && each.field != "steps" && each.field != "eval_every")
        all.emplace_back(each.field.c_str(), **at);
  return all;
}

DirectoryLock RunFlags::begin(const std::vector<std::string>& more) {
  if (resume) {
    require_checkpoint(files());
  } else {
    judge(Judge());
    require_no_run(program_, files());
  }
  DirectoryLock lock(out);
  std::vector<std::string> all = files().all();
  all.insert(all.end(), more.begin(), more.end());
  all.push_back(settings_file());
  remove_leftovers(out, all);
  if (resume) {
    read(true);
    judge(Judge(settings_file()));
  } else {
    require_no_run(program_, files());  // again: it may have come between
    write();
  }
  return lock;
}

void RunFlags::load(const std::string& directory) {
  out = directory;
  require<FileError>(std::filesystem::exists(settings_file()), out, ": holds no ", program_,
                     " run: there is no settings.json; train one with: ", program_, " train --out ",
                     out);
  read(false);
  judge(Judge(settings_file()), false);
}

void RunFlags::read(bool flags_must_agree) {
  SettingsFile file(SettingsFile::text_of(settings_file()), settings_file(), program_);
  std::string program;
  file.read("program", program);
  require<FileError>(program == program_, out, ": is a run of ", io::in_quotes(program),
                     ", not of ", program_);
  for (const Setting& each : settings_)
    std::visit(
        [&]<class T>(T* at) {
          T run;
          file.read(each.field, run);
          if (flags_must_agree && each.option->count() > 0) must_agree(each.flag, *at, run, out);
          *at = run;
        },
        each.value);
  file.finish();
}

void RunFlags::write() const {
  Json json = {{"program", program_}};
  for (const Setting& each : settings_)
    std::visit([&](const auto* at) { json[each.field] = *at; }, each.value);
  const std::string text = json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  io::write_file_atomically(settings_file(), text.data(), text.size());
}

TrainOptions RunFlags::options() const {
  TrainOptions options;
  options.directory = out;
  options.steps = steps;
  options.eval_every = eval_every;
  options.program = program_;
  options.stop = &interrupt_signal;
  return options;
}

int RunFlags::train(Trainer& trainer, const Trainer::LossOf& loss_of,
                    const Trainer::Evaluate& evaluate) const {
  if (resume)
    load_fitting(files().checkpoint(), [&] { trainer.resume(); });
  else
    trainer.start();
  const std::int64_t first = trainer.step();
  const auto start = std::chrono::steady_clock::now();
  const TrainEnd end = run_trainer(trainer, program_, loss_of, evaluate);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  say_cost(taken.count(), trainer.step() - first);
  return end_of_run(end, program_, files());
}

void ModelFlags::add_to(CLI::App& app) {
  RunFlags::add_to(app);
  setting(app, "--layers", &layers, "blocks");
  setting(app, "--heads", &heads, "of attention; must divide --width");
  setting(app, "--width", &width, "of the residual stream");
  setting(app, "--dropout", &dropout, "in [0, 1)");
}

void ModelFlags::check(const Judge& judge) const {
  judge.require(width % heads == 0, "heads", heads, ": must divide ", judge.name("width"), " ",
                width);
}

Need ModelFlags::transformer(double tokens, double rows, double outputs) const {
  const auto C = static_cast<double>(width), L = static_cast<double>(layers);
  const double seen = static_cast<double>(batch) * tokens;  // tokens of a step
  return {.parameters = L * nn::block_count({.width = width, .heads = heads}) + rows * C,
          .step = kept_by_blocks(L, seen, C) + 8 * seen * outputs};
}

}  // namespace gradus::examples
