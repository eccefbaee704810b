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
  check::Vjp backward;   // kind "bug": the code with this line replaced by `fix`
  std::string fix = {};  // kind "bug": the corrected line; empty if the line is correct
};

/// A function and the choices for its backward pass. Exactly one choice is right.
///
/// Texts for users have backticks around formulas, which the page draws: "`dx = 2x`".
///
/// Kinds: "which" (one of four backward passes), "factor" (the □ of dx = dy · □), and "bug" (the
/// wrong line of a backward pass).
struct Exercise {
  std::string kind, title;
  std::vector<std::string> statement;
  check::Function forward;
  check::Tensors inputs;
  std::vector<std::string> names;  // of the inputs
  std::vector<Choice> choices;     // kind "bug": the lines of `given`
  check::Vjp given = {};           // kind "bug": the backward pass with the wrong line
  std::string source = {};         // kind "bug": URL of the original report
};

/// The checker's decision on a choice, and its reports.
struct Graded {
  bool correct;
  std::string report;
};

/// Returns all exercises. An exercise's number is its position in the list, from 1.
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
