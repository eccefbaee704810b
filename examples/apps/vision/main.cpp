// vision: a Transformer that classifies rotated, slanted, shifted and noisy digits.
//
//   vision train                          trains in half a minute, into runs/vision
//   vision look runs/vision --digit 7     draws a 7, classifies it, and shows the attention
//   vision look runs/vision FILE.npy      the same for a file
#include <CLI/CLI.hpp>
#include <cstdio>

#include "digits.h"
#include "gradus/examples/apps/support/program.h"
#include "gradus/examples/apps/support/run.h"
#include "gradus/examples/apps/support/run_flags.h"
#include "gradus/examples/apps/support/training/classification.h"
#include "gradus/nn/models/vit.h"
#include "gradus/ops/create.h"
#include "picture.h"

namespace gradus::examples {
namespace {

struct Flags : ClassifierFlags {
  std::int64_t patch = 6;
  Flags() : ClassifierFlags("vision") {
    steps = 2000;
    batch = 64;
    learning_rate = 2e-3;
    layers = 3;
  }
  void add_to(CLI::App& app) {
    ClassifierFlags::add_to(app);
    setting(app, "--patch", &patch, "side of a patch in pixels; must divide 24");
  }
  void check(const Judge& judge) const override {
    ClassifierFlags::check(judge);
    judge.require(kSide % patch == 0, "patch", patch, ": must divide ", kSide);
  }
  Need need() const override {
    const auto side = static_cast<double>(kSide / patch);
    return classifier(side * side, kSide * kSide);
  }
  nn::VisionTransformer model() const {
    return nn::VisionTransformer({.size = kSide,
                                  .patch = patch,
                                  .classes = kDigits,
                                  .layers = layers,
                                  .block = {.width = width, .heads = heads, .dropout = dropout}});
  }
};

int learn(Flags& flags) {
  const DirectoryLock lock = flags.begin();
  seed(static_cast<std::uint64_t>(flags.seed));
  nn::VisionTransformer model = flags.model();
  return train_classifier(flags, model,
                          {.classes = kDigits,
                           .make =
                               [&](std::int64_t count, Part part, std::int64_t block) {
                                 return draw_digits(count, seed_of(flags.seed, part), block);
                               },
                           .scores = [&](const Tensor& x) { return model(x); },
                           .features = [](const Tensor& x) { return x; },
                           .model_name = "vision Transformer",
                           .features_name = "pixels"});
}

struct Look : Options {
  std::string directory, file;
  std::int64_t digit = 7, seed = 1;
  void add_to(CLI::App& app) {
    CLI::Option* given = option(app, "file", &file, "24 x 24 values from 0 (paper) to 1 (ink)")
                             .type_name("FILE.npy");
    option(app, "--digit", &digit, "digit to draw").excludes(given);
    option(app, "--seed", &seed, "random seed of the drawing").excludes(given);
  }
};

Tensor picture_of(const Look& look) {
  look.judge_values(Judge());
  return look.file.empty() ? draw_one(look.digit, static_cast<std::uint64_t>(look.seed))
                           : load_picture(look.file);
}

int look_with(Flags& flags, const Look& look) {
  const Tensor picture = picture_of(look);
  flags.load(look.directory);
  nn::VisionTransformer model = flags.model();
  load_best(model, flags.files());
  const Looked looked = look_at(model, picture);
  std::fputs(side_by_side(picture, looked.where).c_str(), stdout);
  const auto& [first, second] = std::pair(looked.guess[0], looked.guess[1]);
  std::printf("guess %d (%.3f), then %d (%.3f)", static_cast<int>(first.first), first.second,
              static_cast<int>(second.first), second.second);
  std::printf(look.file.empty() ? "; drawn as %d\n" : "\n", static_cast<int>(look.digit));
  return 0;
}

}  // namespace
}  // namespace gradus::examples

int main(int argc, char** argv) {
  using namespace gradus::examples;
  CLI::App app("Learns to read digits.\n  vision train    vision look runs/vision --digit 7");
  app.require_subcommand(1);
  Flags flags;
  flags.add_to(*app.add_subcommand("train", "train on drawn digits"));
  Look look;
  look.add_to(add_command_on_run(app, "look", "classify a picture, and show the attention",
                                 look.directory));
  return program(app, "vision", argc, argv, [&] {
    return app.got_subcommand("train") ? learn(flags) : look_with(flags, look);
  });
}
