// Lesson 15 in the playground.
#include <tuple>
#include "15_transformer.cpp"

#include "gradus/examples/play/lesson.h"

namespace gradus::play {
namespace {

class Backwards final : public Training {
 public:
  explicit Backwards(const Values& v)
      : longest_(v.integer("longest")),
        model_((seed(1), nn::TranslatorOptions{.source_vocab = kLetters,
                                               .target_vocab = kEnd + 1,
                                               .context = kLongest + 1,
                                               .encoder_layers = 1,
                                               .decoder_layers = 1,
                                               .block = {.width = 32, .heads = 1}})),
        optimizer_(model_.parameters(), {.lr = v.number("lr")}),
        rate_(optim::warmup_cosine(50, v.integer<std::int64_t>("steps"), 0.01)) {
    std::printf("%s", model_.summary().c_str());
  }

  double step() override {
    const int step = step_++;
    return train_step(model_, optimizer_, draw(32, 3 + step % (longest_ - 2)), rate_(step));
  }

  /// Returns the attention of the decoder for a word, and the accuracy for words of `longest`
  /// letters.
  nlohmann::json picture() override {
    const NoGrad not_recorded;
    Generator own(3);
    const GeneratorScope scope(own);
    const Words words = draw(1, longest_);
    nn::AttentionRecord record;
    std::ignore = model_(words.source, words.given);
    const Tensor weights = record.weights("blocks.0.cross_attention")[0];  // [H 1, T, S]
    model_.eval();
    const double right = accuracy(model_, longest_);
    model_.train();
    return {{"attention",
             nlohmann::json::array({attention_map(
                 "cross-attention", weights, spell(words.wanted[0]), spell(words.source[0]))})},
            {"accuracy", right}};
  }

 private:
  int longest_;
  nn::Translator model_;
  optim::Adam optimizer_;
  optim::Schedule rate_;
  int step_ = 0;
};

}  // namespace

Lesson lesson_15() {
  return {15,
          "An encoder and a decoder",
          "examples/15_transformer.cpp",
          Dtype::f32,
          {{"transformer",
            "Learn to write words backwards",
            {integer("longest", "letters of the longest word", 7, 3, 7),
             integer("steps", "length of the schedule in steps", 1200, 51, 10'000),
             number("lr", "learning rate", 5e-3, 0, 1)},
            nullptr,
            [](const Values& v) { return std::make_unique<Backwards>(v); },
            "transformer({steps}, {longest}, {lr});"}}};
}

}  // namespace gradus::play
