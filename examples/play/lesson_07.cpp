// Lesson 07 in the playground.
#include "07_optimizers.cpp"
#include "gradus/examples/play/lesson.h"

namespace gradus::play {

Lesson lesson_07() {
  return {7,
          "Optimizers",
          "examples/07_optimizers.cpp",
          Dtype::f64,
          {{"in_a_valley", "A narrow valley", {}, [](const Values&) { ::in_a_valley(); }},
           {"adam_by_hand",
            "Adam's first step",
            {row("gradient", "gradient g", {1000, 1, -0.001}, 1e6)},
            [](const Values& v) { ::adam_by_hand(v.row("gradient")); }},
           {"decay", "Weight decay", {}, [](const Values&) { ::decay(); }},
           {"muon", "Muon's step", {}, [](const Values&) { ::muon(); }}}};
}

}  // namespace gradus::play
