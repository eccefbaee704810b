// Lesson 01 in the playground.
#include "01_neuron.cpp"
#include "gradus/examples/play/lesson.h"

namespace gradus::play {

Lesson lesson_01() {
  return {1,
          "One neuron",
          "examples/01_neuron.cpp",
          Dtype::f64,
          {{"neuron",
            "One neuron and the chain rule",
            {number("x", "input", 0.5, -10, 10), number("target", "what y should be", 1, -10, 10),
             number("w", "weight", -1.5, -10, 10), number("b", "bias", 0.25, -10, 10),
             integer("steps", "steps of gradient descent", 100, 0, 1000)},
            [](const Values& v) {
              ::neuron(v.number("x"), v.number("target"), v.number("w"), v.number("b"),
                       v.integer("steps"));
            }}}};
}

}  // namespace gradus::play
