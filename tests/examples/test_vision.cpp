#include <cmath>
#include <numbers>
#include <string>

#include "gradus/examples/apps/vision/digits.h"
#include "gradus/examples/apps/vision/picture.h"
#include "gradus/io/npy.h"
#include "gradus/ops/create.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/examples/gpt_program.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing::test_vision {
namespace {

using examples::draw_digit;
using examples::Hand;
using examples::kSide;

float ink(const std::vector<float>& picture, std::int64_t x, std::int64_t y) {
  return picture[static_cast<std::size_t>(y * kSide + x)];
}

TEST_CASE("a digit is drawn along its lines, as wide as the pen") {
  // The digit 1 has a foot, and a stem from 8 pixels above to 8 below the center (11.5, 11.5). A
  // pen of width 2 covers all points within distance 1.
  const std::vector<float> one = draw_digit(1, Hand{}, {});
  CHECK(ink(one, 11, 11) == 1.0f);
  CHECK(ink(one, 12, 11) == 1.0f);
  CHECK(ink(one, 10, 11) == 0.0f);  // distance 1.5 from the stem
  CHECK(ink(one, 13, 11) == 0.0f);
  CHECK(ink(one, 11, 2) == 0.0f);  // distance 1.5 above the top of the stem
  CHECK(ink(one, 8, 19) == 1.0f);  // the foot is at y = 19.5, from 7.5 to 15.5
  CHECK(ink(one, 8, 20) == 1.0f);
  CHECK(ink(one, 5, 20) == 0.0f);
  CHECK(ink(one, 8, 21) == 0.0f);

  const std::vector<float> moved = draw_digit(1, Hand{.right = 3, .down = 1}, {});
  for (std::int64_t y = 1; y < kSide; ++y)
    for (std::int64_t x = 3; x < kSide; ++x) CHECK(ink(moved, x, y) == ink(one, x - 3, y - 1));
  const std::vector<float> turned = draw_digit(1, Hand{.angle = std::numbers::pi / 2}, {});
  for (std::int64_t y = 0; y < kSide; ++y)
    for (std::int64_t x = 0; x < kSide; ++x)  // the rotation is counterclockwise
      CHECK(std::abs(ink(turned, y, kSide - 1 - x) - ink(one, x, y)) < 1e-5f);
  const std::vector<float> half = draw_digit(0, Hand{.scale = 0.5}, {});
  CHECK(ink(half, 11, 7) > 0.5f);  // the top of the digit is 4 pixels above the center
  CHECK(ink(half, 11, 3) == 0.0f);
  CHECK(ink(draw_digit(1, Hand{.pen = 4}, {}), 10, 11) == 1.0f);
  CHECK(ink(draw_digit(1, Hand{.slant = 0.5}, {}), 13, 8) > 0.9f);
  CHECK_REFUSES(ValueError, draw_digit(10, Hand{}, {}), "digit 10", "0", "9");
}

TEST_CASE("hands stay in their ranges, noise has its deviation, and a seed repeats pictures") {
  std::vector<float> noisy = draw_digit(7, Hand{.down = 100, .noise = 0.1}, {3, 0, 0});
  double squares = 0;  // clipping at 0 halves the variance
  for (const float each : noisy) squares += each * each;
  const double n = static_cast<double>(noisy.size());
  // max(0, z)² has mean ½ and variance 3/2 − 1/4; the bound is four standard deviations.
  CHECK(std::abs(squares / n / 0.01 - 0.5) < 4 * std::sqrt(1.25 / n));

  double least = 1, most = -1;
  for (std::uint32_t i = 0; i < 200; ++i) {
    const Hand hand = examples::random_hand({1, i, 0});
    least = std::min(least, hand.angle), most = std::max(most, hand.angle);
    CHECK((0.7 <= hand.scale && hand.scale < 1.15 && 1.5 <= hand.pen && hand.pen < 3));
    CHECK((std::abs(hand.slant) <= 0.25 && std::abs(hand.right) <= 3));
    CHECK((std::abs(hand.down) <= 3 && 0.05 <= hand.noise && hand.noise < 0.25));
  }
  CHECK((-0.35 <= least && least < -0.3 && 0.3 < most && most < 0.35));

  const auto numbers = [](const Tensor& x) { return x.to_vector<float>(); };
  const examples::Labelled some = examples::draw_digits(20, 5, 2);
  CHECK(numbers(examples::draw_digits(20, 5, 2).x) == numbers(some.x));
  CHECK(numbers(examples::draw_digits(20, 5, 3).x) != numbers(some.x));
  CHECK(numbers(examples::draw_digits(40, 5, 1).x) ==
        numbers(cat({some.x, examples::draw_digits(20, 5, 3).x})));
  CHECK(numbers(examples::draw_digits(20, 6, 2).x) != numbers(some.x));
  CHECK(examples::seed_of(5, examples::Part::training) == 5);
  CHECK(examples::seed_of(5, examples::Part::test) !=
        examples::seed_of(5, examples::Part::validation));
}

TEST_CASE("side_by_side prints a picture next to its attention") {
  std::vector<double> where(kSide * kSide, 0.0);
  where[0] = 1;
  const std::string lines =
      examples::side_by_side(tensor(draw_digit(1, Hand{}, {}), {1, 1, kSide, kSide}), where);
  CHECK(lines.substr(0, 60) == std::string(48, ' ') + "  |  @@\n" + std::string(4, ' '));
  CHECK(std::count(lines.begin(), lines.end(), '\n') == kSide);
  CHECK(lines.find(std::string(22, ' ') + "@@@@" + std::string(22, ' ') + "  |\n") !=
        std::string::npos);
}

const std::string kVision = "'" GRADUS_BINARY_DIR "/vision' ";
const std::string kTiny =
    "--threads 1 --tested 200 --steps 12 --eval-every 4 --batch 4 --layers 1 --heads 2 --width 8 "
    "--patch 8 ";

TEST_CASE("vision trains and shows its attention") {
  const Workplace here;
  const Outcome whole = here.shell(kVision + "train --out run --dropout 0.1 " + kTiny);
  CAPTURE(whole.err);
  REQUIRE(whole.code == 0);
  for (const char* words : {"accuracy on 200 test examples", "majority", "pixels", "vision Trans"})
    CHECK(has(whole.out, words));
  const Outcome seven = here.shell(kVision + "look run --digit 7 --seed 3");
  CHECK(seven.code == 0);
  CHECK((has(seven.out, "guess ") && has(seven.out, "; drawn as 7\n")));
  CHECK(here.shell(kVision + "look run --digit 7 --seed 3").out == seven.out);
  io::save_npy((here.directory / "seven.npy").string(),
               reshape(examples::draw_one(7, 3), {kSide, kSide}));
  const Outcome file = here.shell(kVision + "look run seven.npy");
  CHECK(file.out == seven.out.substr(0, seven.out.find("; drawn")) + "\n");

  io::save_npy((here.directory / "wide.npy").string(), zeros({2, 3}));
  io::save_npy((here.directory / "dark.npy").string(), full({kSide, kSide}, 1.5));
  check_refused(here.shell(kVision + "look run wide.npy"),
                {"wide.npy: has the shape [2, 3]", "24"});
  check_refused(here.shell(kVision + "look run dark.npy"), {"dark.npy: values must be", "got 1.5"});
  check_refused(here.shell(kVision + "look run none.npy"), {"none.npy"});
  check_refused(here.shell(kVision + "look run --digit 11"), {"digit 11: must be 0 to 9"});
  check_refused(here.shell(kVision + "look run --seed -1"), {"--seed -1: must not be negative"});
  check_refused(here.shell(kVision + "look run seven.npy --digit 3"), {"--digit", "excludes"});
}

TEST_CASE("vision reports usage errors in one line") {
  const Workplace here;
  check_refused(here.shell(kVision), {"subcommand"});
  check_refused(here.shell(kVision + "train --patch 5"), {"--patch 5: must divide 24"});
  check_refused(here.shell(kVision + "look nowhere"), {"nowhere: holds no vision run"});
  CHECK_FALSE(fs::exists(here.directory / "runs"));
}

}  // namespace
}  // namespace gradus::testing::test_vision
