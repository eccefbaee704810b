// A run consists of a checkpoint, which is replaced by renaming, and metrics.jsonl, which is
// truncated to match the checkpoint when the run resumes.
#include "gradus/train/trainer.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iomanip>
#include <sstream>

#include "gradus/engine/base/bit_cast.h"
#include "gradus/engine/base/random.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/io/chart.h"
#include "gradus/io/output_file.h"
#include "gradus/io/safetensors.h"
#include "gradus/trace/nan_finder.h"
#include "gradus/train/distributed/shards.h"
#include "gradus/train/verify.h"

namespace gradus::train {
namespace {

constexpr std::int64_t kOverfitPatience = 3;  // consecutive worse evaluations before a warning

std::int64_t whole_number(const io::Checkpoint& checkpoint, const char* fact,
                          const std::string& path) {
  const auto at = checkpoint.facts.find(fact);
  std::istringstream text(at == checkpoint.facts.end() ? "" : at->second);
  std::int64_t number = 0;
  require<FileError>(bool(text >> number), path, ": has no number \"", fact,
                     "\", so the file is not a checkpoint of a run");
  return number;
}

/// Reads a double from its stored bits, because a resumed run must compare exact values.
double exact_number(const io::Checkpoint& checkpoint, const char* fact, const std::string& path) {
  return bit_cast<double>(whole_number(checkpoint, fact, path));
}
std::string exactly(double value) { return std::to_string(bit_cast<std::int64_t>(value)); }

/// Adds tensors to a checkpoint under a prefix. with_prefix() reads them.
void add_tensors(io::Checkpoint& checkpoint, const std::string& prefix,
                 const nn::StateDict& tensors) {
  for (const auto& [name, tensor] : tensors) checkpoint.tensors[prefix + name] = tensor;
}
nn::StateDict with_prefix(const io::Checkpoint& checkpoint, const std::string& prefix) {
  nn::StateDict out;
  for (const auto& [name, tensor] : checkpoint.tensors)
    if (name.starts_with(prefix)) out[name.substr(prefix.size())] = tensor;
  return out;
}

std::string four_digits(double value) { return str_cat(std::fixed, std::setprecision(4), value); }

std::string words(std::string name) {
  if (name.starts_with("held_out")) name[4] = '-';
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::string note(const Metrics& metrics) {
  std::string line;
  for (const auto& [name, value] : metrics) {
    if (name.find('.') != std::string::npos) continue;
    std::string label = words(name);  // the line already begins with "loss"
    if (label.ends_with(" loss")) label.resize(label.size() - 5);
    line += (line.empty() ? "" : "  ") + label + " " + four_digits(value);
  }
  return line;
}

TrainOptions checked(TrainOptions o) {
  require(!o.directory.empty(), "Trainer: no directory was given for the run's files");
  require(o.shards > 0, "Trainer: shards must be at least 1, got ", o.shards);
  require(o.patience >= 0, "Trainer: patience must not be negative, got ", o.patience);
  require(o.patience == 0 || o.time.seconds == 0, "Trainer: a patience of ", o.patience,
          " counts evaluations, whose steps vary under a time limit. Set a patience or a time "
          "limit, not both.");
  if (o.transport && o.time.seconds > 0)  // all processes use the clock of rank 0
    o.clock = [clock = o.clock ? o.clock : TimeBudget::Clock(TimeBudget::system_clock),
               &all = *o.transport] { return all.broadcast(clock()); };
  return o;
}

}  // namespace

bool holds_run(const RunFiles& files) {
  std::error_code none;
  const auto bytes = std::filesystem::file_size(files.metrics(), none);
  return (!none && bytes > 0) || std::filesystem::exists(files.checkpoint(), none) ||
         std::filesystem::exists(files.model(), none);
}

SavedState read_state(const RunFiles& files) {
  const std::string path = files.checkpoint();
  const io::Checkpoint checkpoint = io::load_checkpoint(path);
  SavedState state{whole_number(checkpoint, "step", path),
                   whole_number(checkpoint, "best_step", path),
                   exact_number(checkpoint, "best", path)};
  if (checkpoint.facts.contains("pace")) state.steps = whole_number(checkpoint, "pace", path);
  for (const auto& [name, tensor] : with_prefix(checkpoint, "model."))
    state.parameters += tensor.numel();
  return state;
}

Trainer::Trainer(nn::Module& model, optim::Optimizer& optimizer, optim::Schedule schedule,
                 TrainOptions options)
    : Loop(optimizer, std::move(schedule),
           {options.steps, options.eval_every, options.clip_norm, options.clip_value}),
      model_(model),
      options_(checked(std::move(options))),
      transport_(options_.transport ? *options_.transport : distributed::alone()),
      budget_(options_.time, options_.steps, options_.eval_every, options_.clock),
      files_{options_.directory},
      best_(options_.higher_is_better ? -INFINITY : INFINITY),
      last_(best_) {
  if (options_.shards > 1 || transport_.size() > 1)
    shards_ = std::make_unique<distributed::Shards>(model, optimizer, transport_, options_.shards);
}

void Trainer::keep(Save save, Load load) { kept_.emplace_back(std::move(save), std::move(load)); }

void Trainer::average(optim::EMA& ema) {
  ema_ = &ema;
  keep([&ema](io::Checkpoint& checkpoint) { add_tensors(checkpoint, "ema.", ema.state_dict()); },
       [&ema](const io::Checkpoint& checkpoint) {
         ema.load_state_dict(with_prefix(checkpoint, "ema."));
       });
}

bool Trainer::writes() const { return transport_.rank() == 0; }

void Trainer::start() {
  if (writes()) {
    require<FileError>(!holds_run(files_), files_.directory,
                       ": already holds a run. Resume it, or choose another directory.");
    std::error_code error;
    std::filesystem::create_directories(files_.directory, error);  // begin() reports failures
  }
  begin(0);
  save();
  transport_.barrier();  // from here on, every process can resume
}

void Trainer::begin(std::int64_t metrics_bytes) {
  begun_ = true;
  if (writes()) log_ = std::make_unique<MetricsLog>(files_.metrics(), metrics_bytes);
}

void Trainer::resume() {
  const std::string path = files_.checkpoint();
  const io::Checkpoint checkpoint = io::load_checkpoint(path);
  model_.load_state_dict(with_prefix(checkpoint, "model."));
  optimizer_.load_state_dict(with_prefix(checkpoint, "optimizer."));
  for (const auto& [save, load] : kept_) load(checkpoint);
  const auto number = [&](const char* fact) { return whole_number(checkpoint, fact, path); };
  step_ = number("step");
  best_step_ = number("best_step");
  rising_evals_ = number("rises");
  best_ = exact_number(checkpoint, "best", path);
  loss_ = exact_number(checkpoint, "last_loss", path);
  last_ = exact_number(checkpoint, "last_held_out", path);
  metrics_.assign(std::isfinite(last_) ? 1 : 0, {options_.judge, last_});
  generator().restore(static_cast<std::uint64_t>(number("random_seed")),
                      static_cast<std::uint32_t>(number("random_position")));
  const auto budget = checkpoint.facts.find("pace");  // present only with a time limit
  const bool timed = budget != checkpoint.facts.end();
  require<FileError>(!timed || options_.time.seconds > 0, path,
                     ": the run has a time limit, but none is set. Set time.seconds to resume.");
  require<FileError>(timed || options_.time.seconds == 0, path,
                     ": the run has no time limit, but time.seconds is ", options_.time.seconds,
                     ". Set it to 0 to resume.");
  require<FileError>(!timed || budget_.load_state(budget->second), path,
                     ": the saved time budget is invalid. Restore the original checkpoint.");
  begin(number("metrics_bytes"));
}

void Trainer::save() {
  io::Checkpoint checkpoint;
  add_tensors(checkpoint, "model.", model_.state_dict());
  transport_.note("gathering the optimizer's state");
  add_tensors(checkpoint, "optimizer.",
              shards_ ? shards_->optimizer().state_dict() : optimizer_.state_dict());
  const std::string budget = options_.time.seconds > 0 ? budget_.state() : "";
  if (!writes()) return;
  transport_.note("writing the checkpoint");
  checkpoint.facts = {
      {"step", std::to_string(step_)},
      {"best_step", std::to_string(best_step_)},
      {"rises", std::to_string(rising_evals_)},
      {"best", exactly(best_)},
      {"last_loss", exactly(loss_)},
      {"last_held_out", exactly(last_)},
      {"random_seed", std::to_string(static_cast<std::int64_t>(generator().seed()))},
      {"random_position", std::to_string(generator().position())},
      {"metrics_bytes", std::to_string(log_->flush())}};
  if (!budget.empty()) checkpoint.facts.emplace("pace", budget);
  require<FileError>(log_->complaint().empty(), log_->complaint());
  for (const auto& [save, load] : kept_) save(checkpoint);
  io::save_checkpoint(files_.checkpoint(), checkpoint);
}

TrainEnd Trainer::run(const LossOf& loss_of, const Evaluate& evaluate) {
  require<GraphError>(begun_, "Trainer: call start() or resume() before run()");
  try {
    if (writes())
      progress_.emplace(step_, budget_.steps(), options_.shards * options_.items_per_step,
                        options_.item);
    budget_.start();
    stop_ = false;
    Loop::run(loss_of, [&] { validate(evaluate); });
    progress_.reset();
    const bool finished = step_ >= budget_.steps(), early = !finished && out_of_patience();
    if (early && writes())
      log(str_cat("has not improved in ", options_.patience, " evaluations, so training stops"));
    if (!finished && !early) save();
    if (writes()) draw_losses();
    transport_.barrier();  // wait until all files are written
    return finished ? TrainEnd::finished : early ? TrainEnd::early : TrainEnd::interrupted;
  } catch (const std::exception& error) {
    progress_.reset();
    if (transport_.size() > 1) transport_.abort(error.what());
    throw;
  }
}

bool Trainer::begin_step() {
  const bool asked = options_.stop && *options_.stop;
  if (transport_.size() == 1) stop_ = asked;  // multiple processes agreed in the last step
  if (step_ >= budget_.steps() || stop_ || out_of_patience()) return false;
  stop_ = asked;
  step_began_ = budget_.seconds();
  step_random_ = generator().position();
  return true;
}

double Trainer::factor() {
  const double position = budget_.position(step_), whole = std::floor(position);
  const auto step = static_cast<std::int64_t>(whole);
  const double before = schedule_(step);
  return position == whole ? before : std::lerp(before, schedule_(step + 1), position - whole);
}

void Trainer::after_update(const LossOf& loss_of) {
  if (ema_ && std::isfinite(norm_)) ema_->update();
  if (log_)
    log_->write({{"step", static_cast<double>(step_ - 1)},
                 {"loss", loss_},
                 {"grad_norm", norm_},
                 {"learning_rate", optimizer_.groups().front().lr * factor_}},
                options_.hash_weights ? hash_of(model_.parameters()) : "");
  if (!std::isfinite(loss_) || !std::isfinite(norm_)) fail_not_finite(loss_of);
  budget_.stepped(budget_.seconds() - step_began_);
  rescaled_ = rescale();
}

/// Repeats the step under a NanFinder. The same weights, batch and random position produce the same
/// NaN.
void Trainer::fail_not_finite(const LossOf& loss_of) {
  generator().restore(generator().seed(), step_random_);
  std::string report;
  const trace::NanFinder finder([&](const std::string& found) { report = found; });
  optimizer_.zero_grad();
  if (shards_)
    shards_->gradients(step_ - 1, loss_of, stop_);
  else
    loss_of(step_ - 1).mean.backward();
  const std::vector<char> found = transport_.all_gather(std::vector<char>{!report.empty()});
  const auto first = std::find(found.begin(), found.end(), 1) - found.begin();
  if (first != transport_.rank()) transport_.barrier();  // wait for that process to abort all
  if (report.empty())
    report = "all results and gradients are finite when repeated, so the norm overflowed";
  fail<ValueError>("the ", std::isfinite(loss_) ? "gradient" : "loss", " is not finite at step ",
                   step_, ": ", report, ". Try a smaller learning rate (--lr). ",
                   files_.checkpoint(), " holds the last good step.");
}

/// Logs a change of the plan. end_step() then saves a checkpoint. If the run is killed in between,
/// it resumes before the change, and the log is truncated.
bool Trainer::rescale() {
  const std::optional<Rescale> change = budget_.rescale(step_);
  if (!change || !writes()) return change.has_value();
  const double ms = 1e3 * change->step_seconds;
  log_->write({{"step", static_cast<double>(step_)},
               {"steps_before", static_cast<double>(change->steps_before)},
               {"steps", static_cast<double>(change->steps)},
               {"step_milliseconds", ms}});
  progress_->clear();
  progress_->aim_at(change->steps);
  std::fprintf(stderr, "%s: a step now takes %.3g ms, so %lld steps fit instead of %lld\n",
               options_.program.c_str(), ms, static_cast<long long>(change->steps),
               static_cast<long long>(change->steps_before));
  return true;
}

void Trainer::end_step() {
  const bool evaluated = evaluates();
  if (evaluated || rescaled_) save();
  if (!writes()) return;
  progress_->show(step_, loss_, note(metrics_), evaluated);
  if (evaluated && rising_evals_ == kOverfitPatience)
    log(str_cat("has ", options_.higher_is_better ? "fallen" : "risen",
                " three times in a row, so the model may be overfitting"));
}

bool Trainer::out_of_patience() const {
  const std::int64_t since = step_ / options_.eval_every - best_step_ / options_.eval_every;
  return options_.patience > 0 && since >= options_.patience;
}

void Trainer::validate(const Evaluate& evaluate) {
  const double before = last_, begin = budget_.seconds();
  std::optional<optim::EMA::Scope> averaged;
  if (ema_) averaged.emplace(*ema_);
  transport_.note("evaluating, or waiting for rank 0 to evaluate");
  last_ = transport_.broadcast(writes() ? evaluate_and_log(evaluate) : 0);
  budget_.evaluated(budget_.seconds() - begin);
  const auto better = [&](double a, double b) { return options_.higher_is_better ? a > b : a < b; };
  rising_evals_ = better(before, last_) ? rising_evals_ + 1 : 0;
  if (!better(last_, best_)) return;
  best_ = last_;
  best_step_ = step_;
  if (writes()) io::save_safetensors(files_.model(), model_.state_dict());
}

/// Evaluates, logs the results, and returns the metric that selects the best weights.
double Trainer::evaluate_and_log(const Evaluate& evaluate) {
  const NoGrad off;
  Generator own(0);
  const GeneratorScope scope(own);
  model_.eval();
  metrics_ = evaluate();
  model_.train();
  std::vector<MetricsLog::Field> line = {{"step", static_cast<double>(step_)}};
  std::optional<double> judged;
  for (const auto& [name, value] : metrics_) {
    line.emplace_back(name.c_str(), value);
    if (name == options_.judge) judged = value;
  }
  require(judged.has_value(), "Trainer: the evaluation has no \"", options_.judge,
          "\", which selects the best weights. Add the metric, or set TrainOptions::judge.");
  log_->write(line);
  return *judged;
}

void Trainer::log(const std::string& what) const {
  std::fprintf(stderr, "%s: the %s %s; the best was %.4f at step %lld, kept in %s\n",
               options_.program.c_str(), words(options_.judge).c_str(), what.c_str(), best_,
               static_cast<long long>(best_step_), files_.model().c_str());
}

void Trainer::draw_losses() const {
  const std::string unit = options_.loss_unit.empty() ? "" : ", " + options_.loss_unit;
  io::Chart chart{.title = files_.directory,
                  .x_label = "step",
                  .y_label = "loss" + unit,
                  .curves = {{"training", read_metric(files_.metrics(), "loss")},
                             {"held out", read_metric(files_.metrics(), "held_out_loss"), true}},
                  .mark = {}};
  if (chart.curves[0].points.empty()) return;
  if (options_.judge == "held_out_loss" && std::isfinite(best_))
    chart.mark = {static_cast<double>(best_step_), best_,
                  str_cat("best ", four_digits(best_), " at step ", best_step_)};
  const std::string picture = io::svg(chart);
  io::write_file_atomically(files_.curve(), picture.data(), picture.size());
}

}  // namespace gradus::train
