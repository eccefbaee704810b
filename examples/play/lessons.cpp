// All lessons of the playground, in order.
#include "gradus/examples/play/lesson.h"

namespace gradus::play {

Lesson lesson_00();
Lesson lesson_01();
Lesson lesson_02();
Lesson lesson_03();
Lesson lesson_04();
Lesson lesson_05();
Lesson lesson_06();
Lesson lesson_07();
Lesson lesson_08();
Lesson lesson_09();
Lesson lesson_10();
Lesson lesson_11();
Lesson lesson_12();
Lesson lesson_13();
Lesson lesson_14();
Lesson lesson_15();
Lesson lesson_17();
Lesson lesson_18();

const std::vector<Lesson>& lessons() {
  static const std::vector<Lesson> all = {
      lesson_00(), lesson_01(), lesson_02(), lesson_03(), lesson_04(), lesson_05(),
      lesson_06(), lesson_07(), lesson_08(), lesson_09(), lesson_10(), lesson_11(),
      lesson_12(), lesson_13(), lesson_14(), lesson_15(), lesson_17(), lesson_18()};
  return all;
}

}  // namespace gradus::play
