// Lesson 10 in the playground.
#include "10_attention.cpp"
#include "gradus/examples/play/lesson.h"

namespace gradus::play {

Lesson lesson_10() {
  return {
      10,
      "Attention",
      "examples/10_attention.cpp",
      Dtype::f64,
      {{"attention",
        "One head, forward and backward",
        {rows("q", "queries [T, D]", {{1, 2, 0, 1}, {0, 1, 2, 0}}, 100),
         rows("k", "keys [S, D]", {{1, 0, 0, 1}, {0, 2, 0, 1}, {0, 0, 2, -1}}, 100),
         rows("v", "values [S, Dv]", {{1, 0, 0, 0, 4}, {0, 2, 0, 0, -4}, {0, 0, 3, 0, 0}}, 100),
         rows("dout", "gradient of out [T, Dv]", {{1, 0, -1, 1, 0}, {0, 1, 2, 0, -0.5}}, 100)},
        [](const Values& v) { ::attention(v.rows("q"), v.rows("k"), v.rows("v"), v.rows("dout")); },
        {},
        {},
        {"attention is written out, one operation per line of the formula.",
         "the program computes the same attention again, in one operation: the fused kernel, which "
         "does not store `q kᵀ`. The results are the same up to rounding."}}}};
}

}  // namespace gradus::play
