// Lesson 09 in the playground.
#include "09_pooling.cpp"
#include "gradus/examples/play/lesson.h"

namespace gradus::play {

Lesson lesson_09() {
  return {9,
          "Attention pooling",
          "examples/09_pooling.cpp",
          Dtype::f64,
          {{"pooling",
            "One query reads three words",
            {row("query", "query: article, noun, verb, content", {0, 0, 3, 0}, 100),
             rows("x", "words [3, 4]", {{2, 0, 0, 0}, {0, 2, 0, 5}, {0, 0, 2, 3}}, 100)},
            [](const Values& v) { ::pooling(v.row("query"), v.rows("x")); }},
           {"four_scores",
            "Four ways to score a key",
            {row("q", "query [4]", {2, 1, 0, 0}, 100),
             rows("k", "keys [3, 4]", {{2, 0, 0, 1}, {1, 1, 1, 1}, {0, 0, 2, 1}}, 100),
             row("v", "output weights of the additive score [2]", {-2, -2}, 100)},
            [](const Values& v) { ::four_scores(v.row("q"), v.rows("k"), v.row("v")); }},
           {"scale",
            "Why scores are divided by √d",
            {integers("widths", "head widths d", {4, 64, 1024}, 1, 2048)},
            [](const Values& v) { ::scale(v.integers("widths")); }},
           {"learning",
            "A query learns what to look for",
            {integer("steps", "training steps", 100, 1, 1000),
             number("rate", "learning rate", 0.1, 0, 1)},
            [](const Values& v) { ::learning(v.integer("steps"), v.number("rate")); }}}};
}

}  // namespace gradus::play
