// Lesson 17 in the playground.
#include "17_find_the_bug.cpp"
#include "gradus/examples/play/lesson.h"

namespace gradus::play {

Lesson lesson_17() {
  return {17,
          "Find the bug",
          "examples/17_find_the_bug.cpp",
          Dtype::f64,
          {{"find_the_bug", "Six backward passes", {}, [](const Values&) { ::find_the_bug(); }}}};
}

}  // namespace gradus::play
