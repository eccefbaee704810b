// What programs share that learn to tell classes of made examples apart: three parts of the data,
// training, and what the result is compared with.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gradus/engine/tensor.h"
#include "gradus/examples/apps/support/run_flags.h"

namespace gradus::examples {

/// Examples with their classes: x [N, …], y i64 [N].
struct Labelled {
  Tensor x, y;
};

/// What is learnt, what tells which weights are best, and what the last word is about.
enum class Part { training, validation, test };

/// Another seed for each part, so that none repeats an example of another.
std::uint64_t seed_of(std::int64_t seed, Part part);

struct ClassifierFlags : ModelFlags {
  using ModelFlags::ModelFlags;
  std::int64_t tested = 2000;
  void add_to(CLI::App& app);

 protected:
  /// transformer(), and so many numbers an example for those of a step and of the test.
  Need classifier(double tokens, double numbers) const;
};

struct Classification {
  std::int64_t classes;
  /// The block-th `count` examples of a part: a function of these three.
  std::function<Labelled(std::int64_t count, Part part, std::int64_t block)> make;
  std::function<Tensor(const Tensor& x)> scores;    // of the model: [N, …] → [N, classes]
  std::function<Tensor(const Tensor& x)> features;  // of x, for logistic regression
  std::string model_name, features_name;            // "Transformer", "pixels"
};

/// Trains `model` with AdamW on flags.batch new examples a step, keeps what is best on validation
/// examples, and prints the accuracy on test examples beside those of the simpler models. Returns
/// the exit code.
int train_classifier(const ClassifierFlags& flags, nn::Module& model, const Classification& task);

/// The share of rows of `scores` [N, classes] whose largest score is that of label y [N].
double accuracy(const Tensor& scores, const Tensor& y);

/// Accuracy on `test` of always naming the class that is most frequent in `training`; of several
/// the first.
double majority_accuracy(const Labelled& training, const Labelled& test);

/// Accuracy on `test` of softmax(W x + b), learnt on all of `training` at once by 300 steps of
/// AdamW from W = 0. Features are taken as flat vectors, brought to mean 0 and variance 1.
double logistic_accuracy(const Labelled& training, const Labelled& test, std::int64_t classes);

/// "  majority  0.100", one a line, the names in a column.
void print_accuracies(const std::vector<std::pair<std::string, double>>& rows);

/// The classes from the likeliest on, with their probabilities: of one row of scores [1, classes].
std::vector<std::pair<std::int64_t, double>> ranked(const Tensor& scores);

}  // namespace gradus::examples
