#include "commands.h"

#include <algorithm>
#include <cstdio>

#include "gradus/engine/base/random.h"
#include "gradus/examples/apps/support/optimizer.h"
#include "gradus/examples/apps/support/run.h"
#include "gradus/io/text.h"
#include "gradus/ops/loss.h"
#include "translation.h"

namespace gradus::examples {
namespace {

nn::Translator model_for(const TranslateFlags& flags, const Task& task) {
  return nn::Translator(
      {.source_vocab = task.source.size(),
       .target_vocab = task.target.size(),
       .context = kContext,
       .encoder_layers = flags.layers,
       .decoder_layers = flags.layers,
       .block = {.width = flags.width, .heads = flags.heads, .dropout = flags.dropout}});
}

Tensor loss_of(const nn::Translator& model, const train::PairBatch& batch) {
  const Tensor logits = model(batch.source.ids, batch.input.ids, batch.source.lengths);
  return cross_entropy(logits, batch.output, {.ignore_index = 0});  // [B, T, V], [B, T]
}

train::Metrics metrics_of(const nn::Translator& model, const Task& task,
                          const train::PairBatches& validation) {
  double total = 0, tokens = 0;
  for (const train::PairBatch& batch : validation.once()) {
    total += loss_of(model, batch).item() * static_cast<double>(batch.tokens);
    tokens += static_cast<double>(batch.tokens);
  }
  const double right = exact(task.validation, translations(model, task, task.validation));
  return {{"held_out_loss", total / tokens}, {"held_out_exact", right}};
}

struct Trained {
  Task task;
  nn::Translator model;
};
enum class Examples { as_trained, not_needed };
Trained load_trained(TranslateFlags& flags, const std::string& directory, Examples examples) {
  flags.load(directory);
  const bool all = examples == Examples::as_trained;
  Task task = make_task(flags.task, all ? flags.examples : 1, flags.seed);
  nn::Translator model = model_for(flags, task);
  load_best(model, flags.files());
  return {std::move(task), std::move(model)};
}

void print_accuracy(const Task& task, const std::vector<std::string>& found) {
  std::vector<std::string> plain;
  for (const Example& each : task.test) plain.push_back(task.baseline(each.source));
  std::printf("%s: %.1f %% of %zu exactly right; held out: %s\n", task.name.c_str(),
              100 * exact(task.test, found), task.test.size(), task.held_out.c_str());
  std::printf("for comparison: %.1f %% by %s\n", 100 * exact(task.test, plain),
              task.baseline_name.c_str());
}

}  // namespace

void TranslateFlags::check(const Judge& judge) const {
  ModelFlags::check(judge);
  judge.require(task == "dates" || task == "sentences", "task", io::quote(task),
                ": must be dates or sentences");
}

Need TranslateFlags::need() const {  // without Need::step, because texts are short
  Need need = transformer(0, 0, 0);
  need.parameters *= 2;  // encoder and decoder
  need.data = static_cast<double>(examples * 2 * std::int64_t{sizeof(Example)});
  return need;
}

int train(TranslateFlags& flags) {
  const DirectoryLock lock = flags.begin();
  const Task task = make_task(flags.task, flags.examples, flags.seed);
  const train::PairBatches pairs(pairs_of(task, task.training), flags.batch,
                                 static_cast<std::uint64_t>(flags.seed));
  const train::PairBatches validation(pairs_of(task, task.validation), 128, 0);
  seed(static_cast<std::uint64_t>(flags.seed));
  nn::Translator model = model_for(flags, task);
  const auto optimizer = make_optimizer(flags, {{model.parameters()}});
  train::TrainOptions options = flags.options();
  options.items_per_step = flags.batch;
  options.item = "pair";
  options.loss_unit = "nats per " + task.target.unit();
  train::Trainer trainer(model, *optimizer,
                         optim::warmup_cosine(flags.steps / 10, flags.steps, 0.02), options);
  say("task", task.what, "; for example");
  say("", task.training[0].source, " -> ", task.training[0].target);
  say("model", io::grouped(model.parameter_count()), " parameters, ", io::grouped(flags.steps),
      " steps of ", flags.batch, " out of ", io::grouped(flags.examples), " pairs");
  const int code = flags.train(
      trainer,
      [&](std::int64_t i) {
        const train::PairBatch batch = pairs.at(i);
        return train::BatchLoss(loss_of(model, batch), batch.tokens);
      },
      [&] { return metrics_of(model, task, validation); });
  if (code != 0) return code;
  load_best(model, flags.files());
  print_accuracy(task, translations(model, task, task.test));
  return 0;
}

int translate(TranslateFlags& flags, const std::string& directory,
              const std::vector<std::string>& texts, std::int64_t beams) {
  Judge().number("beams", beams);
  const Trained trained = load_trained(flags, directory, Examples::not_needed);
  std::vector<Ids> sources;  // encoded before any output
  for (const std::string& text : texts) sources.push_back(encoded(trained.task.source, text));
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::printf("%s\n", texts[i].c_str());
    for (const nn::Beam& beam : best_translations(trained.model, sources[i], beams)) {
      std::printf("  %s", trained.task.target.decode(beam.tokens).c_str());
      std::printf(beams > 1 ? "   %.3f\n" : "\n", beam.score);
    }
  }
  return 0;
}

int evaluate(TranslateFlags& flags, const std::string& directory) {
  constexpr int kShown = 5;
  const Trained trained = load_trained(flags, directory, Examples::as_trained);
  const std::vector<Example>& test = trained.task.test;
  const std::vector<std::string> found = translations(trained.model, trained.task, test);
  print_accuracy(trained.task, found);
  int wrong = 0;
  for (std::size_t i = 0; i < test.size() && wrong < kShown; ++i) {
    if (found[i] == test[i].target) continue;
    if (wrong++ == 0) std::printf("\nexamples of wrong translations\n");
    std::printf("  %s\n    found  %s\n    right  %s\n", test[i].source.c_str(), found[i].c_str(),
                test[i].target.c_str());
  }
  return 0;
}

}  // namespace gradus::examples
