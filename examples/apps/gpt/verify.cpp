// gpt verify: repeats a run and compares its weights.
#include "gradus/train/verify.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>

#include "commands.h"
#include "gradus/engine/base/bits.h"
#include "gradus/examples/apps/support/interrupt.h"
#include "gradus/io/text.h"
#include "training.h"

namespace gradus::examples {
namespace {

/// Reads "100-120" or "100".
train::StepRange steps_of(const std::string& text) {
  if (text.empty()) return {};
  const auto whole = [&](std::string_view digits) {
    std::int64_t n = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
    require(error == std::errc() && end == digits.data() + digits.size() && n >= 1, "--steps ",
            io::quote(text), ": must be a step, such as 100, or a range, such as 100-120");
    return n;
  };
  const std::size_t dash = text.find('-');
  const std::int64_t first = whole(std::string_view(text).substr(0, dash));
  const std::int64_t last =
      dash == std::string::npos ? first : whole(std::string_view(text).substr(dash + 1));
  require(first <= last, "--steps ", text, ": the first step is after the last");
  return {first, last};
}

}  // namespace

void VerifyFlags::add_to(CLI::App& app) {
  app.add_option("text", texts, "the run's text, if it has moved")->type_name("FILE");
  option(app, "--steps", &steps, "steps to compare, such as 100-120 (default: all)");
}

int verify(GptFlags& flags, const std::string& directory, const VerifyFlags& how) {
  const train::StepRange steps = steps_of(how.steps);
  flags.load(directory);
  require<FileError>(flags.bits == "portable", directory, ": was trained with --bits ", flags.bits,
                     ", so other machines cannot repeat it; train with --bits portable");
  flags.use_bits();
  if (!how.texts.empty()) flags.texts = how.texts;
  flags.resume = true;  // requires the run's text
  const Corpus corpus = read_corpus(flags);
  GptTask task(flags, corpus, true);
  const train::Verified found = train::verify(
      task.model, *task.optimizer, task.schedule, task.options,
      [&](std::int64_t step) { return task.loss(step); }, steps);
  if (found.difference) {
    std::printf("different: %s after step %lld\n", found.difference->parameter.c_str(),
                static_cast<long long>(found.difference->step));
    return 1;
  }
  if (interrupt_signal) {
    std::fprintf(stderr, "gpt: stopped after step %lld of %lld; %lld steps were the same\n",
                 static_cast<long long>(found.step), static_cast<long long>(flags.steps),
                 static_cast<long long>(found.compared));
    return 128 + interrupt_signal;
  }
  std::printf("same: the weights after each of %lld steps, of %lld repeated\n",
              static_cast<long long>(found.compared), static_cast<long long>(found.step));
  return 0;
}

}  // namespace gradus::examples
