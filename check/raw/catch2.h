// A matcher for Catch2, version 2 or 3:
//
//   CHECK_THAT(check::raw("softmax", softmax, softmax_vjp, x), check::HasCorrectGradients());
//
// Other frameworks need no matcher, because a report converts to bool and is printable:
//
//   EXPECT_TRUE(report) << report;     GoogleTest
//   CHECK(report);                     doctest and Catch2
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/matchers/catch_matchers.hpp>
#else
#include <catch2/catch.hpp>
#endif

#include "gradus/check/raw/findings.h"

namespace gradus::check {

namespace catch2 {
using namespace Catch;
using namespace Catch::Matchers;
}  // namespace catch2

/// Matches reports with the verdict PASS. Prints the report otherwise.
class HasCorrectGradients : public catch2::MatcherBase<Report> {
 public:
  bool match(const Report& report) const override { return static_cast<bool>(report); }
  std::string describe() const override { return "^ expected: all gradients are correct"; }
};

}  // namespace gradus::check
