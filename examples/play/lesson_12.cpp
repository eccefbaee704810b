// Lesson 12 in the playground.
#include "12_masks.cpp"
#include "gradus/examples/play/lesson.h"

namespace gradus::play {

Lesson lesson_12() {
  return {12,
          "Masks",
          "examples/12_masks.cpp",
          Dtype::f64,
          {{"kinds",
            "Kinds of masks",
            {integer("T", "queries", 3, 1, 20), integer("S", "keys", 5, 1, 20),
             integer("window", "width of the window", 2, 1, 5),
             integer("prefix_length", "length of the prefix", 3, 1, 5)},
            [](const Values& v) {
              ::kinds(v.integer("T"), v.integer("S"), v.integer("window"),
                      v.integer("prefix_length"));
            }},
           {"three_words",
            "Three words under a causal mask",
            {integer("offset", "offset of the diagonal", 0, -2, 2),
             rows("q", "queries [3, 4]", {{1, 2, 0, 1}, {0, 1, 2, 0}, {1, 0, 1, 1}}, 100),
             rows("k", "keys, which are also values [3, 4]",
                  {{1, 0, 0, 1}, {0, 2, 0, 1}, {0, 0, 2, -1}}, 100)},
            [](const Values& v) { ::three_words(v.integer("offset"), v.rows("q"), v.rows("k")); }},
           {"nobody_and_nan",
            "A query without keys, and a hidden key",
            {number("hidden", "value of the hidden key", 1e9, -1e300, 1e300)},
            [](const Values& v) { ::nobody_and_nan(true, v.number("hidden")); },
            nullptr,
            "nobody_and_nan(true, {hidden});"},
           {"off_by_one",
            "A mask that is off by one",
            {integers("offsets", "offsets to test", {0, 1}, -4, 4)},
            [](const Values& v) {
              const std::vector<std::int64_t> offsets = v.integers("offsets");
              ::off_by_one({offsets.begin(), offsets.end()});
            }}}};
}

}  // namespace gradus::play
