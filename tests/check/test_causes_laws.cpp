// When dy that is never read is called the cause: of which rows, and of which inputs.
#include "gradus/tests/check/evidence_cases.h"

namespace gradus::check::evidence_cases {
namespace {

/// Some outputs' rows do not depend on anything, and some are not read.
Evidence rows_of(const Shape& in, const Shape& out, const std::vector<Index>& none,
                 const std::vector<Index>& unread, double sign = 0) {
  Evidence e = right(in, out, plain_entry);
  for (Operand& input : e.inputs)
    for (Index j = 0; j < input.numeric.columns; ++j) {
      for (Index i = 0; i < input.numeric.rows && sign != 0; ++i)
        input.analytic(i, j) = input.numeric(i, j) = sign * std::abs(input.numeric(i, j));
      for (const Index i : none) input.analytic(i, j) = input.numeric(i, j) = 0;
      for (const Index i : unread) input.analytic(i, j) = 0;
    }
  return e;
}

std::string why(const Evidence& e) { return unread_upstream(e).why; }

}  // namespace

TEST_CASE("rows that nothing depends on are not the ones that are never read") {
  for (const double sign : {0.0, 1.0, -1.0}) {
    CHECK(why(rows_of({3}, {3}, {0}, {1}, sign)) == "dy at index 1 of axis 0 is never read");
    CHECK(why(rows_of({3}, {3}, {2}, {0}, sign)) ==
          "dy at the first index of axis 0 is never read");
    CHECK(why(rows_of({2}, {5}, {4}, {0, 2}, sign)) ==
          "dy of 2 outputs, the first of them out[0], is never read");
    CHECK(why(rows_of({3}, {3}, {0}, {}, sign)).empty());
    CHECK(why(rows_of({3}, {3}, {0, 1}, {2}, sign)) ==
          "dy at the last index of axis 0 is never read");
  }
  Evidence e = rows_of({3}, {3}, {0}, {1});
  e.inputs[2].numeric(1, 0) = 0;  // and this input is right
  CHECK(why(e) == "dy at index 1 of axis 0 is never read");
}

TEST_CASE("one input that is measured badly, infinite or wrong besides is enough to name none") {
  for (const Index k : {0U, 1U, 2U}) {
    Evidence e = rows_of({3}, {3}, {}, {1});
    e.inputs[k].unsure = 1;
    CHECK(why(e).empty());
    e = rows_of({3}, {3}, {}, {1});
    e.inputs[k].analytic(0, 0) = HUGE_VAL;
    CHECK(why(e).empty());
    e = rows_of({3}, {3}, {}, {1});
    e.inputs[k].analytic(2, 0) += 0.5;
    CHECK(why(e).empty());
  }
}

TEST_CASE("two inputs that are wrong have one cause") {
  Evidence e = rows_of({3}, {3}, {}, {1});
  Report report;
  for (const Operand& input : e.inputs) report.inputs.push_back({.name = input.name, .wrong = 1});
  report.inputs[1].wrong = 0;
  explain(report, e);
  CHECK(report.inputs[0].cause.name == "UPSTREAM UNREAD");
  CHECK(report.inputs[1].cause.name.empty());
  CHECK(report.inputs[2].cause.name == "UPSTREAM UNREAD");
}

}  // namespace gradus::check::evidence_cases
