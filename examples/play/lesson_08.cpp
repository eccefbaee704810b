// Lesson 08 in the playground.
#include "08_tokens.cpp"
#include "gradus/examples/play/lesson.h"

namespace gradus::play {

Lesson lesson_08() {
  return {
      8,
      "Tokens and embeddings",
      "examples/08_tokens.cpp",
      Dtype::f64,
      {{"text_to_ids",
        "From text to token ids",
        {text("text", "text to learn from", "the cat sat on the mat, the cat ate the rat", 2000),
         text("words", "text to encode", "the cat", 200)},
        [](const Values& v) { ::text_to_ids(v.text("text"), v.text("words")); }},
       {"ids_to_vectors", "From ids to vectors", {}, [](const Values&) { ::ids_to_vectors(); }},
       {"vectors_get_meaning",
        "Words used alike get similar vectors",
        {integer("steps", "training steps", 300, 1, 2000),
         number("rate", "learning rate", 0.05, 0, 1)},
        [](const Values& v) { ::vectors_get_meaning(v.integer("steps"), v.number("rate")); }}}};
}

}  // namespace gradus::play
