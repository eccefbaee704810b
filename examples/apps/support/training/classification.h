// Trains and compares programs that classify generated examples.
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

/// The parts of the data. The validation part selects the best weights.
enum class Part { training, validation, test };

/// Returns a different seed for each part, so that no example is in two parts.
std::uint64_t seed_of(std::int64_t seed, Part part);

struct ClassifierFlags : ModelFlags {
  using ModelFlags::ModelFlags;
  std::int64_t tested = 2000;
  void add_to(CLI::App& app);

 protected:
  /// Adds the data of a step and of the test, with `numbers` values per example.
  Need classifier(double tokens, double numbers) const;
};

struct Classification {
  std::int64_t classes;
  /// Returns block `block` of `count` examples. Depends only on its arguments.
  std::function<Labelled(std::int64_t count, Part part, std::int64_t block)> make;
  std::function<Tensor(const Tensor& x)> scores;    // [N, …] → logits [N, classes]
  std::function<Tensor(const Tensor& x)> features;  // for logistic regression
  std::string model_name, features_name;            // "Transformer", "pixels"
};

/// Trains on new examples in each step, keeps the weights with the best validation accuracy, and
/// prints the test accuracies. Returns the exit code.
int train_classifier(const ClassifierFlags& flags, nn::Module& model, const Classification& task);

/// Returns the share of rows whose largest score, of [N, classes], is at y [N].
double accuracy(const Tensor& scores, const Tensor& y);

/// Returns the accuracy of always predicting the most frequent class, the lowest if tied.
double majority_accuracy(const Labelled& training, const Labelled& test);

/// Returns the accuracy of logistic regression, softmax(W x + b). Training starts from zero weights
/// and takes 300 steps of AdamW on all of `training`. Features are scaled to mean 0 and variance 1.
double logistic_accuracy(const Labelled& training, const Labelled& test, std::int64_t classes);

/// Prints lines such as "  majority  0.100".
void print_accuracies(const std::vector<std::pair<std::string, double>>& rows);

/// Returns the classes and probabilities for scores of shape [1, classes], most likely first.
std::vector<std::pair<std::int64_t, double>> ranked(const Tensor& scores);

}  // namespace gradus::examples
