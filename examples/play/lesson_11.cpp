// Lesson 11 in the playground.
#include "11_heads.cpp"
#include "gradus/examples/play/lesson.h"

namespace gradus::play {

Lesson lesson_11() {
  return {11,
          "Multi-head attention",
          "examples/11_heads.cpp",
          Dtype::f64,
          {{"two_heads",
            "Two heads look for different words",
            {number("key", "size of the keys of head 0", 3, 0, 100),
             integer("back", "head 1 looks this many positions back", 1, -3, 3)},
            [](const Values& v) { ::two_heads(v.number("key"), v.integer("back")); }},
           {"fewer_keys",
            "Query heads share keys and values",
            {integers("groups", "heads of keys and values: 1, 2, 3 or 6", {6, 2, 1}, 1, 6)},
            [](const Values& v) { ::fewer_keys(v.integers("groups")); }}}};
}

}  // namespace gradus::play
