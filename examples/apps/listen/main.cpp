// listen: classifies generated sounds of eight classes (sounds.h).
//
//   listen train                             trains in about a minute, into runs/listen
//   listen make rise.wav --class rise        writes a sound
//   listen to runs/listen rise.wav           classifies it, and shows the spectrogram
//   listen to runs/listen --class trill      the same for a new sound
#include <CLI/CLI.hpp>
#include <cstdio>

#include "gradus/engine/base/error.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/examples/apps/support/program.h"
#include "gradus/examples/apps/support/run.h"
#include "gradus/examples/apps/support/run_flags.h"
#include "gradus/examples/apps/support/training/classification.h"
#include "gradus/ops/create.h"
#include "gradus/ops/reduce.h"
#include "listener.h"
#include "sounds.h"
#include "spectrogram.h"
#include "wav.h"

namespace gradus::examples {
namespace {

constexpr std::int64_t kFrames = (kSamples - kFrame) / kHop + 1;

struct Flags : ClassifierFlags {
  Flags() : ClassifierFlags("listen") {
    steps = 800;
    batch = 32;
    learning_rate = 2e-3;
  }
  Need need() const override { return classifier(kFrames / 2, kBands * kFrames); }
  Listener model() const {
    return Listener({.bands = kBands,
                     .frames = kFrames,
                     .classes = kSounds,
                     .layers = layers,
                     .heads = heads,
                     .width = width,
                     .dropout = dropout});
  }
};

int learn(Flags& flags) {
  const DirectoryLock lock = flags.begin();
  seed(static_cast<std::uint64_t>(flags.seed));
  Listener model = flags.model();
  return train_classifier(flags, model,
                          {.classes = kSounds,
                           .make =
                               [&](std::int64_t count, Part part, std::int64_t block) {
                                 const Labelled sounds =
                                     make_sounds(count, seed_of(flags.seed, part), block);
                                 return Labelled{spectrogram(sounds.x), sounds.y};
                               },
                           .scores = [&](const Tensor& x) { return model(x); },
                           .features = [](const Tensor& x) { return mean(x, {2}); },  // [N, bands]
                           .model_name = "convolution and attention",
                           .features_name = "the mean spectrum"});
}

struct Which : Options {
  std::string directory, file, name;
  std::int64_t seed = 1;
  std::vector<float> made() const {
    judge_values(Judge());
    return make_one(sound_named(name), static_cast<std::uint64_t>(seed));
  }
};

/// Returns the samples of a file, padded with silence.
std::vector<float> sound_of(const std::string& file) {
  Wav wav = read_wav(file);
  require<FileError>(wav.rate == kRate, file, ": has ", wav.rate,
                     " samples per second, but the model needs ", kRate, "; resample it");
  require<FileError>(std::ssize(wav.samples) <= kSamples, file, ": has ", wav.samples.size(),
                     " samples, but the model takes at most ", kSamples, "; shorten it");
  wav.samples.resize(kSamples, 0.0f);
  return wav.samples;
}

int listen_to(Flags& flags, const Which& which) {
  require(which.file.empty() != which.name.empty(),
          "to needs one sound; give FILE.wav or --class NAME");
  const std::vector<float> samples = which.file.empty() ? which.made() : sound_of(which.file);
  flags.load(which.directory);
  Listener model = flags.model();
  load_best(model, flags.files());
  const NoGrad off;
  const Tensor spectra = spectrogram(tensor(samples, {1, kSamples}));  // [1, bands, frames]
  std::fputs(picture_of(spectra).c_str(), stdout);
  for (const auto& [kind, share] : ranked(model(spectra)))
    std::printf("  %-6s  %.3f  %s\n", kSoundNames[static_cast<std::size_t>(kind)], share,
                std::string(static_cast<std::size_t>(share * 40 + 0.5), '#').c_str());
  return 0;
}

int make(const Which& which) {
  write_wav(which.file, {kRate, which.made()});
  return 0;
}

}  // namespace
}  // namespace gradus::examples

int main(int argc, char** argv) {
  using namespace gradus::examples;
  CLI::App app("Learns to classify sounds.\n  listen train    listen to runs/listen FILE.wav");
  app.require_subcommand(1);
  Flags flags;
  Which which;
  flags.add_to(*app.add_subcommand("train", "train on eight kinds of sounds"));
  CLI::App& to = add_command_on_run(app, "to", "classify a sound", which.directory);
  CLI::App& made = *app.add_subcommand("make", "write a sound to a file");
  which.option(to, "file", &which.file, "sound file: 16 bits, one channel, 8000 samples per second")
      .type_name("FILE.wav");
  which.option(made, "file", &which.file, "file to write").required()->type_name("FILE.wav");
  which.option(made, "--class", &which.name, "class of the sound").required()->type_name("NAME");
  which.option(to, "--class", &which.name, "class of a sound to make and classify")
      .type_name("NAME");
  for (CLI::App* each : {&to, &made})
    which.option(*each, "--seed", &which.seed, "random seed of the sound");
  return program(app, "listen", argc, argv, [&] {
    if (app.got_subcommand("train")) return learn(flags);
    return app.got_subcommand("to") ? listen_to(flags, which) : make(which);
  });
}
