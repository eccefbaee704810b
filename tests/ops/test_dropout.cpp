#include "gradus/ops/dropout.h"

#include <cmath>
#include <limits>

#include "gradus/ops/create.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing {
TEST_CASE("dropout keeps 1 − p of the elements, scaled") {
  const std::int64_t n = 100000;
  for (const double p : {0.1, 0.5, 0.9}) {
    const std::vector<float> y = dropout(ones({n}, Dtype::f32), p).to_vector<float>();
    double kept = 0;
    bool scaled = true;
    for (const float v : y) {
      kept += v != 0;
      scaled = scaled && (v == 0 || v == static_cast<float>(1 / (1 - p)));
    }
    CHECK(scaled);
    const double expected = static_cast<double>(n) * (1 - p);
    const double deviation = std::sqrt(expected * p);  // of a binomial distribution
    CHECK(std::abs(kept - expected) < 5 * deviation);  // fails once in 1.7 million runs
  }
}

TEST_CASE("make_dropout_mask returns the mask that dropout uses") {
  Generator own(42), same(42);
  const GeneratorScope scope(own);
  // More than two chunks of eight blocks of words; the last chunk is partial.
  const Tensor x = ones({19, 1021}, Dtype::f64);
  const std::vector<double> y = dropout(x, 0.25).to_vector<double>();
  const GeneratorScope again(same);
  const DropoutMask mask = make_dropout_mask(0.25);
  bool agree = true;
  for (std::size_t i = 0; i < y.size(); ++i)
    agree = agree && (y[i] != 0) == mask.keeps(static_cast<std::int64_t>(i));
  CHECK(agree);
  CHECK(mask.scale == 1 / 0.75);
}

TEST_CASE("each call of dropout drops different elements") {
  const Tensor x = ones({100}, Dtype::f32);
  CHECK(dropout(x, 0.5).to_vector<float>() != dropout(x, 0.5).to_vector<float>());
}

TEST_CASE("dropout returns x if p is 0 or training is off, and draws no stream") {
  Generator own(1);
  const GeneratorScope scope(own);
  const Tensor x = values({3}).requires_grad_();
  for (const Tensor& y : {dropout(x, 0), dropout(x, 0.5, false)}) {
    CHECK(y.storage() == x.storage());
    CHECK(y.node() == x.node());
  }
  CHECK(own.position() == 0);
}

TEST_CASE("dropped elements are 0 even if they were NaN or infinite") {
  const Tensor x = full({64}, std::numeric_limits<double>::infinity(), Dtype::f32);
  for (const float v : dropout(x, 0.5).to_vector<float>()) CHECK((v == 0 || std::isinf(v)));
  const Tensor nan = full({64}, std::nan(""), Dtype::f64);
  int dropped = 0;
  for (const double v : dropout(nan, 0.5).to_vector<double>()) dropped += v == 0;
  CHECK(dropped > 10);  // at most 10 of 64 are dropped with probability 1e-8
  CHECK(dropped < 54);
}

TEST_CASE("backward drops the same elements and does not change a shared upstream gradient") {
  const Tensor x = ones({211}, Dtype::f64).requires_grad_();
  const Tensor dy = ones({211}, Dtype::f64);
  const Tensor y = dropout(x, 0.5);
  y.backward(dy);
  CHECK(x.grad().to_vector<double>() == y.to_vector<double>());
  CHECK(dy.to_vector<double>() == std::vector<double>(211, 1));
}

TEST_CASE("dropout reuses the buffer of a temporary and of no other tensor") {
  const auto with = [](auto&& make) {
    Generator own(5);
    const GeneratorScope scope(own);
    return make();
  };
  const Tensor x = values({7, 11});
  const std::vector<double> before = x.to_vector<double>();
  const Tensor y = with([&] { return dropout(x, 0.5); });
  CHECK(x.to_vector<double>() == before);
  Tensor own = x.clone();
  const void* buffer = own.data<double>();
  const Tensor z = with([&] { return dropout(std::move(own), 0.5); });
  CHECK(z.data<double>() == buffer);
  CHECK(z.to_vector<double>() == y.to_vector<double>());
}

TEST_CASE("make_dropout_mask rejects a probability below 0, or of 1 or more") {
  for (const double p : {-0.1, 1.0, std::nan("")})
    CHECK_REFUSES(ValueError, make_dropout_mask(p), "dropout", "[0, 1)");
}

}  // namespace gradus::testing
