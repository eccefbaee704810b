// Compares the C++ lines of pytorch_lines.inc with the results of their Python counterparts, which
// make_pytorch_lines.py writes. docs/guides/from_pytorch.md lists the differences.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gradus/gradus.h"
#include "gradus/tests/support/catch.h"

namespace gradus::testing::test_pytorch_lines {
namespace {

struct Line {
  const char* python;
  std::function<Tensor()> here;
};

std::vector<Line> lines() {
  using namespace nn;
  const Tensor x = arange(6).to(Dtype::f32).reshape({2, 3}) - 2.5;
  const Tensor y = arange(6).to(Dtype::f32).reshape({2, 3}) * 0.5 + 0.25;
  const Tensor b = arange(24).to(Dtype::f32).reshape({2, 3, 4}) / 10;
  const Tensor v = tensor({1, -2, 3}), w = tensor({{1, 2, 3}, {4, 5, 6}, {7, 8, 10}});
  const Tensor ids = indices({2, 0, 1}), at = indices({0, 2}).reshape({2, 1});
  const Tensor labels = indices({2, 0}), table = w, n = arange(5) - 2;
  const std::vector<float> values = {1, 2, 4};
  return {
#define LINE(python, ...) {python, [=]() -> Tensor { return Tensor(__VA_ARGS__); }},
#define LINES(python, ...) {python, [=]() -> Tensor { __VA_ARGS__ }},
#include "pytorch_lines.inc"
#undef LINE
#undef LINES
  };
}

nlohmann::json pytorch() {
  std::ifstream file(GRADUS_SOURCE_DIR "/tests/golden/pytorch_lines.json");
  return nlohmann::json::parse(file);
}

}  // namespace

TEST_CASE("common lines of PyTorch code give the same results") {
  const nlohmann::json golden = pytorch();
  CHECK(lines().size() >= 110);
  CHECK(lines().size() == golden.size());
  for (const Line& line : lines()) {
    INFO(line.python);
    REQUIRE(golden.contains(line.python));
    const nlohmann::json& expected = golden.at(line.python);
    const Tensor found = line.here();
    const std::vector<std::int64_t> sizes(found.shape().begin(), found.shape().end());
    CHECK(sizes == expected.at("shape").get<std::vector<std::int64_t>>());
    CHECK(std::string(name_of(found.dtype())) == expected.at("dtype").get<std::string>());
    const auto numbers = found.to(Dtype::f64).to_vector<double>();
    const auto right = expected.at("values").get<std::vector<double>>();
    REQUIRE(numbers.size() == right.size());
    double largest = 1;
    for (const double each : right) largest = std::max(largest, std::abs(each));
    // 32 ulps of f32 allow for a different summation order and exponential.
    for (std::size_t i = 0; i < right.size(); ++i)
      CHECK(std::abs(numbers[i] - right[i]) <= 32 * 0x1p-24 * largest);
  }
}

}  // namespace gradus::testing::test_pytorch_lines
