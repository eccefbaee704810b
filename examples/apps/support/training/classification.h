// Training and baselines for programs that classify generated examples.
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

/// Examples for training, for selecting weights, and for the final accuracy.
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
  std::function<Tensor(const Tensor& x)> scores;  // logits of the model: [N, …] → [N, classes]
  std::function<Tensor(const Tensor& x)> features;  // features of x for logistic regression
  std::string model_name, features_name;            // "Transformer", "pixels"
};

/// Trains on new examples in each step, and keeps the weights that are best on validation examples.
/// Prints the test accuracies of the model and the baselines. Returns the exit code.
int train_classifier(const ClassifierFlags& flags, nn::Module& model, const Classification& task);

/// Returns the share of rows of `scores` [N, classes] whose largest score is at the class y [N].
double accuracy(const Tensor& scores, const Tensor& y);

/// Returns the accuracy of always predicting the most frequent class of `training`, the lowest if
/// tied.
double majority_accuracy(const Labelled& training, const Labelled& test);

/// Returns the accuracy of softmax(W x + b), trained on all of `training` by 300 steps of AdamW
/// from W = 0. Features are scaled to mean 0 and variance 1.
double logistic_accuracy(const Labelled& training, const Labelled& test, std::int64_t classes);

/// Prints lines such as "  majority  0.100".
void print_accuracies(const std::vector<std::pair<std::string, double>>& rows);

/// Returns the classes and probabilities for scores of shape [1, classes], most likely first.
std::vector<std::pair<std::int64_t, double>> ranked(const Tensor& scores);

}  // namespace gradus::examples
