#include "gradus/examples/play/lesson.h"

namespace gradus::play {

Lesson lesson_01();
Lesson lesson_05();
Lesson lesson_10();

const std::vector<Lesson>& lessons() {
  static const std::vector<Lesson> all = {lesson_01(), lesson_05(), lesson_10()};
  return all;
}

}  // namespace gradus::play
