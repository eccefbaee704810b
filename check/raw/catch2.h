// A matcher for Catch2, version 2 or 3:
//
//   CHECK_THAT(check::raw("softmax", softmax, softmax_vjp, x), check::HasCorrectGradients());
//
// Other frameworks need none, for a report converts to bool and prints itself:
//
//   EXPECT_TRUE(report) << report;     GoogleTest
//   CHECK(report);                     doctest, and Catch2 too
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/matchers/catch_matchers.hpp>
namespace gradus::check {
template <class T>
using CatchMatcher = Catch::Matchers::MatcherBase<T>;
}
#elif __has_include(<catch2/catch.hpp>)
#include <catch2/catch.hpp>
namespace gradus::check {
template <class T>
using CatchMatcher = Catch::MatcherBase<T>;
}
#endif

#include "gradus/check/raw/report.h"

#if __has_include(<catch2/catch_all.hpp>) || __has_include(<catch2/catch.hpp>)
namespace gradus::check {

class HasCorrectGradients : public CatchMatcher<Report> {
 public:
  bool match(const Report& report) const override { return static_cast<bool>(report); }
  std::string describe() const override { return "^ expected: all gradients are right"; }
};

}  // namespace gradus::check
#endif
