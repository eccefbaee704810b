// A GPT that learns a text of the user.
#include <tuple>

#include "gradus/examples/play/lesson.h"
#include "gradus/examples/play/rhyme.h"
#include "gradus/gradus.h"

namespace gradus::play {
namespace {

class Language final : public Training {
 public:
  explicit Language(const Values& v)
      : tokenizer_(v.text("text")),
        model_((seed(v.integer<std::uint64_t>("seed")),
                nn::GPTOptions{.vocab = tokenizer_.vocab_size(),
                               .context = v.integer<int64_t>("context"),
                               .layers = v.integer<int64_t>("layers"),
                               .block = {.width = v.integer<int64_t>("width"),
                                         .heads = v.integer<int64_t>("heads"),
                                         .dropout = v.number("dropout")}})),
        batches_(tokenizer_.encode(v.text("text")), v.integer<int64_t>("context"),
                 v.integer<int64_t>("batch"), 1),
        optimizer_(model_.parameters(), {.lr = v.number("rate"), .weight_decay = 0.1}),
        prompt_(known_characters(v.text("prompt"), v.text("text"))) {
    std::printf("%s", model_.summary().c_str());
  }

  double step() override {
    const train::Batch batch = batches_.at(step_++);
    const Tensor loss = cross_entropy(model_(batch.x), batch.y);
    optimizer_.zero_grad();
    loss.backward();
    optimizer_.step({.clip_norm = 1});
    return loss.item();
  }

  /// Returns a continuation of the prompt, and the attention of all heads over it.
  nlohmann::json picture() override {
    const NoGrad not_recorded;
    model_.eval();
    nn::GPTDecoderState writer(model_);
    nn::Tokens ids = tokenizer_.encode(prompt_);
    const auto written =
        nn::generate(writer, {ids}, {.tokens = 120, .sampling = {.temperature = 0.8}},
                     RandomStream{2, 0}, [](int64_t, int64_t) { return true; });
    ids.insert(ids.end(), written[0].begin(), written[0].end());
    nlohmann::json maps = nlohmann::json::array();
    const int64_t T = std::min<int64_t>(std::ssize(ids), std::min<int64_t>(24, context()));
    const nn::Tokens shown(ids.begin(), ids.begin() + T);
    nn::AttentionRecord record;
    std::ignore = model_(tensor(shown, {1, T}));
    for (const auto& [layer, weights] : record.entries())
      maps.push_back(
          attention_map(layer, weights[0], tokenizer_.decode(shown), tokenizer_.decode(shown)));
    model_.train();
    return {{"sample", tokenizer_.decode(ids)}, {"attention", maps}};
  }

 private:
  int64_t context() const { return model_.options.context; }

  io::CharTokenizer tokenizer_;
  nn::GPT model_;
  train::TokenBatches batches_;
  optim::AdamW optimizer_;
  std::string prompt_;
  int64_t step_ = 0;
};

}  // namespace

Lesson lesson_18() {
  return {18,
          "Train a GPT",
          "",
          Dtype::f32,
          {{"gpt",
            "A GPT learns your text",
            {text("text", "text to learn from", kRhyme, 100'000),
             text("prompt", "text to continue", "The ", 32), integer("layers", "blocks", 2, 1, 4),
             integer("heads", "attention heads", 2, 1, 8), integer("width", "width", 64, 8, 128),
             integer("context", "context in characters", 32, 4, 256),
             integer("batch", "sequences per step", 8, 1, 64),
             number("rate", "learning rate", 1e-3, 0, 1),
             number("dropout", "dropout probability", 0, 0, 0.9),
             integer("seed", "random seed", 1, 0, 1e9)},
            nullptr,
            [](const Values& v) { return std::make_unique<Language>(v); },
            "gpt train FILE --layers {layers} --heads {heads} --width {width} --context {context} "
            "--batch {batch} --lr {rate} --dropout {dropout} --seed {seed}"}}};
}

}  // namespace gradus::play
