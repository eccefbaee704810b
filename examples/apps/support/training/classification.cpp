#include "classification.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "gradus/engine/grad_mode.h"
#include "gradus/examples/apps/support/optimizer.h"
#include "gradus/examples/apps/support/run.h"
#include "gradus/nn/init.h"
#include "gradus/nn/linear.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/loss.h"
#include "gradus/ops/members.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/ops/softmax.h"
#include "gradus/ops/sort.h"
#include "gradus/train/optim/optim.h"

namespace gradus::examples {
namespace {

constexpr std::int64_t kValidation = 500;
constexpr std::int64_t kForLogistic = 2;   // training examples per test example
constexpr std::int64_t kSideBySide = 250;  // rows per batch

Tensor scores_of(const Classification& task, const Tensor& x) {
  const NoGrad off;
  std::vector<Tensor> parts;
  for (const Tensor& part : split(x, kSideBySide)) parts.push_back(task.scores(part));
  return cat(parts);  // [N, classes]
}

void print_comparison(const Classification& task, std::int64_t tested) {
  const Labelled known = task.make(kForLogistic * tested, Part::training, 0);
  const Labelled test = task.make(tested, Part::test, 0);
  std::printf("accuracy on %lld test examples\n", static_cast<long long>(tested));
  print_accuracies({{"majority", majority_accuracy(known, test)},
                    {"logistic regression on " + task.features_name,
                     logistic_accuracy({task.features(known.x), known.y},
                                       {task.features(test.x), test.y}, task.classes)},
                    {task.model_name, accuracy(scores_of(task, test.x), test.y)}});
}

}  // namespace

std::uint64_t seed_of(std::int64_t seed, Part part) {
  return static_cast<std::uint64_t>(seed) + (static_cast<std::uint64_t>(part) << 62);
}

void ClassifierFlags::add_to(CLI::App& app) {
  ModelFlags::add_to(app);
  setting(app, "--tested", &tested, "test examples for the final accuracy");
}

Need ClassifierFlags::classifier(double tokens, double numbers) const {
  Need need = transformer(tokens, tokens, 0);
  const auto known = static_cast<double>(batch + (1 + kForLogistic) * tested);
  need.data = 4 * numbers * known;
  return need;
}

int train_classifier(const ClassifierFlags& flags, nn::Module& model, const Classification& task) {
  const auto optimizer = make_optimizer(flags, {{model.parameters()}}, {0.9, 0.999});
  train::TrainOptions options = flags.options();
  options.judge = "accuracy";
  options.higher_is_better = true;
  options.items_per_step = flags.batch;
  options.item = "example";
  options.loss_unit = "nats per example";
  train::Trainer trainer(model, *optimizer, optim::warmup_cosine(flags.steps / 20, flags.steps, 0),
                         options);
  const Labelled validation = task.make(kValidation, Part::validation, 0);
  const auto loss_of = [&](std::int64_t step) {
    const Labelled batch = task.make(flags.batch, Part::training, step);
    return cross_entropy(task.scores(batch.x), batch.y);
  };
  const auto evaluate = [&] {
    const Tensor scores = scores_of(task, validation.x);
    return train::Metrics{{"held_out_loss", cross_entropy(scores, validation.y).item()},
                          {"accuracy", accuracy(scores, validation.y)}};
  };
  say("training", model.parameter_count(), " parameters, ", flags.steps, " steps of ", flags.batch,
      " examples");
  const int code = flags.train(trainer, loss_of, evaluate);
  if (code != 0) return code;
  load_best(model, flags.files());
  print_comparison(task, flags.tested);
  return 0;
}

double accuracy(const Tensor& scores, const Tensor& y) {
  const std::vector<std::int64_t> guess = argmax(scores, 1).to_vector<std::int64_t>();
  const std::vector<std::int64_t> label = y.to_vector<std::int64_t>();
  std::int64_t right = 0;
  for (std::size_t i = 0; i < label.size(); ++i) right += guess[i] == label[i];
  return static_cast<double>(right) / static_cast<double>(label.size());
}

double majority_accuracy(const Labelled& training, const Labelled& test) {
  std::vector<std::int64_t> known = training.y.to_vector<std::int64_t>(),
                            asked = test.y.to_vector<std::int64_t>();
  std::int64_t best = 0, most = 0;
  for (const std::int64_t each : known) {
    const std::int64_t n = std::count(known.begin(), known.end(), each);
    if (n > most || (n == most && each < best)) {
      most = n;
      best = each;
    }
  }
  return static_cast<double>(std::count(asked.begin(), asked.end(), best)) /
         static_cast<double>(asked.size());
}

double logistic_accuracy(const Labelled& training, const Labelled& test, std::int64_t classes) {
  constexpr int kSteps = 300;
  const Tensor raw = flatten(training.x, 1);                            // [N, F]
  const Tensor centre = mean(raw, {0}), spread = std(raw, {0}) + 1e-3;  // [F]
  const Tensor x = (raw - centre) / spread;                             // [N, F]
  nn::Linear model(x.size(1), classes);
  nn::init::zeros_(model.weight);
  nn::init::zeros_(model.bias);
  optim::AdamW optimizer(model.parameters(), {.lr = 1e-2, .weight_decay = 0.1});
  for (int step = 0; step < kSteps; ++step) {
    const Tensor loss = cross_entropy(model(x), training.y);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step({.factor = 1 - static_cast<double>(step) / kSteps});
  }
  const NoGrad off;
  return accuracy(model((flatten(test.x, 1) - centre) / spread), test.y);
}

void print_accuracies(const std::vector<std::pair<std::string, double>>& rows) {
  std::size_t longest = 0;
  for (const auto& [name, value] : rows) longest = std::max(longest, name.size());
  for (const auto& [name, value] : rows)
    std::printf("  %-*s  %.3f\n", static_cast<int>(longest), name.c_str(), value);
}

std::vector<std::pair<std::int64_t, double>> ranked(const Tensor& scores) {
  const std::vector<double> share = softmax(flatten(scores).to(Dtype::f64)).to_vector<double>();
  std::vector<std::pair<std::int64_t, double>> all;
  for (const double each : share) all.emplace_back(std::ssize(all), each);
  std::stable_sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.second > b.second; });
  return all;
}

}  // namespace gradus::examples
