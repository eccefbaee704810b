// The first --pretrain steps train on masked words, the other steps on classification.
#include <cstdio>

#include "commands.h"
#include "gradus/engine/base/error.h"
#include "gradus/engine/base/random.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/examples/apps/support/optimizer.h"
#include "gradus/examples/apps/support/run.h"
#include "gradus/io/text.h"
#include "gradus/ops/loss.h"
#include "reader.h"

namespace gradus::examples {
namespace {

constexpr std::int64_t kValidation = 40, kTest = 150;  // snippets per type
constexpr std::int64_t kForLogistic = 4000;            // training snippets

struct Texts {
  Texts(const ClassifyFlags& flags, const std::vector<SourceFile>& files)
      : digest(digest_of(files)),
        vocabulary(flags.resume ? WordList::load(flags.vocabulary_file())
                                : WordList::of(training_texts(files), flags.vocabulary)),
        training(files, Part::training, vocabulary, flags.length),
        validation(files, Part::validation, vocabulary, flags.length),
        test(files, Part::test, vocabulary, flags.length) {}

  static std::vector<std::string> training_texts(const std::vector<SourceFile>& files) {
    std::vector<std::string> texts;
    for (const SourceFile& file : files)
      if (file.part == Part::training) texts.push_back(file.text);
    return texts;
  }

  std::string digest;
  WordList vocabulary;
  SnippetSource training, validation, test;
};

/// Returns a schedule with a warm-up and a decay to 0 in each phase.
optim::Schedule two_lessons(std::int64_t pretrain, std::int64_t steps) {
  const optim::Schedule second = optim::warmup_linear(steps / 10, steps);
  if (pretrain == 0) return [=](std::int64_t step) { return 0.5 * second(step); };
  const optim::Schedule first = optim::warmup_linear(pretrain / 10, pretrain);
  return [=](std::int64_t step) {
    return step < pretrain ? first(step) : 0.5 * second(step - pretrain);
  };
}

Tensor scores_of(const Reader& reader, const Snippets& snippets) {
  const NoGrad off;
  return reader.scores(snippets);
}

void print_comparison(const Reader& reader, const ClassifyFlags& flags, const Texts& texts) {
  const Snippets test = texts.test.some(kTest);
  const std::int64_t words = texts.vocabulary.size();
  const Snippets known = texts.training.draw(kForLogistic, {seed_of(flags.seed, Part::test), 0, 0});
  const Labelled known_bags{bags_of(known, words), known.kinds};
  const Labelled test_bags{bags_of(test, words), test.kinds};
  std::printf("accuracy on %zu snippets of held-out files\n", test.lengths.size());
  print_accuracies(
      {{"majority", majority_accuracy(test_bags, test_bags)},
       {"logistic regression on bags of words", logistic_accuracy(known_bags, test_bags, kKinds)},
       {flags.pretrain > 0 ? "BERT, pre-trained" : "BERT, not pre-trained",
        accuracy(scores_of(reader, test), test.kinds)}});
  if (flags.pretrain == 0) return;
  const FilledIn filled = fill_in(reader, test);
  std::printf("accuracy on masked words of those snippets\n");
  print_accuracies({{"the most frequent", filled.most_frequent}, {"BERT", filled.right}});
}

/// Checks that a resumed run has the same texts.
void keep_digest(train::Trainer& trainer, const ClassifyFlags& flags, const std::string& digest) {
  trainer.keep([digest](io::Checkpoint& checkpoint) { checkpoint.facts["texts"] = digest; },
               [&flags, digest](const io::Checkpoint& checkpoint) {
                 const auto at = checkpoint.facts.find("texts");
                 require<FileError>(at != checkpoint.facts.end() && at->second == digest, flags.out,
                                    ": the files below ", flags.tree,
                                    " have changed since the run began; restore them, or start a "
                                    "new run");
               });
}

train::TrainOptions options_of(const ClassifyFlags& flags) {
  train::TrainOptions options = flags.options();
  options.steps = flags.pretrain + flags.steps;
  options.judge = "accuracy";
  options.higher_is_better = true;
  options.items_per_step = flags.batch;
  options.item = "snippet";
  options.loss_unit = "nats per masked word, then per snippet";
  return options;
}

int train(const ClassifyFlags& flags, const Texts& texts, Reader& reader) {
  const auto optimizer = make_optimizer(flags, {{reader.parameters()}}, {0.9, 0.999});
  optimizer->warn_params_without_grad(false);  // each phase trains some parameters
  train::Trainer trainer(reader, *optimizer, two_lessons(flags.pretrain, flags.steps),
                         options_of(flags));
  keep_digest(trainer, flags, texts.digest);
  const Snippets validation = texts.validation.some(kValidation);
  const auto seed = static_cast<std::uint64_t>(flags.seed);
  const auto draw = [&](std::int64_t step) -> RandomStream {
    return {seed, static_cast<std::uint32_t>(step), 0};
  };
  std::int64_t begun = 0;  // latest step of the second phase
  const auto loss_of = [&](std::int64_t i) -> train::BatchLoss {
    const std::int64_t step = i / flags.shards;
    const bool fills_in = step < flags.pretrain;
    const Snippets batch = texts.training.draw(
        flags.batch, draw(2 * i),
        fills_in ? SnippetSource::Evenly::among_lines : SnippetSource::Evenly::among_kinds);
    if (fills_in) return reader.masked_loss(batch, draw(2 * i + 1));
    if (step == flags.pretrain && step > begun) reader.begin_to_classify();
    begun = std::max(begun, step);
    return cross_entropy(reader.scores(batch), batch.kinds);
  };
  const auto evaluate = [&] {
    const Tensor scores = reader.scores(validation);
    const Tensor loss = trainer.step() <= flags.pretrain
                            ? reader.masked_loss(validation, draw(0)).mean
                            : cross_entropy(scores, validation.kinds);
    return train::Metrics{{"held_out_loss", loss.item()},
                          {"accuracy", accuracy(scores, validation.kinds)}};
  };
  return flags.train(trainer, loss_of, evaluate);
}

}  // namespace

int learn(ClassifyFlags& flags) {
  std::vector<SourceFile> files;
  if (!flags.resume) {
    flags.judge(Judge());
    files = read_tree(flags.tree);  // throws before anything is written
  }
  const DirectoryLock lock = flags.begin();
  if (flags.resume) files = read_tree(flags.tree);
  const Texts texts(flags, files);
  if (!flags.resume && flags.writes()) texts.vocabulary.save(flags.vocabulary_file());
  seed(static_cast<std::uint64_t>(flags.seed));
  Reader reader(flags.bert(texts.vocabulary.size()));
  say("texts", files.size(), " files below ", flags.tree, ", ", texts.vocabulary.size(),
      " words in the vocabulary");
  say("training", io::grouped(reader.language.parameter_count()), " parameters, ", flags.pretrain,
      " steps on masked words, then ", flags.steps, " on file types");
  const int code = train(flags, texts, reader);
  if (code != 0) return code;
  load_best(reader, flags.files());
  print_comparison(reader, flags, texts);
  return 0;
}

}  // namespace gradus::examples
