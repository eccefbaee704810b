// What is said of gradients of a wrong size: each hypothesis by itself, with evidence that fits it,
// that nearly does and that does not.
#include "gradus/tests/check/evidence_cases.h"

namespace gradus::check::evidence_cases {
namespace {

using golden::Page;

const std::vector<Hypothesis> kSizes{upstream_only, constant_factor, missing_term, varying_factor,
                                     local_derivative};

/// Evidence whose numbers name_of() may know: axes of 5 and 7, a single value, eleven outputs.
Evidence named() {
  Evidence e = right({5, 7}, {11}, plain_entry);
  e.inputs[2].values = {-6.5};
  e.inputs.push_back({"t", {}, {0.0}, {11, 1}, {11, 1}});
  e.inputs.push_back({"u", {}, {1.0}, {11, 1}, {11, 1}});
  e.inputs.push_back({"v", {1}, {19.0}, {11, 1}, {11, 1}});
  return e;
}

/// The terms that may be missing: proportional to v within each group along an axis, with another
/// factor for each output.
std::vector<Way> terms(const Evidence& e) {
  const Operand& x = e.inputs[0];
  const auto with = [&](const Values& v, Index axis) -> Entry {
    std::vector<Index> group(x.values.size(), 0);
    const auto groups = groups_along(axis, x.shape);
    for (Index g = 0; g < groups.size(); ++g)
      for (const Index j : groups[g]) group[j] = g;
    return [n = x.numeric, v, group](Index i, Index j) {
      return n(i, j) + (0.5 + static_cast<double>(i) - 0.25 * static_cast<double>(group[j])) * v[j];
    };
  };
  std::vector<Way> all;
  for (Index axis = 0; axis <= x.shape.size(); ++axis) {
    const std::string along = " along " + std::to_string(axis);
    Values exponential = e.output, hat = x.values;
    for (double& v : exponential) v = std::exp(v);
    for (const auto& group : groups_along(axis, x.shape)) {
      double sum = 0;
      for (const Index j : group) sum += x.values[j];
      for (const Index j : group) hat[j] -= sum / static_cast<double>(group.size());
    }
    all.push_back({"ones" + along, with(Values(x.values.size(), 1.0), axis)});
    if (e.output.size() == x.values.size()) {
      all.push_back({"y" + along, with(e.output, axis)});
      all.push_back({"exp(y)" + along, with(exponential, axis)});
    }
    all.push_back({"x" + along, with(x.values, axis)});
    all.push_back({"x - mean" + along, with(hat, axis)});
  }
  return all;
}

/// N times a number for each element, or for each output.
std::vector<Way> factors(const Evidence& e) {
  const Matrix n = e.inputs[0].numeric;
  const Index width = e.inputs[1].values.size();
  const auto columns = [n](Values r, int power, double c) -> Entry {
    return [=](Index i, Index j) { return c * n(i, j) * std::pow(r[j % r.size()], power); };
  };
  const auto rows = [n](Values r, int power, double c) -> Entry {
    return [=](Index i, Index j) { return c * n(i, j) * std::pow(r[i % r.size()], power); };
  };
  std::vector<Way> all;
  for (const int power : {-2, -1, 1, 2, 3})
    for (const double c : {1.0, -1.0, 2.5}) {
      const std::string how = " to the " + std::to_string(power) + " by " + golden::shown(c);
      all.push_back({"x" + how, columns(e.inputs[0].values, power, c)});
      all.push_back({"w" + how, columns(e.inputs[1].values, power, c)});
      all.push_back({"y" + how, rows(e.output, power, c)});
    }
  for (const Index group : {Index{2}, width})
    all.push_back({"groups of " + std::to_string(group), [n, group](Index i, Index j) {
                     return n(i, j) * (1.5 + static_cast<double>(j / group));
                   }});
  all.push_back(
      {"strided", [n, width](Index i, Index j) { return n(i, j) * (real(j % width) + 1.5); }});
  all.push_back(
      {"by output", [n, width](Index i, Index j) { return n(i, j) * (real(i / width) + 1.5); }});
  all.push_back(
      {"first row 0", [n, width](Index i, Index j) { return j < width ? 0 : 3 * n(i, j); }});
  return all;
}

/// A constant factor, and A that is something else altogether.
std::vector<Way> constants(const Evidence& e) {
  const Matrix n = e.inputs[0].numeric;
  std::vector<Way> all;
  for (const double c :
       {0.0, -1.0, -1 - 3e-6, -1 + 8e-7, 2.0, 0.5, 3.0, -0.25, 7.3, 1.001, 0.7, 1 / 0.7})
    all.push_back(
        {"times " + golden::shown(c, 8), [n, c](Index i, Index j) { return c * n(i, j); }});
  all.push_back({"dy", [](Index i, Index j) { return i == j ? 1 : 0; }});
  all.push_back({"twice dy", [](Index i, Index j) { return i == j ? 2 : 0; }});
  all.push_back(
      {"a diagonal", [n](Index i, Index j) { return i == j ? n(i, j) + 1 + real(i * i) : 0; }});
  all.push_back(
      {"all other", [n](Index i, Index j) { return n(i, j) + plain_entry(j + 9, i + 4); }});
  return all;
}

void show_all(Page& page, const Evidence& e, const std::vector<Way>& ways) {
  for (const Way& way : ways)
    for (const Way& one : nearly(e, way)) show(page, one.name, spoiled(e, one.entry), kSizes);
}

double diagonal(Index i, Index j) { return i == j ? plain_entry(i, j) : 0; }
double in_rows_of_3(Index i, Index j) { return i / 3 == j / 3 ? plain_entry(i, j) : 0; }

}  // namespace

TEST_CASE("numbers that formulas know have their names, and others none") {
  const Evidence e = named();
  const Comparison d(e);
  Page page;
  for (const double v :
       {5.0, 7.0, -6.5, 19.0, 2.0, 3.0, 4.0, std::acos(-1.0), 11.0, 0.0, 1.0, 6.0, 9.0})
    for (const double base :
         {v, 1 / v, std::sqrt(v), 1 / std::sqrt(v), v / (v - 1), (v - 1) / v, v * v})
      for (const double off : {0.0, 0.9e-6, -1.1e-6})
        page.line(golden::shown(v, 4), golden::shown(base * (1 + off), 9),
                  name_of(d, base * (1 + off)));
  page.compare("names.txt");
}

TEST_CASE("missing terms along each axis are golden/check/terms.txt") {
  Page page;
  for (const Shape& shape : {Shape{4}, Shape{2, 3}, Shape{3, 2}, Shape{2}}) {
    const Evidence e = right(shape, shape, plain_entry);
    page.line("======", list(shape));
    show_all(page, e, terms(e));
  }
  const Evidence other = right({2, 3}, {4}, plain_entry);
  show_all(page, other, terms(other));
  page.compare("terms.txt");
}

TEST_CASE("factors of elements and outputs are golden/check/factors.txt") {
  Page page;
  for (const Shape& shape : {Shape{3}, Shape{2, 3}, Shape{2, 2}}) {
    page.line("======", list(shape));
    Evidence e = right(shape, shape, plain_entry);
    show_all(page, e, factors(e));
    e = right(shape, shape, diagonal);
    for (const Way& way : factors(e))
      show(page, "diagonal, " + way.name, spoiled(e, way.entry), kSizes);
  }
  page.compare("factors.txt");
}

TEST_CASE("constant factors, and what is no factor, are golden/check/constants.txt") {
  Page page;
  for (const Entry& entry : {Entry(plain_entry), Entry(diagonal), Entry(in_rows_of_3)})
    for (const Shape& shape : {Shape{}, Shape{1}, Shape{2}, Shape{3}, Shape{2, 3}}) {
      page.line("======", list(shape));
      const Evidence e = right(shape, shape, entry);
      show_all(page, e, constants(e));
    }
  const Evidence wide = right({3}, {2}, plain_entry), tall = right({2}, {3}, plain_entry);
  show_all(page, wide, constants(wide));
  show_all(page, tall, constants(tall));
  page.compare("constants.txt");
}

TEST_CASE("a factor is common only where enough different numbers agree") {
  Page page;
  const double nan = std::nan("");
  for (const Values& v :
       {Values{2, 3}, Values{2, 2, 3}, Values{2, 3, 5}, Values{2, 2, 2, 2}, Values{-2, 3, 5, 7}})
    for (const int power : {-2, -1, 1, 2})
      for (const double c : {1.0, -1.0, 3.0, 1 + 5e-7})
        for (const double off : {0.0, 0.9e-6, -1.1e-6}) {
          Values r{nan};
          for (Index i = 1; i < v.size(); ++i) r.push_back(c * std::pow(v[i], power));
          const double with_nan = common_factor(r, v, power);
          r[0] = c * std::pow(v[0], power) * (1 + off);
          page.line(v, power, c, golden::shown(off), "nan first", with_nan, "all",
                    common_factor(r, v, power), "short", common_factor(r, {v[0]}, power));
        }
  for (const Values& r :
       {Values{2, 2, 3, 3}, Values{2, 2, 2, 2}, Values{2, 3, 2, 3}, Values{nan, 2, 3, 3},
        Values{nan, 2, 3, nan}, Values{0, 2, 3, 3}, Values{2, 2, 0, 0}, Values{2, 0, 3, 3},
        Values{2, 2 + 1e-6, 3, 3}, Values{2, 2 + 3e-6, 3, 3}, Values{-2, -2, 3, 3},
        Values{nan, nan, 3, 3}, Values{0, 0, 0, 0}})
    page.line(r, same_in_groups(r, {{0, 1}, {2, 3}}), same_in_groups(r, {{0, 1, 2}, {3}}),
              same_in_groups(r, {{0, 2}, {1, 3}}), same_in_groups(r, {{0, 1, 2, 3}}));
  page.compare("common_factors.txt");
}

}  // namespace gradus::check::evidence_cases
