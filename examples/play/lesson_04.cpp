// Lesson 04 in the playground.
#include "04_linear.cpp"
#include "gradus/examples/play/lesson.h"

namespace gradus::play {

Lesson lesson_04() {
  return {4,
          "A linear layer",
          "examples/04_linear.cpp",
          Dtype::f64,
          {{"by_hand_and_by_engine",
            "Forward and backward, by hand and by the engine",
            {rows("x", "inputs [N, in]", {{1, 2, 3}, {-1, 0, 2}}, 1000),
             rows("w", "weights W [out, in]", {{1, 0, 0}, {0, 2, 0}, {0, 0, -1}, {1, 1, 1}}, 1000),
             row("b", "bias [out]", {10, 20, 30, 40}, 1000),
             rows("dy", "gradient of y [N, out]", {{1, 2, 3, 4}, {0, -1, 0, 5}}, 1000)},
            [](const Values& v) {
              ::by_hand_and_by_engine(v.rows("x"), v.rows("w"), v.row("b"), v.rows("dy"));
            }},
           {"learning",
            "The layer learns",
            {number("rate", "learning rate", 0.2, 0, 1), integer("steps", "steps", 200, 1, 1000)},
            [](const Values& v) { ::learning(v.number("rate"), v.integer("steps")); }}}};
}

}  // namespace gradus::play
