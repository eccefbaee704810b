#include "gradus/examples/exercises/grader.h"

#include <exception>

#include "gradus/ops/create.h"

namespace gradus::exercises {
namespace {

const char* words_for(State state) {
  if (state == State::done) return "done";
  return state == State::wrong ? "wrong" : "not done yet";
}

/// Returns a path such as "examples/exercises/01_sum.cpp".
std::string file_of(const std::string& name, std::size_t number) {
  return "examples/exercises/" + std::string(number < 10 ? "0" : "") + std::to_string(number) +
         "_" + name + ".cpp";
}

}  // namespace

Grade grade(const Exercise& exercise) {
  try {
    const Tensor y = exercise.forward(exercise.inputs);
    if (exercise.backward(exercise.inputs, ones_like(y)).empty()) return {State::not_done_yet, ""};
    const check::Report report = check::vjp(exercise.name, exercise.forward, exercise.backward,
                                            exercise.inputs, exercise.options);
    if (report) return {State::done, ""};
    return {State::wrong, report.text()};
  } catch (const std::exception& error) {
    return {State::wrong, exercise.name + " throws: " + error.what() + "\n"};
  }
}

Result grade_all(const std::vector<Exercise>& all, const std::string& only) {
  Result result{0, 0, ""};
  std::size_t wrong = 0, next = all.size();
  std::string why;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string number = std::to_string(i + 1), gap(i < 9 ? 1 : 0, ' ');
    if (!only.empty() && only != number && only != all[i].name) continue;
    const Grade grade = exercises::grade(all[i]);
    ++result.graded;
    result.text += gap + number + " " + all[i].name + std::string(15 - all[i].name.size(), ' ') +
                   words_for(grade.state) + "\n";
    if (why.empty() && grade.state == State::wrong) why = "\n" + grade.why + "\n";
    result.done += grade.state == State::done;
    wrong += grade.state == State::wrong;
    if (grade.state != State::done && next == all.size()) next = i;
  }
  result.text += why + std::to_string(result.done) + " of " + std::to_string(result.graded) +
                 " done" + (wrong > 0 ? ", " + std::to_string(wrong) + " wrong" : "");
  if (next < all.size())
    result.text += ", next: " + std::to_string(next + 1) + " " + all[next].name + ": " +
                   file_of(all[next].name, next + 1);
  result.text += "\n";
  return result;
}

}  // namespace gradus::exercises
