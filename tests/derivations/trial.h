// One derivation on tensors of one size: its names have values, its gradients are known.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gradus/engine/tensor.h"
#include "gradus/tests/derivations/document.h"
#include "gradus/tests/derivations/evaluate.h"

namespace gradus::derivations {

/// What a derivation's names stand for in one trial.
class Given {
 public:
  const Tensor& operator()(const std::string& name) const { return tensors.at(name); }
  double number(const std::string& name) const { return numbers.at(name); }
  std::int64_t integer(const std::string& name) const {
    return static_cast<std::int64_t>(numbers.at(name));
  }

  std::map<std::string, Tensor> tensors;
  std::map<std::string, double> numbers;
};

/// How the names of a file become tensors, and the function that it derives.
///
///   x_ri       a tensor with an axis for each letter, values of both signs; x_ri>0: positive ones;
///              x_ri!: one without a gradient
///   t_r<v      integers below the size of axis v; m_ij?: zeros and ones, bool
///   eps=0.1    a number; n=#ri: the number of places of r and i together
///   k:2,3,1    the size of axis k in the first, second and third trial; k:#ri; others are chosen
struct Case {
  std::string file;  // of docs/derivations, without ".md"
  std::string inputs;
  std::function<Tensor(const Given&)> f;
  std::string op = {};                       // whose backward must run; empty: the file's
  std::function<void(Given&)> prepare = {};  // adds constants, random ones for example
};

inline constexpr int kTrials = 3;

std::vector<Case> elementwise_cases();
std::vector<Case> reduction_cases();
std::vector<Case> movement_cases();
std::vector<Case> product_cases();
std::vector<Case> attention_cases();
std::vector<Case> all_cases();

struct Failure {
  int line = 0;  // of the file; 0: none of the lines
  std::string what;
};

class Trial {
 public:
  /// Runs the function forward and backward. What it finds wrong before any line is in failures().
  Trial(const Document& document, const Case& which, int trial);

  /// Lines that are not the gradient, and what is wrong with forward and backward themselves.
  std::vector<Failure> failures() const;
  /// With `right` in place of that line's own: what is wrong with it, if anything.
  std::optional<std::string> differs(const Line& line, const Expression& right) const;
  std::optional<std::string> differs(const Line& line) const { return differs(line, line.right); }

  bool is_zero(const Line& line) const;  // is that gradient 0 everywhere?

 private:
  void give(const Case& which, int trial);
  void run(const Case& which);
  void define(const Line& line);
  void compare_backward();
  std::string output_name() const;

  const Document& document_;
  World world_;
  Given given_;
  std::vector<std::string> wanted_;         // tensors whose gradients the engine gave
  std::map<std::string, Array> gradients_;  // "dx": by its definition
  Tensor y_;
  std::vector<Failure> failures_;
};

}  // namespace gradus::derivations
