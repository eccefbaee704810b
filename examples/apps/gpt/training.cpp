#include "training.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "gradus/engine/base/random.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/examples/apps/support/optimizer.h"
#include "gradus/examples/apps/support/run.h"
#include "gradus/io/pretrained/pretrained.h"
#include "gradus/io/text.h"
#include "gradus/nn/attention_record.h"
#include "gradus/nn/extras/packing.h"
#include "gradus/ops/create.h"
#include "gradus/train/data.h"
#include "pretrained.h"

namespace gradus::examples {
namespace {

train::TrainOptions options_for(const GptFlags& flags, const io::Tokenizer& tokens) {
  train::TrainOptions options = flags.options();
  options.time = flags.time;
  options.clip_norm = flags.clip_norm;
  options.items_per_step = flags.batch * flags.context;
  options.item = "token";
  options.loss_unit = "nats per " + tokens.name();
  return options;
}

/// Logs each head's entropy, span and largest weight on the first held-out window.
void log_heads(train::Metrics& metrics, const nn::GPT& model,
               const std::vector<std::int64_t>& held_out, std::int64_t T) {
  nn::AttentionRecord record;
  const auto first = std::span(held_out).first(static_cast<std::size_t>(T));
  static_cast<void>(model(tensor(first, {1, T})));
  for (const nn::AttentionRecord::Head& head : record.heads()) {
    const std::string name = str_cat(head.layer, ".head", head.head);
    metrics.emplace_back(name + ".entropy", head.entropy);
    metrics.emplace_back(name + ".span", head.span);
    metrics.emplace_back(name + ".maximum", head.maximum);
  }
}

void advise(const GptFlags& flags, const train::Trainer& trainer, double bigram) {
  const double last = trainer.last(), rate = flags.learning_rate;
  if (last < bigram) return;
  const double guessing = std::log(static_cast<double>(flags.vocab));
  const bool rose = last > std::min(1.05 * trainer.best(), 1.01 * guessing);
  const double usual = flags.optimizer == "muon" ? flags.muon_rate : 1e-3,
               lower = rate > 30 * usual ? usual : rate / 4;
  const std::string what =
      rose ? str_cat("the loss rose; try --lr ", lower,
                     ", more steps for a longer warm-up, or --dropout against overfitting")
           : str_cat("try more steps (", io::grouped(4 * trainer.step()),
                     ") or another learning rate than --lr ", rate);
  std::fprintf(stderr, "gpt: the held-out loss ended above the bigram loss, at %.4f: %s\n", last,
               what.c_str());
}

void print_losses(const GptFlags& flags, const Corpus& corpus, const train::Trainer& trainer) {
  const Entropies known = entropies(corpus);
  std::printf("\nheld-out loss %.4f nats per %s (best, at step %lld)\n", trainer.best(),
              corpus.tokenizer->name().c_str(), static_cast<long long>(trainer.best_step()));
  std::printf(
      "for comparison: %.4f from token frequencies (unigram), %.4f given the previous token "
      "(bigram)\n",
      known.unigram, known.bigram);
  std::fflush(stdout);
  advise(flags, trainer, known.bigram);
}

}  // namespace

std::unique_ptr<optim::Optimizer> make_optimizer(const GptFlags& flags, const nn::GPT& model) {
  std::vector<nn::NamedTensor> learnt = model.parameters();
  std::erase_if(learnt, [](const nn::NamedTensor& each) { return !each.tensor.requires_grad(); });
  return make_optimizer(flags, optim::no_decay_on_1d(learnt, flags.weight_decay),
                        {0.9, flags.beta2});
}

optim::Schedule make_schedule(const GptFlags& flags) {
  return (flags.optimizer == "adamw" ? optim::warmup_cosine : optim::warmup_linear)(
      flags.warmup, flags.steps, flags.final_factor);
}

GptTask::GptTask(const GptFlags& flags, const Corpus& corpus, bool load)
    : model((seed(static_cast<std::uint64_t>(flags.seed)), flags.make_model(load))),
      optimizer(make_optimizer(flags, model)),
      schedule(make_schedule(flags)),
      options(options_for(flags, *corpus.tokenizer)),
      batches(corpus.training, flags.context, flags.batch, static_cast<std::uint64_t>(flags.seed)) {
}

distributed::BatchLoss GptTask::loss(std::int64_t step) const {
  const train::Batch batch = batches.at(step);
  return model.loss(batch.x, batch.y);
}

int run_training(const GptFlags& flags, const Corpus& corpus,
                 const std::function<void(const train::Trainer&)>& begun) {
  GptTask task(flags, corpus, !flags.resume);
  train::Trainer trainer(task.model, *task.optimizer, task.schedule, task.options);
  if (!flags.resume && flags.writes() && !flags.from.ends_with(".gguf"))
    io::save_tokenizer(flags.tokenizer_file(), *corpus.tokenizer);
  const auto evaluate = [&] {
    train::Metrics found{{"held_out_loss", mean_loss(task.model, corpus.held_out,
                                                     evaluation_batch(flags), flags.context)}};
    log_heads(found, task.model, corpus.held_out, flags.context);
    return found;
  };
  return flags.train(trainer, [&](std::int64_t step) { return task.loss(step); }, evaluate,
                     {.begun =
                          [&] {
                            if (begun) begun(trainer);
                          },
                      .finished = [&] { print_losses(flags, corpus, trainer); }});
}

TrainedModel load_trained(GptFlags& flags, const std::string& directory) {
  const bool theirs = io::is_pretrained(directory);
  if (!theirs) flags.load(directory);
  TrainedModel trained = theirs ? load_pretrained(flags, directory)
                                : TrainedModel{tokenizer_of_run(flags),
                                               std::make_unique<nn::GPT>(flags.make_model(false))};
  if (!theirs) load_best(*trained.model, flags.files());
  nn::pack(*trained.model, flags.precision(*trained.model));
  return trained;
}

double mean_loss(const nn::GPT& model, const std::vector<std::int64_t>& tokens, std::int64_t batch,
                 std::int64_t window) {
  const NoGrad off;
  const train::TokenBatches windows(tokens, window, batch, 0);
  double total = 0, count = 0;
  for (const train::Batch& each : windows.once()) {
    const double n = static_cast<double>(each.y.numel());
    total += model.loss(each.x, each.y).item() * n;
    count += n;
  }
  return total / count;
}

std::int64_t evaluation_batch(const GptFlags& flags) {
  return flags.architecture.empty() ? std::max<std::int64_t>(flags.batch, 32) : flags.batch;
}

}  // namespace gradus::examples
