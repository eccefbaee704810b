// The words for places, and the shapes that evidence is looked at in.
#include "gradus/tests/check/evidence_cases.h"

namespace gradus::check::evidence_cases {
namespace {

using golden::Page;

/// All sets of elements of a small shape: each place with a name is among them.
void show_locations(Page& page, const Shape& shape, const Values& x) {
  const Index count = count_of(shape);
  for (Index set = 0; set < (Index{1} << count); ++set) {
    std::vector<bool> in(count);
    std::string picture;
    for (Index j = 0; j < count; ++j) picture += (in[j] = (set >> j & 1U) != 0) ? '#' : '.';
    page.line(picture, location(in, shape, x));
  }
}

}  // namespace

TEST_CASE("places of elements in words are golden/check/locations.txt") {
  Page page;
  show_locations(page, {4}, {-1, 2, -3, 4});
  show_locations(page, {3}, {0, 0, 1});
  show_locations(page, {3, 2}, {1, 2, -3, 0, -5, 6});
  show_locations(page, {3, 3}, {});
  show_locations(page, {2, 1, 3}, {1, 1, 1, 1, 1, 1});
  page.compare("locations.txt");
}

TEST_CASE("groups along axes, and what is broadcast, are golden/check/groups.txt") {
  Page page;
  for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 3}, Shape{3, 1}, Shape{2, 2, 3}}) {
    for (Index axis = 0; axis <= shape.size(); ++axis) {
      page.line(list(shape), axis_text(axis, shape));
      for (const auto& group : groups_along(axis, shape)) page.line("  ", group);
    }
    for (const Shape& to : {Shape{3}, Shape{2, 3}, Shape{4, 2, 3}, Shape{2, 2, 3}, Shape{3, 2}})
      page.line(list(shape), "to", list(to), spread(plain(count_of(shape)), shape, to));
  }
  for (const double a : {0.0, 1.0, -1.0, 2.0, -2.0, 3.0, HUGE_VAL, std::nan("")})
    for (const double n : {0.0, 2.0, -2.0, 1.0})
      page.line(a, n, std::string(1, map_character(a, n)));
  page.compare("groups.txt");
}

TEST_CASE("how far two Jacobians are apart, and whether that tells anything") {
  Page page;
  for (const double unsure : {0.0, 1e-9, 2e-5, 4.9e-5, 5.1e-5, 1.0})
    for (const double apart : {1.0, 0.5, HUGE_VAL, std::nan("")}) {
      Evidence e = right({2}, {2}, plain_entry);
      e.inputs[0].unsure = unsure;
      e.inputs[0].analytic(1, 0) += apart;
      const Comparison d(e);
      page.line(unsure, apart, "finite", d.finite, "worst", d.worst, "fuzz", d.fuzz, "telling",
                d.telling(), "wrong", d.wrong(1, 0), d.wrong(0, 1), d.wrong_elements(),
                d.having(true, [&](auto i, auto j) { return d.wrong(i, j); }), d.dx);
    }
  page.compare("comparisons.txt");
}

}  // namespace gradus::check::evidence_cases
