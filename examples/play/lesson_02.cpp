// Lesson 02 in the playground.
#include "02_engine.cpp"
#include "gradus/examples/play/lesson.h"

namespace gradus::play {

Lesson lesson_02() {
  return {2,
          "An engine in 100 lines",
          "examples/02_engine.cpp",
          Dtype::f64,
          {{"a_value_used_twice",
            "A value used several times",
            {number("at", "x", 3, -100, 100)},
            [](const Values& v) { ::a_value_used_twice(v.number("at")); }},
           {"it_learns_xor",
            "Three neurons learn XOR",
            {integer("steps", "training steps", 2000, 1, 20000),
             number("rate", "learning rate", 0.1, 0, 1)},
            [](const Values& v) { ::it_learns_xor(v.integer("steps"), v.number("rate")); }}}};
}

}  // namespace gradus::play
