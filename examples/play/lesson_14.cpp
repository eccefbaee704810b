// Lesson 14 in the playground.
#include "14_tiny_gpt.cpp"
#include "gradus/examples/play/lesson.h"
#include "gradus/examples/play/rhyme.h"

namespace gradus::play {
namespace {

/// One of the four models in training.
template <class Model>
class Stage final : public Training {
 public:
  Stage(const Values& v, Model (*make)(std::int64_t vocab))
      : text_(v.text("text")),
        start_(known_characters("The ", v.text("text"))),
        model_((seed(1), make(text_.tokenizer.vocab_size()))),
        batches_(text_.training, kContext, kBatch, 1),
        optimizer_(model_.parameters(), {.lr = v.number("rate")}),
        schedule_(optim::warmup_cosine(v.integer<std::int64_t>("steps") / 20,
                                       v.integer<std::int64_t>("steps"), 0)) {
    std::printf("%s", model_.summary().c_str());
  }

  double step() override {
    const std::int64_t step = step_++;
    return train_step(model_, optimizer_, batches_.at(step), schedule_(step));
  }

  nlohmann::json picture() override {
    seed(2);
    return {{"sample", sample(model_, text_, start_)}};
  }

 private:
  Text text_;
  std::string start_;
  Model model_;
  train::TokenBatches batches_;
  optim::AdamW optimizer_;
  optim::Schedule schedule_;
  std::int64_t step_ = 0;
};

template <class Model>
Part stage_part(const char* name, const char* title, const char* model, double rate,
                Model (*make)(std::int64_t vocab)) {
  return {name,
          title,
          {text("text", "text to learn from", kRhyme, 100'000),
           integer("steps", "length of the schedule in steps", 500, 20, 10'000),
           number("rate", "learning rate", rate, 0, 1)},
          nullptr,
          [make](const Values& v) { return std::make_unique<Stage<Model>>(v, make); },
          str_cat("const Text text(io::read_text(FILE));\n  seed(1);\n  stage(\"", name, "\", ",
                  model, "(text.tokenizer.vocab_size()), {rate}, text, {steps});")};
}

template <class Model>
Model made(std::int64_t vocab) {
  return Model(vocab);
}

}  // namespace

Lesson lesson_14() {
  return {
      14,
      "From bigrams to a tiny GPT",
      "examples/14_tiny_gpt.cpp",
      Dtype::f32,
      {stage_part("bigram", "A table of pairs", "Bigram", 0.1, &made<Bigram>),
       stage_part("average", "The average of what came before", "Average", 0.01, &made<Average>),
       stage_part("attention", "Attention instead of the average", "Attention", 0.01,
                  &made<Attention>),
       stage_part("gpt", "Two blocks: a GPT", "gpt", 0.005, &::gpt)}};
}

}  // namespace gradus::play
