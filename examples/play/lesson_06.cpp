// Lesson 06 in the playground.
#include "06_softmax.cpp"
#include "gradus/examples/play/lesson.h"

namespace gradus::play {

Lesson lesson_06() {
  return {6,
          "Softmax and cross-entropy",
          "examples/06_softmax.cpp",
          Dtype::f64,
          {{"by_pieces",
            "Why the gradient is p − y",
            {rows("x", "scores of four words [2, 4]", {{0, 2, 1, -1}, {0.5, 0, 1, 2}}, 15),
             integer("after_the", "target after \"the\": 0 the, 1 cat, 2 sat, 3 mat", 1, 0, 3),
             integer("after_cat", "target after \"cat\"", 2, 0, 3)},
            [](const Values& v) {
              ::by_pieces(v.rows("x"), v.integer("after_the"), v.integer("after_cat"));
            },
            {},
            {},
            {"softmax, log and the mean are separate operations.",
             "the program computes the same loss with cross_entropy, which is one operation. The "
             "gradient of x is the same."}},
           {"why_not_by_pieces",
            "Why cross-entropy is one operation",
            {number("score", "score of the wrong class", 1000, 0, 1e6)},
            [](const Values& v) { ::why_not_by_pieces(v.number("score")); }},
           {"why_scaled",
            "Why scores are divided by √d",
            {integers("widths", "head widths d", {4, 64, 1024}, 1, 2048)},
            [](const Values& v) { ::why_scaled(v.integers("widths")); }}}};
}

}  // namespace gradus::play
