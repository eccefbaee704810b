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

/// The names of a file as tensors, and the function that it derives.
///
///   x_ri       a tensor with an axis for each letter, values of both signs; x_ri>0: positive;
///              x_ri!: without a gradient
///   t_r<v      integers below the size of axis v; m_ij?: bool
///   eps=0.1    a number; n=#ri: the number of elements of axes r and i
///   k:2,3,1    the size of axis k in the first, second and third trial; k:#ri; default: kSizes
struct Case {
  std::string file;  // in docs/derivations, without ".md"
  std::string inputs;
  std::function<Tensor(const Given&)> f;
  std::string op = {};                       // the op whose backward must run; default: file
  std::function<void(Given&)> prepare = {};  // adds constants, such as random ones
};

inline constexpr int kTrials = 3;

std::vector<Case> elementwise_cases();
std::vector<Case> reduction_cases();
std::vector<Case> movement_cases();
std::vector<Case> product_cases();
std::vector<Case> attention_cases();
std::vector<Case> all_cases();

struct Failure {
  int line = 0;  // line in the file; 0: none
  std::string what;
};

class Trial {
 public:
  /// Runs forward and backward. Problems are added to failures().
  Trial(const Document& document, const Case& which, int trial);

  /// Returns the wrong lines, and the problems of forward and backward.
  std::vector<Failure> failures() const;
  std::optional<std::string> differs(const Line& line, const Expression& right) const;
  std::optional<std::string> differs(const Line& line) const { return differs(line, line.right); }

  bool is_zero(const Line& line) const;  // true if the gradient is 0 everywhere

 private:
  void give(const Case& which, int trial);
  void run(const Case& which);
  void define(const Line& line);
  void compare_backward();
  std::string output_name() const;

  const Document& document_;
  World world_;
  Given given_;
  std::vector<std::string> wanted_;         // tensors whose gradients the engine computes
  std::map<std::string, Array> gradients_;  // "dx" → gradient by definition
  Tensor y_;
  std::vector<Failure> failures_;
};

}  // namespace gradus::derivations
