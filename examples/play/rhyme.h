// The text that the playground's language models learn unless users paste their own.
#pragma once

namespace gradus::play {

inline constexpr const char* kRhyme =
    R"(The cat sat down upon the stair and counted all the stars up there.
The owl looked on from in the tree and counted only two or three.
"You cannot count," the owl began, "as many stars as an owl can."
The cat replied, "I count by night the stars that I can see all right."

The mouse came out to count the two: the cat was one, the owl was you.
The moon came up and counted all: the stair, the stars, the tree, the wall.
"I count the cat, I count the owl, I count the wind that likes to howl.
I count the mouse, I count the sea, and no one ever counted me."

Then said the cat, "The moon is one." Then said the owl, "The night is done."
Then said the mouse, "I count to four: the cat, the owl, the moon, the door."
The door was open, in it ran, and there the counting game began.

The cat sat down upon the mat and counted everything it sat.
The owl flew off into the tree and dreamed of only two or three.
The moon went down behind the hill, the stars went out, the wind was still.
The mouse alone was left to say: "I count the hours until the day."
)";

}  // namespace gradus::play
