// Lesson 13 in the playground.
#include "13_block.cpp"
#include "gradus/examples/play/lesson.h"

namespace gradus::play {

Lesson lesson_13() {
  return {13,
          "A Transformer block",
          "examples/13_block.cpp",
          Dtype::f64,
          {{"why_residuals",
            "Why residuals",
            {integers("depths", "numbers of layers", {1, 4, 16, 64}, 1, 128)},
            [](const Values& v) {
              const std::vector<std::int64_t> depths = v.integers("depths");
              ::why_residuals({depths.begin(), depths.end()});
            }},
           {"why_norms", "Why norms", {}, [](const Values&) { ::why_norms(); }},
           {"why_positions", "Why positions", {}, [](const Values&) { ::why_positions(); }},
           {"the_block", "The block", {}, [](const Values&) { ::the_block(); }}}};
}

}  // namespace gradus::play
