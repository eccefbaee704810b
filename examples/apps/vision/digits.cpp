// Ink is 1 inside a line and 0 outside. At the edge of a line it changes over one pixel.
#include "digits.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "gradus/engine/base/error.h"
#include "gradus/engine/base/math64.h"
#include "gradus/engine/base/parallel.h"
#include "gradus/ops/create.h"

namespace gradus::examples {
namespace {

struct Point {
  double x, y;
};
using Line = std::vector<Point>;  // corners of a polyline

/// Lines on a grid 4 wide and 6 high, with y down. Curves are polygons.
const std::array<std::vector<Line>, kDigits> kLines = {{
    {{{1, 0}, {3, 0}, {4, 1}, {4, 5}, {3, 6}, {1, 6}, {0, 5}, {0, 1}, {1, 0}}},
    {{{0.5, 1.5}, {2, 0}, {2, 6}}, {{0.5, 6}, {3.5, 6}}},
    {{{0, 1}, {1, 0}, {3, 0}, {4, 1}, {4, 2}, {0, 6}, {4, 6}}},
    {{{0, 0}, {4, 0}, {2, 2.5}, {3, 2.5}, {4, 3.5}, {4, 5}, {3, 6}, {1, 6}, {0, 5}}},
    {{{3, 6}, {3, 0}, {0, 4}, {4, 4}}},
    {{{4, 0}, {0, 0}, {0, 2.5}, {3, 2.5}, {4, 3.5}, {4, 5}, {3, 6}, {1, 6}, {0, 5}}},
    {{{3.5, 0}, {1.5, 0}, {0, 2}, {0, 5}, {1, 6}, {3, 6}, {4, 5}, {4, 3.7}, {3, 2.8}, {0, 3.2}}},
    {{{0, 0}, {4, 0}, {1.5, 6}}},
    {{{1, 2.8}, {0, 2}, {0, 1}, {1, 0}, {3, 0}, {4, 1}, {4, 2}, {3, 2.8}, {1, 2.8}},
     {{1, 2.8}, {0, 3.8}, {0, 5}, {1, 6}, {3, 6}, {4, 5}, {4, 3.8}, {3, 2.8}}},
    {{{4, 2.8}, {1, 3.2}, {0, 2.3}, {0, 1}, {1, 0}, {3, 0}, {4, 1}, {4, 4}, {2.5, 6}, {0.5, 6}}},
}};
constexpr double kGridWidth = 4, kGridHeight = 6;
constexpr double kPixelsHigh = 16;  // height of a digit at scale 1

Point placed(const Point& p, const Hand& hand) {
  const double unit = kPixelsHigh / kGridHeight * hand.scale;
  const double y = (p.y - kGridHeight / 2) * unit;
  const double x = (p.x - kGridWidth / 2) * unit - hand.slant * y;
  const double c = math64::cos(hand.angle), s = math64::sin(hand.angle);
  const double middle = (kSide - 1) / 2.0;
  return {middle + hand.right + c * x + s * y, middle + hand.down - s * x + c * y};
}

double distance(const Point& p, const Point& a, const Point& b) {
  const double dx = b.x - a.x, dy = b.y - a.y, length = dx * dx + dy * dy;
  const double along =
      length == 0 ? 0 : std::clamp(((p.x - a.x) * dx + (p.y - a.y) * dy) / length, 0.0, 1.0);
  const double x = p.x - a.x - along * dx, y = p.y - a.y - along * dy;
  return std::sqrt(x * x + y * y);
}

void draw_line(const Point& a, const Point& b, double pen, std::vector<float>& ink) {
  const double reach = pen / 2 + 1;
  const auto pixel = [](double at) {
    return static_cast<std::int64_t>(std::clamp(at, 0.0, double(kSide - 1)));
  };
  for (std::int64_t y = pixel(std::min(a.y, b.y) - reach); y <= pixel(std::max(a.y, b.y) + reach);
       ++y)
    for (std::int64_t x = pixel(std::min(a.x, b.x) - reach); x <= pixel(std::max(a.x, b.x) + reach);
         ++x) {
      const double away = distance({double(x), double(y)}, a, b);
      float& here = ink[static_cast<std::size_t>(y * kSide + x)];
      here = std::max(here, static_cast<float>(std::clamp(pen / 2 + 0.5 - away, 0.0, 1.0)));
    }
}

RandomStream stream_of(std::uint64_t seed, std::int64_t picture) {
  return {seed, static_cast<std::uint32_t>(picture), static_cast<std::uint32_t>(picture >> 32)};
}

constexpr std::int64_t kHandNumbers = 16;  // random numbers per Hand; those for the noise follow

}  // namespace

Hand random_hand(const RandomStream& random) {
  const auto between = [&](std::int64_t which, double low, double high) {
    return low + (high - low) * random.uniform(which);
  };
  return {.angle = between(0, -0.35, 0.35),
          .scale = between(1, 0.7, 1.15),
          .slant = between(2, -0.25, 0.25),
          .right = between(3, -3, 3),
          .down = between(4, -3, 3),
          .pen = between(5, 1.5, 3),
          .noise = between(6, 0.05, 0.25)};
}

std::vector<float> draw_digit(std::int64_t digit, const Hand& hand, const RandomStream& random) {
  require(0 <= digit && digit < kDigits, "--digit ", digit, ": must be 0 to ", kDigits - 1);
  std::vector<float> ink(kSide * kSide, 0.0f);
  for (const Line& line : kLines[static_cast<std::size_t>(digit)])
    for (std::size_t i = 1; i < line.size(); ++i)
      draw_line(placed(line[i - 1], hand), placed(line[i], hand), hand.pen, ink);
  for (std::size_t i = 0; hand.noise > 0 && i < ink.size(); ++i) {
    const double noise = hand.noise * random.normal(kHandNumbers + std::int64_t(i));
    ink[i] = static_cast<float>(std::clamp(ink[i] + noise, 0.0, 1.0));
  }
  return ink;
}

Labelled draw_digits(std::int64_t count, std::uint64_t seed, std::int64_t block) {
  std::vector<float> pixels(static_cast<std::size_t>(count * kSide * kSide));
  std::vector<std::int64_t> digits(static_cast<std::size_t>(count));
  parallel_for(count, 8, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const RandomStream random = stream_of(seed, block * count + i);
      const std::int64_t digit = random.below(kHandNumbers - 1, kDigits);
      const std::vector<float> ink = draw_digit(digit, random_hand(random), random);
      digits[static_cast<std::size_t>(i)] = digit;
      std::copy(ink.begin(), ink.end(), pixels.begin() + i * kSide * kSide);
    }
  });
  return {tensor(pixels, {count, 1, kSide, kSide}), tensor(digits, {count})};
}

Tensor draw_one(std::int64_t digit, std::uint64_t seed) {
  const RandomStream random = stream_of(seed, 0);
  return tensor(draw_digit(digit, random_hand(random), random), {1, 1, kSide, kSide});
}

}  // namespace gradus::examples
