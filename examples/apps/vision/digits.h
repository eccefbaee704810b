#pragma once

#include <cstdint>
#include <vector>

#include "gradus/engine/base/random.h"
#include "gradus/engine/tensor.h"
#include "gradus/examples/apps/support/training/classification.h"

namespace gradus::examples {

constexpr std::int64_t kSide = 24;  // pixels
constexpr std::int64_t kDigits = 10;

struct Hand {
  double angle = 0;             // radians, counter-clockwise
  double scale = 1, slant = 0;  // height is 16 pixels · scale; x moves by slant · height
  double right = 0, down = 0;   // shift in pixels
  double pen = 2;               // line width in pixels
  double noise = 0;             // standard deviation
};
/// Draws a random handwriting: angle ±0.35, scale 0.7 … 1.15, slant ±0.25, shifts ±3, pen 1.5 … 3,
/// noise 0.05 … 0.25.
Hand random_hand(const RandomStream& random);

/// Returns each pixel's ink in [0, 1], clamped after noise is added.
std::vector<float> draw_digit(std::int64_t digit, const Hand& hand, const RandomStream& random);

/// Returns x [count, 1, kSide, kSide] and y [count]. Depends only on the arguments.
Labelled draw_digits(std::int64_t count, std::uint64_t seed, std::int64_t block);

/// Draws one digit of shape [1, 1, kSide, kSide].
Tensor draw_one(std::int64_t digit, std::uint64_t seed);

}  // namespace gradus::examples
