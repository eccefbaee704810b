#include <cmath>
#include <vector>

#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
#include <gradus/check/raw/check.h>

static double tanh_of(double x) { return std::tanh(x); }
static double right(double x) { return 1 - std::tanh(x) * std::tanh(x); }
static double wrong(double) { return 1; }
static const double x = 0.5;

TEST_CASE("a correct derivative passes") { CHECK(gradus::check::raw("tanh", tanh_of, right, x)); }

TEST_CASE("a wrong derivative fails") { CHECK(gradus::check::raw("dy only", tanh_of, wrong, x)); }
