#pragma once

#include <string>

#include "gradus/examples/apps/support/run_flags.h"
#include "gradus/nn/models/bert.h"

namespace gradus::examples {

struct ClassifyFlags : ModelFlags {
  std::string tree = ".";
  std::int64_t pretrain = 1000, length = 64, vocabulary = 1500;
  ClassifyFlags() : ModelFlags("classify") {
    steps = 300;
    batch = 32;
    learning_rate = 3e-3;
    eval_every = 100;
    width = 96;
    dropout = 0.1;
  }
  void add_to(CLI::App& app);
  Need need() const override;
  nn::BERTOptions bert(std::int64_t vocabulary_size) const;
  std::string vocabulary_file() const { return out + "/vocabulary.json"; }

 protected:
  std::vector<std::string> more_files() const override { return {vocabulary_file()}; }
};

int learn(ClassifyFlags& flags);

/// Classifies the file `text`, or the string itself if there is no such file.
int name_kind(ClassifyFlags& flags, const std::string& directory, const std::string& text);

/// Prints the most likely pieces for each [MASK] in `text`.
int fill(ClassifyFlags& flags, const std::string& directory, const std::string& text);

}  // namespace gradus::examples
