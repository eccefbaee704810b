// What is said of gradients of a wrong size where it is nearly something else.
#include "gradus/tests/check/evidence_cases.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::check::evidence_cases {
namespace {

using testing::has;

std::string name_at(double v, double c, Index rows = 6) {
  Evidence e = right({13}, {static_cast<std::int64_t>(rows)}, plain_entry);
  e.inputs[2].values = {v};
  return name_of(Comparison(e), c);
}

}  // namespace

TEST_CASE("wrong sizes: numbers beside 1, and many outputs, have their names") {
  CHECK(name_at(1.5, 3) == "s/(s - 1)");
  CHECK(name_at(1.25, 0.2) == "(s - 1)/s");
  CHECK(name_at(0.7, -7.0 / 3).empty());
  CHECK(name_at(0.7, -3.0 / 7).empty());
  CHECK(name_at(0.7, 128, 128) == "128");
  CHECK(name_at(0.7, 1024, 1024) == "1.02e+03");
}

TEST_CASE("wrong sizes: a term needs four places that agree, beyond one for each output") {
  const Values v{2, 0, 3};
  const auto term = [&](Index rows) {
    const Entry entry = [&](Index i, Index j) {
      return plain_entry(i, j) + (1.5 + real(i)) * v[j];
    };
    const Evidence e = spoiled(right({3}, {static_cast<std::int64_t>(rows)}, plain_entry), entry);
    return is_term(Comparison(e), {{0, 1, 2}}, v);
  };
  CHECK(term(4));
  CHECK(term(5));
  CHECK(!term(3));
}

TEST_CASE("wrong sizes: no term of an output that has another shape") {
  const Evidence e = right({2, 3}, {3, 2}, plain_entry);
  for (const Factor& factor : term_factors(Comparison(e), {{0, 1, 2}, {3, 4, 5}}, "rows"))
    CHECK(!has(factor.text, "(y)"));
  CHECK(term_factors(Comparison(e), {{0, 1, 2}, {3, 4, 5}}, "rows").size() == 3);
}

TEST_CASE("wrong sizes: factors of two elements, and beside derivatives that are 0") {
  Evidence two = right({2}, {5}, plain_entry);
  two.inputs[0].values = {2, 3};
  const auto said = [](const Evidence& e) {
    const Cause cause = varying_factor(Comparison(e));
    return cause.name + ": " + cause.why + "; " + cause.hint;
  };
  const auto times_x = [](Index i, Index j) { return plain_entry(i, j) * (j == 0 ? 2 : 3); };
  const auto by_x = [](Index i, Index j) { return plain_entry(i, j) / (j == 0 ? 2 : 3); };
  CHECK(said(spoiled(two, times_x)) == "FACTOR: too much in dx is a factor x; divide dx by x");
  CHECK(said(spoiled(two, by_x)) == "FACTOR: missing from dx is a factor x; multiply dx by x");
  const Entry nearly_0 = [](Index i, Index j) { return j == 1 ? 1e-20 : plain_entry(i, j); };
  Evidence four = right({4}, {5}, nearly_0);
  four.inputs[0].values = {2, 3, 5, 7};
  const Evidence wrong = spoiled(four, [&](Index i, Index j) {
    return j == 1 ? -1e-20 : plain_entry(i, j) * four.inputs[0].values[j];
  });
  CHECK(has(said(wrong), "too much in dx is a factor x;"));
  const double nan = std::nan("");
  CHECK(same_in_groups({2, 2, nan, 3, 3, nan}, {{0, 1, 2}, {3, 4, 5}}));
  CHECK(!same_in_groups({2, 2, 5, 3, 3, nan}, {{0, 1, 2}, {3, 4, 5}}));
  CHECK(!same_in_groups({nan, 2, 2, nan, nan, nan}, {{0, 1, 2}, {3, 4, 5}}));
}

TEST_CASE("wrong sizes: a local derivative is of as many outputs as inputs, each of its own") {
  const auto said = [](const Shape& in, const Shape& out, const Entry& n, const Entry& a) {
    Evidence e = right(in, out, n);
    e.inputs[0].values[0] = 3.14159265;
    return local_derivative(Comparison(spoiled(e, a)));
  };
  const Entry first = [](Index i, Index j) { return i == j ? 1.23456789 + real(i) : 0; };
  const Entry other = [](Index i, Index j) { return i == j ? 2.34567891 - real(i) : 0; };
  const Cause cause = said({3}, {3}, first, other);
  CHECK(cause.name == "LOCAL DERIVATIVE");
  CHECK(cause.hint == "derive f'(x) again: at x = 3.1416 it is 1.234568, not 2.345679");
  CHECK(said({4}, {3}, first, other).name.empty());
  CHECK(said({3}, {4}, first, other).name.empty());
  CHECK(said({2}, {2}, first, other).name.empty());
  for (const auto& [p, q] : {std::pair<Index, Index>{0, 2}, {2, 1}}) {
    const auto beside = [&, p = p, q = q](const Entry& entry, double more) -> Entry {
      return [=](Index i, Index j) { return i == p && j == q ? more : entry(i, j); };
    };
    CHECK(said({3}, {3}, first, beside(other, 0.5)).name.empty());
    CHECK(said({3}, {3}, beside(first, -0.5), other).name.empty());
    CHECK(said({3}, {3}, first, beside(other, 1e-15)).name == "LOCAL DERIVATIVE");
    CHECK(said({3}, {3}, beside(first, 1e-15), other).name == "LOCAL DERIVATIVE");
  }
}

}  // namespace gradus::check::evidence_cases
