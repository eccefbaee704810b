#include "gradus/examples/play/exercises.h"

#include <utility>

#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"

namespace gradus::play {
namespace {

check::Report report(const Exercise& exercise, const check::Vjp& backward) {
  return check::vjp(exercise.title, exercise.forward, backward, exercise.inputs,
                    {.names = exercise.names, .seconds = 5});
}

}  // namespace

Tensor awkward(const Shape& shape, double phase) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  const Tensor t = arange(0.0, static_cast<double>(count), 1, Dtype::f64);
  return reshape(1.7 * sin(2.4 * t + (phase + 0.5)), shape);
}

std::vector<Exercise> exercises() {
  std::vector<Exercise> all;
  for (auto* part : {which_exercises, factor_exercises, bug_exercises})
    for (Exercise& each : part()) all.push_back(std::move(each));
  return all;
}

Graded grade(const Exercise& exercise, const Choice& choice) {
  if (!exercise.given) {
    const check::Report found = report(exercise, choice.backward);
    return {static_cast<bool>(found), found.text()};
  }
  const std::string given = "The code as given:\n\n" + report(exercise, exercise.given).text();
  if (!choice.backward) return {false, given};
  const check::Report fixed = report(exercise, choice.backward);
  return {static_cast<bool>(fixed),
          given + "\nWith this line instead: " + choice.fix + "\n\n" + fixed.text()};
}

}  // namespace gradus::play
