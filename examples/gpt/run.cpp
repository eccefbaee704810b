// The training loop: steps, evaluations, checkpoints, and the way back from a checkpoint.
#include "run.h"

#include <bit>
#include <cmath>
#include <filesystem>
#include <iomanip>
#include <limits>

#include "find_nan.h"
#include "gradus/base/platform.h"
#include "gradus/base/random.h"
#include "gradus/examples/support/interrupt.h"
#include "gradus/io/checkpoint.h"
#include "gradus/io/safetensors.h"
#include "gradus/io/text.h"
#include "gradus/train/progress.h"

namespace gradus::examples {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr std::int64_t kRisesToTell = 3;

void write_text(const std::string& path, const std::string& text) {
  platform::write_file_atomically(path, text.data(), text.size());
}

/// What a killed process had begun to write: PATH.tmp-PROCESS-NUMBER. Only the lock's owner may.
void remove_leftovers(const RunPaths& paths) {
  std::vector<std::filesystem::path> leftovers;
  for (const auto& entry : std::filesystem::directory_iterator(paths.directory))
    for (const std::string& file : paths.all())
      if (entry.path().filename().string().starts_with(
              std::filesystem::path(file).filename().string() + ".tmp-"))
        leftovers.push_back(entry.path());
  std::error_code ignored;
  for (const std::filesystem::path& each : leftovers) std::filesystem::remove(each, ignored);
}

std::int64_t whole_number(const io::Checkpoint& checkpoint, const char* fact,
                          const std::string& path) {
  const auto at = checkpoint.facts.find(fact);
  require<FileError>(at != checkpoint.facts.end(), path, ": holds no \"", fact,
                     "\": it is not a gpt run's checkpoint");
  return std::stoll(at->second);
}

/// Doubles as their bits: a resumed run compares with the very number.
std::string exactly(double value) { return std::to_string(std::bit_cast<std::int64_t>(value)); }

}  // namespace

Run::Run(DirectoryLock lock, const RunPaths& paths, const Settings& settings, Corpus corpus)
    : lock_(std::move(lock)),
      paths_(paths),
      settings_(settings),
      corpus_(std::move(corpus)),
      model_((seed(static_cast<std::uint64_t>(settings.seed)), settings.model)),
      optimizer_(optim::decay_matrices_only(model_.parameters(), settings.weight_decay),
                 {.learning_rate = settings.learning_rate, .beta2 = settings.beta2}),
      schedule_(optim::warmup_cosine(settings.warmup, settings.steps, settings.final_factor)),
      batches_(corpus_.training, settings.model.context, settings.batch,
               static_cast<std::uint64_t>(settings.seed)),
      best_(kNever),
      last_loss_(kNever),
      last_held_out_(kNever) {}

void require_no_run(const RunPaths& paths) {
  std::error_code none;
  const bool stopped = std::filesystem::exists(paths.checkpoint(), none);
  const auto metrics = std::filesystem::file_size(paths.metrics(), none);
  const bool lines = !none && metrics > 0;
  require<FileError>(
      !stopped && !lines && !std::filesystem::exists(paths.model(), none), paths.directory,
      ": holds a run already: ",
      stopped ? text("go on with it by gpt train --out ", paths.directory, " --resume, or ") : "",
      "choose another directory with --out");
}

std::unique_ptr<Run> Run::start(DirectoryLock lock, const RunPaths& paths, const Settings& settings,
                                Corpus corpus) {
  require_no_run(paths);
  remove_leftovers(paths);
  std::unique_ptr<Run> run(new Run(std::move(lock), paths, settings, std::move(corpus)));
  write_text(paths.settings(), to_json(settings));
  io::save_tokenizer(paths.tokenizer(), *run->corpus_.tokenizer);
  run->metrics_ = std::make_unique<MetricsLog>(paths.metrics(), 0);
  run->save();
  return run;
}

std::unique_ptr<Run> Run::resume(DirectoryLock lock, const RunPaths& paths,
                                 const Settings& settings, Corpus corpus) {
  remove_leftovers(paths);
  const io::Checkpoint checkpoint = io::load_checkpoint(paths.checkpoint());
  std::unique_ptr<Run> run(new Run(std::move(lock), paths, settings, std::move(corpus)));
  std::map<std::string, Tensor> weights, state;
  for (const auto& [name, tensor] : checkpoint.tensors) {
    if (name.starts_with("model.")) weights[name.substr(6)] = tensor;
    if (name.starts_with("optimizer.")) state[name.substr(10)] = tensor;
  }
  run->model_.load_state(weights);
  run->optimizer_.load_state(state);
  const auto fact = [&](const char* name) {
    return whole_number(checkpoint, name, paths.checkpoint());
  };
  run->step_ = fact("step");
  run->best_step_ = fact("best_step");
  run->rises_ = fact("rises");
  run->best_ = std::bit_cast<double>(fact("best"));
  run->last_loss_ = std::bit_cast<double>(fact("last_loss"));
  run->last_held_out_ = std::bit_cast<double>(fact("last_held_out"));
  generator().restore(static_cast<std::uint64_t>(fact("random_seed")),
                      static_cast<std::uint32_t>(fact("random_position")));
  run->metrics_ = std::make_unique<MetricsLog>(paths.metrics(), fact("metrics_bytes"));
  return run;
}

void Run::save() {
  io::Checkpoint checkpoint;
  for (const nn::NamedTensor& each : model_.state())
    checkpoint.tensors["model." + each.name] = each.tensor.detach();
  for (const auto& [name, tensor] : optimizer_.state())
    checkpoint.tensors["optimizer." + name] = tensor;
  checkpoint.facts = {
      {"step", std::to_string(step_)},
      {"best_step", std::to_string(best_step_)},
      {"rises", std::to_string(rises_)},
      {"best", exactly(best_)},
      {"last_loss", exactly(last_loss_)},
      {"last_held_out", exactly(last_held_out_)},
      {"random_seed", std::to_string(static_cast<std::int64_t>(generator().seed()))},
      {"random_position", std::to_string(generator().position())},
      {"metrics_bytes", std::to_string(metrics_->flush())}};
  require<FileError>(metrics_->complaint().empty(), metrics_->complaint());
  io::save_checkpoint(paths_.checkpoint(), checkpoint);
}

double mean_loss(const nn::GPT& model, const std::vector<std::int64_t>& tokens,
                 std::int64_t batch) {
  const NoGrad off;
  const TokenBatches windows(tokens, model.options.context, batch, 0);
  double total = 0, count = 0;
  for (const Batch& each : windows.once()) {
    const double n = static_cast<double>(each.y.numel());
    total += model.loss(each.x, each.y).item() * n;
    count += n;
  }
  return total / count;
}

std::int64_t evaluation_batch(const Settings& settings) {
  return std::max<std::int64_t>(settings.batch, 32);
}

double Run::evaluate() const {
  return mean_loss(model_, corpus_.held_out, evaluation_batch(settings_));
}

double Run::train_step() {
  const Batch batch = batches_.at(step_);
  const std::uint32_t random = generator().position();
  const Tensor loss = model_.loss(batch.x, batch.y);
  optimizer_.zero_grad();
  loss.backward();
  const double norm = optimizer_.step(
      {.clip_norm = settings_.clip_norm, .factor = schedule_(step_), .only_finite = true});
  last_loss_ = loss.item();
  metrics_->write({{"step", static_cast<double>(step_)},
                   {"loss", last_loss_},
                   {"grad_norm", norm},
                   {"learning_rate", settings_.learning_rate * schedule_(step_)}});
  if (!std::isfinite(last_loss_) || !std::isfinite(norm))
    fail<ValueError>("the ", std::isfinite(last_loss_) ? "gradient" : "loss",
                     " is not finite at step ", step_ + 1, ": ", find_nan(model_, batch, random),
                     "; try a smaller --lr; ", paths_.checkpoint(), " holds the last good step");
  return last_loss_;
}

void Run::judge() {
  const double before = last_held_out_;
  model_.eval();
  last_held_out_ = evaluate();
  model_.train();
  metrics_->write({{"step", static_cast<double>(step_)}, {"held_out_loss", last_held_out_}});
  rises_ = last_held_out_ > before ? rises_ + 1 : 0;
  if (!(last_held_out_ < best_)) return;
  best_ = last_held_out_;
  best_step_ = step_;
  std::map<std::string, Tensor> weights;
  for (const nn::NamedTensor& each : model_.state()) weights[each.name] = each.tensor.detach();
  io::save_safetensors(paths_.model(), weights);
}

void Run::warn_of_rises() const {
  std::fprintf(
      stderr,
      "gpt: the held-out loss has risen three times running: the model may be learning the "
      "text by heart. The best was %.4f at step %lld, kept in %s. Going on\n",
      best_, static_cast<long long>(best_step_), paths_.model().c_str());
}

RunEnd Run::train() {
  Progress progress(step_, settings_.steps, settings_.batch * settings_.model.context);
  while (step_ < settings_.steps && !interrupt_signal) {
    train_step();
    ++step_;
    const bool evaluates = step_ % settings_.eval_every == 0 || step_ == settings_.steps;
    if (evaluates) judge();
    if (evaluates) save();
    const std::string note =
        std::isfinite(last_held_out_)
            ? text("held-out ", std::fixed, std::setprecision(4), last_held_out_)
            : "";
    progress.show(step_, last_loss_, note, evaluates);
    if (evaluates && rises_ == kRisesToTell) warn_of_rises();
  }
  if (step_ == settings_.steps) return RunEnd::finished;
  save();
  return RunEnd::interrupted;
}

Settings read_settings(const RunPaths& paths) {
  require<FileError>(
      std::filesystem::exists(paths.settings()), paths.directory,
      ": holds no gpt run: there is no settings.json; train one with: gpt train FILE --out ",
      paths.directory);
  return settings_from_json(io::read_text(paths.settings()), paths.settings());
}

SavedState read_state(const RunPaths& paths) {
  const io::Checkpoint checkpoint = io::load_checkpoint(paths.checkpoint());
  SavedState state{whole_number(checkpoint, "step", paths.checkpoint()),
                   whole_number(checkpoint, "best_step", paths.checkpoint()),
                   std::bit_cast<double>(whole_number(checkpoint, "best", paths.checkpoint())), 0};
  for (const auto& [name, tensor] : checkpoint.tensors)
    if (name.starts_with("model.")) state.parameters += tensor.numel();
  return state;
}

Trained load_trained(const RunPaths& paths) {
  Settings settings = read_settings(paths);
  require<FileError>(std::filesystem::exists(paths.model()), paths.model(),
                     ": not there yet: the run has not come to its first evaluation");
  Trained trained{settings, io::load_tokenizer(paths.tokenizer()),
                  std::make_unique<nn::GPT>(settings.model)};
  trained.model->load_state(io::load_safetensors(paths.model()).tensors);
  trained.model->eval();
  return trained;
}

}  // namespace gradus::examples
