#include <cmath>
#include <vector>

#include <gradus/check/raw/check.h>
#include <gtest/gtest.h>

static double tanh_of(double x) { return std::tanh(x); }
static double right(double x) { return 1 - std::tanh(x) * std::tanh(x); }
static double wrong(double) { return 1; }
static const double x = 0.5;

TEST(Tanh, RightDerivative) {
  const gradus::check::Report report = gradus::check::raw("tanh", tanh_of, right, x);
  EXPECT_TRUE(report) << report;
}

TEST(Tanh, WrongDerivative) {
  const gradus::check::Report report = gradus::check::raw("dy only", tanh_of, wrong, x);
  EXPECT_TRUE(report) << report;
}
