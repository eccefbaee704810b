#include <cmath>
#include <vector>

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#endif
#include <gradus/check/raw/catch2.h>
#include <gradus/check/raw/check.h>

static double tanh_of(double x) { return std::tanh(x); }
static double right(double x) { return 1 - std::tanh(x) * std::tanh(x); }
static double wrong(double) { return 1; }
static const double x = 0.5;

TEST_CASE("a correct derivative passes") {
  CHECK_THAT(gradus::check::raw("tanh", tanh_of, right, x), gradus::check::HasCorrectGradients());
}

TEST_CASE("a wrong derivative fails") {
  CHECK_THAT(gradus::check::raw("dy only", tanh_of, wrong, x),
             gradus::check::HasCorrectGradients());
}
