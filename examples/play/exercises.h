// The playground's exercises: backward passes that the gradient checker grades.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "gradus/check/gradients.h"

namespace gradus::play {

/// An answer that users choose, and the backward pass that the checker runs for it.
struct Choice {
  std::string text, explanation;
  check::Vjp backward;   // bug: the code with this line replaced by `fix`; empty without a fix
  std::string fix = {};  // bug: what the wrong line must be; empty for correct lines
};

/// A function and the choices for its backward pass. Exactly one choice is right.
///
/// Kinds: "which" (one of four backward passes), "factor" (the □ of dx = dy · □), and "bug" (the
/// wrong line of a backward pass).
struct Exercise {
  std::string kind, title;
  std::vector<std::string> statement;
  check::Function forward;
  check::Tensors inputs;
  std::vector<std::string> names;  // of the inputs
  std::vector<Choice> choices;     // bug: the lines of `given`
  check::Vjp given = {};           // bug: the backward pass with the wrong line
  std::string source = {};         // bug: address of the original report
};

/// The checker's decision on a choice, and its reports.
struct Graded {
  bool correct;
  std::string report;
};

/// Returns all exercises. The position in the list + 1 is the number of an exercise.
std::vector<Exercise> exercises();

/// Returns the exercises of one kind.
std::vector<Exercise> which_exercises();
std::vector<Exercise> factor_exercises();
std::vector<Exercise> bug_exercises();

/// Checks the backward pass of a choice. For a bug, checks the code as given and, if the line has a
/// fix, the fixed code.
Graded grade(const Exercise& exercise, const Choice& choice);

/// Returns an f64 tensor of values in ±1.7 without zeros, repetitions or a pattern. Inputs of one
/// exercise have different phases.
Tensor awkward(const Shape& shape, double phase = 0);

}  // namespace gradus::play
