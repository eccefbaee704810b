// Compares reported metrics with a naive computation of their definitions.
#include <CLI/CLI.hpp>
#include <cmath>

#include "gradus/engine/base/random.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/examples/apps/classify/commands.h"
#include "gradus/examples/apps/classify/reader.h"
#include "gradus/examples/apps/gpt/training.h"
#include "gradus/examples/apps/listen/listener.h"
#include "gradus/examples/apps/listen/sounds.h"
#include "gradus/examples/apps/listen/spectrogram.h"
#include "gradus/examples/apps/recommend/ranking.h"
#include "gradus/examples/apps/recommend/recommender.h"
#include "gradus/examples/apps/translate/translation.h"
#include "gradus/examples/apps/vision/digits.h"
#include "gradus/io/checkpoint.h"
#include "gradus/io/safetensors.h"
#include "gradus/nn/models/vit.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/examples/applications.h"
#include "gradus/tests/examples/beside.h"
#include "gradus/tests/support/crashes.h"
#include "gradus/tests/support/naive.h"
#include "gradus/tests/support/thrown.h"
#include "gradus/train/metrics.h"

namespace gradus::testing::test_judged {
namespace {

using namespace examples;
using naive::numbers;
using Weights = std::map<std::string, Tensor>;

struct Judged {
  double loss = 0, accuracy = 0;
};

/// Returns −log p(right) for scores [V], and whether `right` has the highest score.
Judged judged(const std::vector<double>& scores, std::int64_t right) {
  double total = 0;
  for (const double score : scores) total += std::exp(score);
  const double mine = scores[static_cast<std::size_t>(right)];
  const auto first = std::max_element(scores.begin(), scores.end()) - scores.begin();
  return {std::log(total) - mine, first == right ? 1.0 : 0};
}

class Mean {
 public:
  void add(const Judged& one) { sum_.loss += one.loss, sum_.accuracy += one.accuracy, ++count_; }
  operator Judged() const { return {sum_.loss / count_, sum_.accuracy / count_}; }

 private:
  Judged sum_;
  double count_ = 0;
};

template <class Model>
Model with(Model model, const Weights& weights) {
  if (!weights.empty()) model.load_state_dict(weights);
  model.eval();
  return model;
}

template <class Scores>
Judged judge_examples(const Labelled& all, Scores scores) {
  Mean mean;
  const std::vector<std::int64_t> labels = all.y.to_vector<std::int64_t>();
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    mean.add(judged(numbers(scores(slice(all.x, 0, at, at + 1))), labels[i]));
  }
  return mean;
}

Judged judge_vision(const Workplace&, const Weights& weights, Part part) {
  const auto model = with(nn::VisionTransformer({.size = kSide,
                                                 .patch = 8,
                                                 .classes = kDigits,
                                                 .layers = 1,
                                                 .block = {.width = 8, .heads = 2}}),
                          weights);
  return judge_examples(draw_digits_of_test(500, seed_of(kSeed, part), 0),
                        [&](const Tensor& x) { return model(x); });
}

Judged judge_listen(const Workplace&, const Weights& weights, Part part) {
  const auto model = with(examples::Listener({.bands = kBands,
                                              .frames = (kSamples - kFrame) / kHop + 1,
                                              .classes = kSounds,
                                              .layers = 1,
                                              .heads = 2,
                                              .width = 8}),
                          weights);
  return judge_examples(make_sounds_of_test(500, seed_of(kSeed, part), 0),
                        [&](const Tensor& x) { return model(spectrogram(x)); });
}

Judged judge_recommend(const Workplace&, const Weights& weights, Part part) {
  const auto model =
      with(examples::Recommender(
               {.items = kItems, .context = kLength, .layers = 1, .heads = 2, .width = 8}),
           weights);
  Mean mean;
  for (History known : histories_of_test(300, kSeed)) {
    if (part == Part::validation) known.pop_back();
    const std::int64_t next = known.back();
    known.pop_back();
    const Tensor scores = select(model(tensor(known, {1, std::ssize(known)})), 1, -1);
    Judged one = judged(numbers(scores), next);
    one.accuracy = rank_of(next, numbers(scores)) <= kTop;
    mean.add(one);
  }
  return mean;
}

Judged judge_classify(const Workplace& here, const Weights& weights, Part part) {
  const WordList words = WordList::load((here.directory / "run/vocabulary.json").string());
  ClassifyFlags flags;
  flags.layers = 1, flags.heads = 2, flags.width = 8, flags.length = 6;
  Reader reader(flags.bert(words.size()));
  reader.load_state_dict(weights);
  reader.eval();
  const SnippetSource source(read_tree((here.directory / "tree").string()), part, words, 6);
  const Snippets all = source.some(part == Part::test ? 150 : 40);
  Mean mean;
  for (std::size_t i = 0; i < all.lengths.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const Tensor scores = reader.classifier(slice(all.ids, 0, at, at + 1), Ids{all.lengths[i]});
    mean.add(judged(numbers(scores), all.kinds.to_vector<std::int64_t>()[i]));
  }
  return mean;
}

nn::Translator translator(const Task& task, const Weights& weights) {
  return with(nn::Translator({.source_vocab = task.source.size(),
                              .target_vocab = task.target.size(),
                              .context = kContext,
                              .encoder_layers = 1,
                              .decoder_layers = 1,
                              .block = {.width = 8, .heads = 2}}),
              weights);
}

/// Returns means over all target tokens, including end tokens.
Judged judge_translate(const Workplace&, const Weights& weights, Part) {
  const Task task = make_task_of_test("dates", 40, kSeed);
  const nn::Translator model = translator(task, weights);
  Mean mean;
  for (const auto& [source, target] : pairs_of(task, task.validation)) {
    Ids input = {Vocabulary::kBegin}, output = target;
    input.insert(input.end(), target.begin(), target.end());
    output.push_back(Vocabulary::kEnd);
    const Tensor logits =
        model(tensor(source, {1, std::ssize(source)}), tensor(input, {1, std::ssize(input)}));
    for (std::size_t t = 0; t < output.size(); ++t)
      mean.add(judged(numbers(select(logits, 1, static_cast<std::int64_t>(t))), output[t]));
  }
  return mean;
}

/// Returns means over all tokens but the first. The model predicts each token from the window
/// before it.
Judged judge_gpt(const Workplace& here, const Weights& weights, Part) {
  CLI::App app;
  GptFlags flags(app);
  const TrainedModel trained = load_trained(flags, (here.directory / "run").string());
  trained.model->load_state_dict(weights);
  const Ids ids = trained.tokenizer->encode(contents(here.directory / "held_out.txt"));
  const std::int64_t context = flags.context;
  Mean mean;
  for (std::int64_t begin = 0; begin + 1 < std::ssize(ids); begin += context) {
    const std::int64_t n = std::min(context, std::ssize(ids) - 1 - begin);
    const Ids window(ids.begin() + begin, ids.begin() + begin + n);
    const Tensor logits = (*trained.model)(tensor(window, {1, n}));
    for (std::int64_t t = 0; t < n; ++t)
      mean.add(judged(numbers(select(logits, 1, t)), ids[static_cast<std::size_t>(begin + t + 1)]));
  }
  return mean;
}

std::string nothing(const Workplace&) { return ""; }

struct Way {
  Judged (*judge)(const Workplace&, const Weights&, Part);
  std::string judge_by, summary;  // metric that selects the best weights; summary line
  std::string (*beside)(const Workplace&) = nothing;  // summary lines of baselines
};
const std::map<std::string, Way> kWays = {
    {"gpt", {judge_gpt, "held_out_loss", "loss %.4f nats"}},
    {"translate", {judge_translate, "held_out_loss", ""}},
    {"recommend", {judge_recommend, "held_out_loss", "the model %.3f", beside_recommend}},
    {"classify", {judge_classify, "accuracy", "BERT, pre-trained %.3f", beside_classify}},
    {"listen", {judge_listen, "accuracy", "convolution and attention %.3f", beside_listen}},
    {"vision", {judge_vision, "accuracy", "vision Transformer %.3f", beside_vision}}};

Weights last_of(const Workplace& here) {
  Weights weights;
  for (const auto& [name, tensor] :
       io::load_checkpoint((here.directory / "run/checkpoint.safetensors").string()).tensors)
    if (name.starts_with("model.")) weights[name.substr(6)] = tensor;
  return weights;
}

Weights best_of(const Workplace& here) {
  return io::load_safetensors((here.directory / "run/model.safetensors").string()).tensors;
}

Weights drawn_like(const Weights& weights) {
  seed(1);
  Weights drawn;
  for (const auto& [name, tensor] : weights) drawn[name] = 0.5 * randn(tensor.shape());
  return drawn;
}

std::string squeezed(const std::string& text) {
  std::string out;
  for (const char c : text)
    if (c != ' ' || (!out.empty() && out.back() != ' ')) out += c;
  return out;
}

std::string summary_of(const Way& way, const Judged& judged) {
  char line[100];
  const double number =
      way.summary.find("loss") == std::string::npos ? judged.accuracy : judged.loss;
  std::snprintf(line, sizeof line, way.summary.c_str(), number);
  return line;
}

TEST_CASE("metrics are means per example or token, and the summary reports the best step") {
  const Watching quick;
  bool apart = false;
  for (const Application& app : applications()) {
    INFO(app.name << " " << app.flags);
    const Workplace here;
    asked.clear();
    const Outcome outcome = app.train(here, "run");
    CAPTURE(outcome.err, outcome.out);
    REQUIRE(outcome.code == 0);
    if (!asked.empty()) {  // the last training request is for logistic regression
      std::vector<std::pair<Part, std::int64_t>> wanted = {{Part::validation, 0}};
      for (std::int64_t step = 0; step < 6; ++step) wanted.emplace_back(Part::training, step);
      wanted.emplace_back(Part::training, 0), wanted.emplace_back(Part::test, 0);
      CHECK(asked == wanted);
    }
    CHECK(has(squeezed(outcome.out), kWays.at(app.name).beside(here)));
    const Way& way = kWays.at(app.name);
    const auto judge = [&](const Weights& weights, Part part) {
      const NoGrad off;
      return way.judge(here, weights, part);
    };
    const std::string log = (here.directory / "run/metrics.jsonl").string();
    // f32 sums of tens of terms near 1 have a relative error of 1e-6, and chained sums 1e-5. A mean
    // over batches of different sizes would be wrong by 1e-3 or more.
    const auto near = [](double a, double b) { return std::abs(a - b) < 1e-5 * (1 + std::abs(b)); };
    const Judged last = judge(last_of(here), Part::validation),
                 best = judge(best_of(here), Part::validation);
    CHECK(near(train::read_metric(log, "held_out_loss").back().second, last.loss));
    const bool by_loss = way.judge_by == "held_out_loss";
    double record = by_loss ? 1e9 : -1;
    for (const auto& [step, value] : train::read_metric(log, way.judge_by))
      record = by_loss ? std::min(record, value) : std::max(record, value);
    CHECK(near(record, by_loss ? best.loss : best.accuracy));
    if (app.main == gpt_main)  // eval prints only the loss
      CHECK(("loss " + app.run(here, "eval run held_out.txt").out)
                .starts_with(summary_of(way, best)));
    if (way.summary.empty()) continue;
    const std::string final = summary_of(way, judge(best_of(here), Part::test));
    INFO(final);
    CHECK(has(squeezed(outcome.out), final));
    if (app.main == gpt_main) {  // gpt's summary contains the best evaluation
      apart = apart || summary_of(way, best) != summary_of(way, last);
      continue;
    }
    const Weights others = drawn_like(best_of(here));
    io::save_safetensors((here.directory / "run/model.safetensors").string(), others);
    const Outcome again = app.run(here, "train --out run --resume");
    const std::string other = summary_of(way, judge(others, Part::test));
    INFO(again.out << other);
    CHECK(has(squeezed(again.out), other));
    CHECK(again.out != outcome.out);
  }
  CHECK(apart);  // the best and the last weights have different summaries
}

std::vector<std::string> plainly_translated(const nn::Translator& model, const Task& task,
                                            const std::vector<Example>& examples) {
  const NoGrad off;
  std::vector<std::string> out;
  for (const auto& [source, target] : pairs_of(task, examples)) {
    Ids ids = {Vocabulary::kBegin};
    for (std::int64_t i = 0; i < kLongest && ids.back() != Vocabulary::kEnd; ++i) {
      const Tensor logits =
          model(tensor(source, {1, std::ssize(source)}), tensor(ids, {1, std::ssize(ids)}));
      ids.push_back(argmax(flatten(select(logits, 1, -1)), 0).to_vector<std::int64_t>()[0]);
    }
    out.push_back(task.target.decode(ids));
  }
  return out;
}

TEST_CASE("the summary of translate reports the best weights on the test examples") {
  const Watching quick;
  const Application& app = *std::find_if(applications().begin(), applications().end(),
                                         [](auto& each) { return each.main == translate_main; });
  const Workplace here;
  REQUIRE(app.train(here, "run").code == 0);
  const Task task = make_task_of_test("dates", 40, kSeed);
  seed(8);  // a seed that the run does not use
  const nn::Translator kept = translator(task, {});
  io::save_safetensors((here.directory / "run/model.safetensors").string(), kept.state_dict());
  translations_wanted[Part::test] = plainly_translated(kept, task, task.test);
  const Outcome again = app.run(here, "train --out run --resume");
  const Outcome evaluated = app.run(here, "eval run");
  translations_wanted.clear();
  CHECK(has(again.out, "100.0 % of 40 exactly right"));
  CHECK(has(evaluated.out, "100.0 % of 40 exactly right"));

  // During training, translate evaluates the current weights on the validation part.
  translations_wanted[Part::validation] =
      plainly_translated(translator(task, last_of(here)), task, task.validation);
  const Outcome exact = app.train(here, "exact");
  translations_wanted.clear();
  CHECK(exact.code == 0);
  const auto found =
      train::read_metric((here.directory / "exact/metrics.jsonl").string(), "held_out_exact");
  CHECK(found.back().second == 1);
}

TEST_CASE("the second phase of classify begins with the weights of the first") {
  const Watching quick;
  for (const Application& app : applications()) {
    if (app.main != classify_main) continue;
    const Workplace here;
    // Only the last of three steps belongs to the second phase. Its learning rate is too small to
    // change a weight.
    REQUIRE(app.run(here,
                    "train --threads 1 --layers 1 --heads 2 --width 8 --pretrain 2 --steps 1 "
                    "--lr 1e-30 --length 6 --tree tree --out run")
                .code == 0);
    const Weights weights = last_of(here);
    int compared = 0;
    for (const auto& [name, tensor] : weights) {
      if (!name.starts_with("classifier.bert.")) continue;
      const std::vector<double> now = numbers(tensor),
                                before = numbers(weights.at("language" + name.substr(10)));
      for (std::size_t i = 0; i < now.size(); ++i) CHECK(std::abs(now[i] - before[i]) < 1e-20);
      ++compared;
    }
    CHECK(compared > 10);
  }
}

}  // namespace
}  // namespace gradus::testing::test_judged
