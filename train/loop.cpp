// All that a run is made of is written into one checkpoint, by one rename.
#include "gradus/train/loop.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iomanip>
#include <limits>
#include <optional>

#include "gradus/engine/base/platform.h"
#include "gradus/engine/base/random.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/io/chart.h"
#include "gradus/io/safetensors.h"
#include "gradus/io/write_file.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/trace/nan_finder.h"
#include "gradus/train/progress.h"

namespace gradus {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr std::int64_t kTurnsToTell = 3;

std::int64_t whole_number(const io::Checkpoint& checkpoint, const char* fact,
                          const std::string& path) {
  const auto at = checkpoint.facts.find(fact);
  std::int64_t number = 0;
  const bool good =
      at != checkpoint.facts.end() &&
      std::from_chars(at->second.data(), at->second.data() + at->second.size(), number).ec ==
          std::errc();
  require<FileError>(good, path, ": holds no number \"", fact,
                     "\": it is not the checkpoint of a run");
  return number;
}

/// The tensors whose names begin so, without that.
std::map<std::string, Tensor> part_of(const io::Checkpoint& checkpoint, const std::string& begin) {
  std::map<std::string, Tensor> out;
  for (const auto& [name, tensor] : checkpoint.tensors)
    if (name.starts_with(begin)) out[name.substr(begin.size())] = tensor;
  return out;
}

/// Doubles as their bits: a resumed run compares with the very number.
std::string exactly(double value) { return std::to_string(std::bit_cast<std::int64_t>(value)); }

TrainOptions checked(TrainOptions o) {
  require(!o.directory.empty(), "Trainer: no directory for the run's files");
  require(o.steps > 0, "Trainer: ", o.steps, " steps: must be positive");
  require(o.eval_every > 0, "Trainer: evaluations every ", o.eval_every,
          " steps: must be positive");
  require(o.clip_norm >= 0, "Trainer: a clip_norm of ", o.clip_norm, ": must be positive, or 0");
  require(o.clip_value >= 0, "Trainer: a clip_value of ", o.clip_value, ": must be positive, or 0");
  require(o.shards > 0, "Trainer: ", o.shards, " shards: must be at least 1");
  require(o.patience >= 0, "Trainer: a patience of ", o.patience, ": must be positive, or 0");
  require(o.patience == 0 || o.time.seconds == 0, "Trainer: a patience of ", o.patience,
          " counts evaluations, which move in a run with a time limit: give one of them");
  if (o.transport && o.time.seconds > 0)  // all go by rank 0's clock
    o.clock = [clock = o.clock ? o.clock : Pace::Clock(Pace::system_clock), &all = *o.transport] {
      return all.broadcast(clock());
    };
  return o;
}

}  // namespace

bool holds_run(const RunFiles& files) {
  std::error_code none;
  const auto lines = std::filesystem::file_size(files.metrics(), none);
  return (!none && lines > 0) || std::filesystem::exists(files.checkpoint(), none) ||
         std::filesystem::exists(files.model(), none);
}

SavedState read_state(const RunFiles& files) {
  const std::string path = files.checkpoint();
  const io::Checkpoint checkpoint = io::load_checkpoint(path);
  SavedState state{whole_number(checkpoint, "step", path),
                   whole_number(checkpoint, "best_step", path),
                   std::bit_cast<double>(whole_number(checkpoint, "best", path)),
                   0,
                   {}};
  if (checkpoint.facts.contains("pace")) state.steps = whole_number(checkpoint, "pace", path);
  for (const auto& [name, tensor] : checkpoint.tensors)
    if (name.starts_with("model.")) state.parameters += tensor.numel();
  return state;
}

Trainer::Trainer(nn::Module& model, optim::Optimizer& optimizer, optim::Schedule schedule,
                 TrainOptions options)
    : model_(model),
      optimizer_(optimizer),
      schedule_(std::move(schedule)),
      options_(checked(std::move(options))),
      pace_(options_.time, options_.steps, options_.eval_every, options_.clock),
      files_{options_.directory},
      transport_(options_.transport ? *options_.transport : distributed::alone()),
      best_(options_.higher_is_better ? -kNever : kNever),
      last_loss_(kNever),
      last_judged_(best_) {
  if (options_.shards > 1 || transport_.size() > 1)
    shards_ =
        std::make_unique<distributed::Shards>(model_, optimizer_, transport_, options_.shards);
}

void Trainer::keep(std::function<void(io::Checkpoint&)> save,
                   std::function<void(const io::Checkpoint&)> load) {
  savers_.push_back(std::move(save));
  loaders_.push_back(std::move(load));
}

void Trainer::average(optim::EMA& ema) {
  ema_ = &ema;
  keep(
      [&ema](io::Checkpoint& checkpoint) {
        for (const auto& [name, tensor] : ema.state_dict())
          checkpoint.tensors["ema." + name] = tensor;
      },
      [&ema](const io::Checkpoint& checkpoint) {
        ema.load_state_dict(part_of(checkpoint, "ema."));
      });
}

void Trainer::start() {
  if (writes()) {
    require<FileError>(!holds_run(files_), files_.directory,
                       ": holds a run already: resume it, or choose another directory");
    std::error_code error;
    std::filesystem::create_directories(files_.directory, error);  // if not, the log will say so
  }
  begin_log(0);
  save();
  transport_.barrier();  // whatever ends a process from now on, the run can be resumed
}

void Trainer::begin_log(std::int64_t keep_bytes) {
  begun_ = true;
  if (writes()) log_ = std::make_unique<MetricsLog>(files_.metrics(), keep_bytes);
}

void Trainer::resume() {
  const std::string path = files_.checkpoint();
  const io::Checkpoint checkpoint = io::load_checkpoint(path);
  model_.load_state_dict(part_of(checkpoint, "model."));
  optimizer_.load_state_dict(part_of(checkpoint, "optimizer."));
  for (const auto& load : loaders_) load(checkpoint);
  const auto fact = [&](const char* name) { return whole_number(checkpoint, name, path); };
  step_ = fact("step");
  best_step_ = fact("best_step");
  turns_ = fact("rises");
  best_ = std::bit_cast<double>(fact("best"));
  last_loss_ = std::bit_cast<double>(fact("last_loss"));
  last_judged_ = std::bit_cast<double>(fact("last_held_out"));
  last_.assign(std::isfinite(last_judged_) ? 1 : 0, {options_.judge, last_judged_});
  generator().restore(static_cast<std::uint64_t>(fact("random_seed")),
                      static_cast<std::uint32_t>(fact("random_position")));
  const auto pace = checkpoint.facts.find("pace");  // only a time limit makes one
  require<FileError>((pace != checkpoint.facts.end()) == (options_.time.seconds > 0) &&
                         (pace == checkpoint.facts.end() || pace_.load_state(pace->second)),
                     path, ": has another time limit than its run");
  begin_log(fact("metrics_bytes"));
}

void Trainer::save() {
  io::Checkpoint checkpoint;
  for (const auto& [name, tensor] : model_.state_dict())
    checkpoint.tensors["model." + name] = tensor;
  transport_.note("gathering the optimiser's state");
  for (const auto& [name, tensor] : optimizer_.state_dict())
    checkpoint.tensors["optimizer." + name] = tensor;
  const std::string pace = options_.time.seconds > 0 ? pace_.state() : "";
  if (!writes()) return;
  transport_.note("writing the checkpoint");
  checkpoint.facts = {
      {"step", std::to_string(step_)},
      {"best_step", std::to_string(best_step_)},
      {"rises", std::to_string(turns_)},
      {"best", exactly(best_)},
      {"last_loss", exactly(last_loss_)},
      {"last_held_out", exactly(last_judged_)},
      {"random_seed", std::to_string(static_cast<std::int64_t>(generator().seed()))},
      {"random_position", std::to_string(generator().position())},
      {"metrics_bytes", std::to_string(log_->flush())}};
  if (!pace.empty()) checkpoint.facts.emplace("pace", pace);
  require<FileError>(log_->complaint().empty(), log_->complaint());
  for (const auto& save : savers_) save(checkpoint);
  io::save_checkpoint(files_.checkpoint(), checkpoint);
}

TrainEnd Trainer::run(const LossOf& loss_of, const Evaluate& evaluate) {
  require<GraphError>(begun_, "Trainer: run() before start() or resume()");
  try {
    return run_alike(loss_of, evaluate);
  } catch (const std::exception& error) {
    if (transport_.size() > 1) transport_.abort(error.what());
    throw;
  }
}

TrainEnd Trainer::run_alike(const LossOf& loss_of, const Evaluate& evaluate) {
  {
    Progress progress(step_, pace_.steps(), options_.shards * options_.items_per_step,
                      options_.item);
    pace_.start();
    stop_ = transport_.size() == 1 && options_.stop && *options_.stop;
    while (step_ < pace_.steps() && !stop_ && !out_of_patience()) {
      train_step(loss_of);
      ++step_;
      const bool fitted = fit_again(progress), evaluates = pace_.evaluates(step_);
      if (evaluates) judge(evaluate);
      if (evaluates || fitted) save();
      if (writes()) progress.show(step_, last_loss_, note(), evaluates);
      if (transport_.size() == 1) stop_ = options_.stop && *options_.stop;
      if (evaluates && turns_ == kTurnsToTell && writes())
        tell(str_cat("has ", options_.higher_is_better ? "fallen" : "risen",
                     " three times running: the model may be learning by heart"));
    }
  }
  const bool finished = step_ >= pace_.steps(), early = !finished && out_of_patience();
  if (early && writes())
    tell(str_cat("has not become better in ", options_.patience, " evaluations: stopped"));
  if (!finished && !early) save();
  if (writes()) draw_losses();
  transport_.barrier();  // all files are there
  return finished ? TrainEnd::finished : early ? TrainEnd::early : TrainEnd::interrupted;
}

double Trainer::gradients(const LossOf& loss_of) {
  if (shards_) {
    stop_ = options_.stop && *options_.stop;
    return shards_->gradients(step_, loss_of, stop_);
  }
  const Tensor loss = loss_of(step_).mean;
  optimizer_.zero_grad();  // not earlier: a loss may look at the last gradients
  loss.backward();
  return loss.item();
}

double Trainer::update(const optim::StepOptions& options) {
  if (shards_) return shards_->update(options, options_.clip_value);
  if (options_.clip_value > 0) optim::clip_grad_value(model_.parameters(), options_.clip_value);
  return optimizer_.step(options);
}

/// Between two steps of the plan the rate lies on a straight line.
double Trainer::factor() const {
  const double place = pace_.place(step_), whole = std::floor(place);
  const auto step = static_cast<std::int64_t>(whole);
  const double before = schedule_(step);
  return place == whole ? before : std::lerp(before, schedule_(step + 1), place - whole);
}

/// The decision goes into the log and, with the caller's save(), into a checkpoint at once: a run
/// that is killed between the two is resumed from before it, and its log is cut back to there.
bool Trainer::fit_again(Progress& progress) {
  const std::optional<Refit> refit = pace_.refit(step_);
  if (!refit) return false;
  if (!writes()) return true;
  const double ms = 1e3 * refit->step_seconds;
  log_->write({{"step", static_cast<double>(step_)},
               {"steps_before", static_cast<double>(refit->steps_before)},
               {"steps", static_cast<double>(refit->steps)},
               {"step_milliseconds", ms}});
  progress.clear();
  progress.aim_at(refit->steps);
  std::fprintf(stderr, "%s: a step takes %.3g ms now: %lld steps instead of %lld, to end in time\n",
               options_.program.c_str(), ms, static_cast<long long>(refit->steps),
               static_cast<long long>(refit->steps_before));
  return true;
}

void Trainer::train_step(const LossOf& loss_of) {
  const double begin = pace_.seconds();
  const std::uint32_t random = generator().position();
  last_loss_ = gradients(loss_of);
  const double part = factor();
  const double norm =
      update({.clip_norm = options_.clip_norm, .factor = part, .only_finite = true});
  if (ema_ && std::isfinite(norm)) ema_->update();
  if (log_)
    log_->write({{"step", static_cast<double>(step_)},
                 {"loss", last_loss_},
                 {"grad_norm", norm},
                 {"learning_rate", optimizer_.groups().front().lr * part}});
  require_finite(norm, loss_of, random);
  pace_.stepped(pace_.seconds() - begin);
}

/// A step is a function of weights, batch and random position: repeated under a NanFinder it makes
/// the same NaN again.
void Trainer::require_finite(double norm, const LossOf& loss_of, std::uint32_t random) {
  if (std::isfinite(last_loss_) && std::isfinite(norm)) return;
  generator().restore(generator().seed(), random);
  std::string report;
  {
    const trace::NanFinder finder([&](const std::string& what) { report = what; });
    gradients(loss_of);
  }
  const std::vector<char> found = transport_.all_gather(std::vector<char>{!report.empty()});
  const auto first = std::ranges::find(found, 1) - found.begin();
  if (first != transport_.rank()) transport_.barrier();  // it ends all, where one has found it
  if (report.empty())
    report = "repeated, every result and gradient is finite: their norm overflowed";
  fail<ValueError>("the ", std::isfinite(last_loss_) ? "gradient" : "loss",
                   " is not finite at step ", step_ + 1, ": ", report,
                   "; try a smaller learning rate (--lr); ", files_.checkpoint(),
                   " holds the last good step");
}

bool Trainer::better(double value, double than) const {
  return options_.higher_is_better ? value > than : value < than;
}

bool Trainer::out_of_patience() const {
  const std::int64_t since = step_ / options_.eval_every - best_step_ / options_.eval_every;
  return options_.patience > 0 && since >= options_.patience;
}

void Trainer::judge(const Evaluate& evaluate) {
  const double before = last_judged_, begin = pace_.seconds();
  std::optional<optim::EMA::Scope> averaged;
  if (ema_) averaged.emplace(*ema_);
  transport_.note("evaluating, or waiting for rank 0, which does");
  if (writes()) evaluate_and_log(evaluate);
  last_judged_ = transport_.broadcast(last_judged_);
  pace_.evaluated(pace_.seconds() - begin);
  turns_ = better(before, last_judged_) ? turns_ + 1 : 0;
  if (!better(last_judged_, best_)) return;
  best_ = last_judged_;
  best_step_ = step_;
  if (writes()) io::save_safetensors(files_.model(), model_.state_dict());
}

void Trainer::evaluate_and_log(const Evaluate& evaluate) {
  model_.eval();
  {
    const NoGrad off;
    Generator own(0);
    const GeneratorScope scope(own);
    last_ = evaluate();
  }
  model_.train();
  std::vector<MetricsLog::Field> line = {{"step", static_cast<double>(step_)}};
  bool found = false;
  for (const auto& [name, value] : last_) {
    line.emplace_back(name.c_str(), value);
    if (name == options_.judge) {
      last_judged_ = value;
      found = true;
    }
  }
  require(found, "Trainer: the evaluation gave no \"", options_.judge,
          "\", by which weights are judged: add it, or name another as TrainOptions::judge");
  log_->write(line);
}

}  // namespace gradus
