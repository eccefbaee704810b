// Lesson 00 in the playground: a GPT with its own engine, so nothing is traced.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "gradus/examples/play/lesson.h"
#include "gradus/examples/play/rhyme.h"

namespace gradus::play {
namespace nano {  // main.cpp includes only the standard headers above
#include "00_nano.cpp"
}  // namespace nano

namespace {

constexpr std::size_t kHeadWidth = 32;

class Nano final : public Training {
 public:
  explicit Nano(const Values& v)
      : model_({.vocab = 256,
                .layers = v.integer<std::size_t>("layers"),
                .heads = v.integer<std::size_t>("heads"),
                .width = v.integer<std::size_t>("heads") * kHeadWidth}) {
    for (const char byte : v.text("text")) text_.push_back(static_cast<unsigned char>(byte));
    if (text_.size() <= model_.options.context)
      throw FieldError("text", str_cat("must have more than ", model_.options.context, " bytes"));
    optimizer_.lr = v.number("rate");
    nano::tape.clear();  // a step that ran out of memory leaves its backward passes
    std::size_t parameters = 0;
    for (const nano::Tensor& x : model_.parameters) parameters += x.size;
    std::printf("a GPT with %zu parameters\n", parameters);
  }

  double step() override { return nano::train_step(model_, optimizer_, text_); }

  nlohmann::json picture() override {
    nano::GPT writer = model_;  // shares the weights, but draws its own random numbers
    std::string sample;
    for (const std::size_t byte : nano::write(writer, 100))
      sample += byte < ' ' ? '\n' : static_cast<char>(byte);
    return {{"sample", sample.substr(1)}};  // without the line break from which it starts
  }

 private:
  nano::Ids text_;
  nano::GPT model_;
  nano::AdamW optimizer_;
};

}  // namespace

Lesson lesson_00() {
  return {0,
          "A GPT in one file",
          "",
          Dtype::f64,
          {{.name = "nano",
            .title = "A GPT learns your text, byte by byte",
            .fields = {text("text", "text to learn from", kRhyme, 100'000),
                       integer("layers", "blocks", 2, 1, 3),
                       integer("heads", "attention heads, each 32 wide", 2, 1, 4),
                       number("rate", "learning rate", 2e-3, 0, 1)},
            .train = [](const Values& v) { return std::make_unique<Nano>(v); },
            .call = "g++ -std=c++20 -O3 examples/nano/main.cpp -o nano && ./nano FILE",
            .untraced = "There are no operations to step through: this GPT has its own engine in "
                        "examples/nano/main.cpp, which the library's recorder does not see."}}};
}

}  // namespace gradus::play
