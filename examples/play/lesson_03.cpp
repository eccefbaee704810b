// Lesson 03 in the playground.
#include <tuple>
#include "03_tensors.cpp"

#include "gradus/examples/play/lesson.h"

namespace gradus::play {

Lesson lesson_03() {
  const Rows dy = {{1, 2, 3}, {100, 200, 300}};
  return {
      3,
      "Tensors",
      "examples/03_tensors.cpp",
      Dtype::f64,
      {{"views",
        "One buffer, several ways to read it",
        {rows("x", "a matrix", {{0, 1, 2}, {3, 4, 5}}, 1000)},
        [](const Values& v) { ::views(v.rows("x")); }},
       {"heads",
        "Heads need reshape and transpose",
        {integer("h", "head to show", 1, 0, 3)},
        [](const Values& v) { ::heads(v.integer("h")); }},
       {"broadcasting",
        "Broadcasting: repeated values sum their gradients",
        {rows("dy", "gradient of y [2, 3]", dy, 1000), row("row", "[3]", {10, 20, 30}, 1000),
         row("column", "[2]", {-1, 1}, 1000)},
        [](const Values& v) { ::broadcasting(v.rows("dy"), v.row("row"), v.row("column")); }},
       {"two_ways_back",
        "A tensor and its view",
        {integer("row", "row of the view", 1, 0, 1), rows("dy", "gradient of y [2, 3]", dy, 1000)},
        [](const Values& v) { std::ignore = ::two_ways_back(v.integer("row"), v.rows("dy")); }}}};
}

}  // namespace gradus::play
