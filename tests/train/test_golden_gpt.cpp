// Compares twenty training steps with PyTorch (tests/golden/make_gpt.py). GRADUS_GOLDEN_DIR=DIR and
// GRADUS_GOLDEN_PRESET=cpu select another dump.
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "gradus/tests/support/catch.h"
#include "gradus/tests/train/golden_gpt.h"

namespace gradus::testing::test_golden_gpt {
namespace {

std::string or_default(const char* variable, const std::string& otherwise) {
  const char* value = std::getenv(variable);
  return value ? value : otherwise;
}

void compare(Dtype dtype, double tolerance, bool relative) {
  const std::string directory =
      or_default("GRADUS_GOLDEN_DIR", GRADUS_SOURCE_DIR "/tests/golden/gpt_toy");
  std::ifstream file(directory + "/expected.json");
  const nlohmann::json expected = nlohmann::json::parse(file);
  const Trajectory got =
      train_20_steps(or_default("GRADUS_GOLDEN_PRESET", "toy"), directory, dtype);
  for (std::size_t i = 0; i < 20; ++i) {
    const double loss = expected["loss"][i], norm = expected["grad_norm"][i];
    CAPTURE(i, loss, got.loss[i], norm, got.grad_norm[i]);
    CHECK(std::abs(got.loss[i] - loss) <= tolerance * (relative ? loss : 1));
    CHECK(std::abs(got.grad_norm[i] - norm) <= tolerance * (relative ? norm : 1));
  }
}

// A step has a rounding error of about 1e-15 · √(10⁵ terms). AdamW divides by √v of about 1e-8,
// which may amplify the error a thousandfold. 1e-9 exceeds this error and is far below the effect
// of any bug.
TEST_CASE("twenty training steps equal PyTorch's in f64") { compare(Dtype::f64, 1e-9, false); }

// In f32, a step has a rounding error of about √(10⁵) · 6e-8 = 2e-5. Errors of independent steps
// add up as √20, to 9e-5.
TEST_CASE("twenty training steps equal PyTorch's in f32") { compare(Dtype::f32, 2e-4, true); }

}  // namespace
}  // namespace gradus::testing::test_golden_gpt
