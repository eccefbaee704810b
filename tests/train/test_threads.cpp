#include <cmath>

#include "gradus/engine/base/num_threads.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/train/tiny_gpt.h"

namespace gradus::testing::test_threads {
namespace {

/// Returns the losses of five steps, then all weights. The model is wide enough for multiple
/// threads.
std::vector<double> train_with(int threads) {
  const int before = num_threads();
  set_num_threads(threads);
  TinyGpt task(7, Dtype::f64, 128, 64);
  std::vector<double> all;
  for (int step = 0; step < 5; ++step) all.push_back(task.step());
  for (const nn::NamedTensor& each : task.model().parameters())
    for (const double w : each.tensor.to_vector<double>()) all.push_back(w);
  set_num_threads(before);
  return all;
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double most = a.size() == b.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i)
    most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

/// Reordering sums of up to 512 · 512 terms of order 1 changes them by 1e-13. AdamW divides by √v +
/// 1e-8, so for gradients below 1e-8, weights change by up to 1e-13 · rate / 1e-8.
constexpr double kOrderOfSums = 5 * 3e-3 * 1e-13 / 1e-8;

void check(const std::vector<int>& counts) {
  const std::vector<double> one = train_with(1);
  for (const int n : counts) {
    CAPTURE(n);
    const std::vector<double> several = train_with(n);
    CHECK(distance(several, one) <= kOrderOfSums);
    CHECK(train_with(n) == several);
  }
}

}  // namespace

TEST_CASE("the weights of a training run do not depend on the number of threads", "[slow]") {
  check({1, 2, 3, 4, 7});
}

TEST_CASE("more threads than cores do not change the weights of a training run", "[.nightly]") {
  check({16, 64});
}

}  // namespace gradus::testing::test_threads
