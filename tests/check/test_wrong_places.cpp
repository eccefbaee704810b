// What is said of gradients in the wrong place: each hypothesis by itself, with evidence that fits
// it, that nearly does and that does not.
#include <numeric>

#include "gradus/tests/check/evidence_cases.h"

namespace gradus::check::evidence_cases {
namespace {

using golden::Page;

const std::vector<Hypothesis> kPlaces{swapped,       transposed, operand_transposed, off_by_one,
                                      column_major,  flipped,    permuted,           left_out,
                                      gradient_leak, subset};

double diagonal(Index i, Index j) { return i == j ? plain_entry(i, j) : 0; }
double in_blocks(Index i, Index j) { return i / 2 == j / 2 ? plain_entry(i, j) : 0; }
double few_elements(Index i, Index j) { return j % 3 == 0 ? plain_entry(i, j) : 0; }
/// The same for all outputs and elements but a few: permutations fit by chance.
double alike(Index i, Index j) { return (i + j) % 2 == 0 ? 1 : 2; }

using Source = std::function<std::optional<Index>(Index)>;

/// A as N elsewhere: by elements, or by outputs.
Way moved(const std::string& name, const Matrix& n, bool upstream, const Source& source) {
  return {name + (upstream ? " read" : " written"), [=](Index i, Index j) {
            const auto from = source(upstream ? i : j);
            return !from ? 0.0 : upstream ? n(*from, j) : n(i, *from);
          }};
}

Source permuted_axes(const Shape& shape, const std::vector<Index>& axes) {
  return [=](Index e) -> std::optional<Index> {
    Shape other, here(shape.size());
    for (const Index axis : axes) other.push_back(shape[axis]);
    const Shape there = index_of(e, other);
    for (Index a = 0; a < axes.size(); ++a) here[axes[a]] = there[a];
    return element_at(here, shape);
  };
}

Source shifted(const Shape& shape, Index axis, std::int64_t step, bool rolled) {
  return [=](Index e) -> std::optional<Index> {
    Shape at = index_of(e, shape);
    at[axis] += step;
    if (rolled) at[axis] = (at[axis] + 2 * shape[axis]) % shape[axis];
    if (at[axis] < 0 || at[axis] >= shape[axis]) return {};
    return element_at(at, shape);
  };
}

std::vector<Way> moves(const Evidence& e) {
  const Matrix n = e.inputs[0].numeric;
  std::vector<Way> all;
  for (const bool upstream : {true, false}) {
    const Shape shape = upstream ? e.output_shape : e.inputs[0].shape;
    const Index count = count_of(shape);
    const auto add = [&](const std::string& name, const Source& source) {
      all.push_back(moved(name, n, upstream, source));
    };
    std::vector<Index> axes(shape.size());
    std::iota(axes.begin(), axes.end(), Index{0});
    while (std::next_permutation(axes.begin(), axes.end()))
      add("axes " + golden::word(axes), permuted_axes(shape, axes));
    for (Index axis = 0; axis < shape.size(); ++axis)
      for (const std::int64_t step : {1, -1, 2})
        for (const bool rolled : {true, false})
          add((rolled ? "roll " : "shift ") + std::to_string(axis) + " by " + std::to_string(step),
              shifted(shape, axis, step, rolled));
    add("backwards", [count](Index k) { return count - 1 - k; });
    if (count > 1) add("first two exchanged", [](Index k) { return k < 2 ? 1 - k : k; });
    add("first twice", [](Index k) { return k == 1 ? 0 : k; });
    add("multiples", [count](Index k) { return (k * 5 + 2) % count; });
    for (const Index left : {Index{0}, Index{1}, count - 1})
      add("without " + std::to_string(left),
          [left](Index k) { return k == left ? std::nullopt : std::optional(k); });
    add("without the even ones", [](Index k) { return k % 2 ? std::optional(k) : std::nullopt; });
    add("the first half",
        [count](Index k) { return 2 * k < count ? std::optional(k) : std::nullopt; });
  }
  return all;
}

std::vector<Way> others(const Evidence& e) {
  const Operand& x = e.inputs[0];
  const Matrix n = x.numeric, w = e.inputs[1].numeric;
  const Index rows = n.rows, columns = n.columns;
  const auto where = [&](const std::string& name, const std::function<bool(Index, Index)>& chosen) {
    return std::vector<Way>{
        {"0 " + name, [=](Index i, Index j) { return chosen(i, j) ? 0 : n(i, j); }},
        {"doubled " + name, [=](Index i, Index j) { return (chosen(i, j) ? 2 : 1) * n(i, j); }},
        {"more " + name,
         [=](Index i, Index j) { return n(i, j) + (chosen(i, j) ? 0.5 + real(j) : 0); }}};
  };
  std::vector<Way> all{{"right", [n](Index i, Index j) { return n(i, j); }},
                       {"by columns",
                        [=](Index i, Index j) {
                          const Index p = i * columns + j;
                          return n(p % rows, p / rows);
                        }},
                       {"transposed", [=](Index i, Index j) { return n(j % rows, i % columns); }},
                       {"that of w", [=](Index i, Index j) { return w(i, j % w.columns); }}};
  const auto add = [&](std::vector<Way> more) { all.insert(all.end(), more.begin(), more.end()); };
  add(where("in the first row", [](Index i, Index) { return i == 0; }));
  add(where("in the last column", [=](Index, Index j) { return j + 1 == columns; }));
  add(where("at one place", [](Index i, Index j) { return i == 1 && j == 0; }));
  add(where("below", [](Index i, Index j) { return i > j; }));
  add(where("where x is negative", [v = x.values](Index, Index j) { return v[j] < 0; }));
  add(where("where x is positive", [v = x.values](Index, Index j) { return v[j] > 0; }));
  add(where("where N is 0", [=](Index i, Index j) { return n(i, j) == 0; }));
  add(where("in all but one column", [](Index, Index j) { return j != 1; }));
  return all;
}

void show_all(Page& page, const Evidence& e) {
  page.line("======", list(e.output_shape), "by", list(e.inputs[0].shape));
  for (const auto& ways : {moves(e), others(e)})
    for (const Way& way : ways)
      for (const Way& one : nearly(e, way)) show(page, one.name, spoiled(e, one.entry), kPlaces);
}

}  // namespace

TEST_CASE("dense Jacobians with numbers elsewhere are golden/check/places.txt") {
  Page page;
  for (const Shape& shape : {Shape{4}, Shape{2, 3}, Shape{3, 3}, Shape{2, 2}, Shape{5}})
    show_all(page, right(shape, shape, plain_entry));
  show_all(page, right({3, 2}, {4}, plain_entry));
  show_all(page, right({3}, {3, 2}, plain_entry));
  page.compare("places.txt");
}

TEST_CASE("sparse Jacobians with numbers elsewhere are golden/check/sparse_places.txt") {
  Page page;
  for (const Entry& entry : {Entry(diagonal), Entry(in_blocks), Entry(few_elements), Entry(alike)})
    for (const Shape& shape : {Shape{4}, Shape{2, 3}}) show_all(page, right(shape, shape, entry));
  page.compare("sparse_places.txt");
}

TEST_CASE("the axes of three and of four are told, of five not") {
  Page page;
  for (const Shape& shape :
       {Shape{2, 1, 3}, Shape{2, 3, 2}, Shape{1, 2, 1, 2}, Shape{1, 1, 2, 1, 2}}) {
    const Evidence e = right(shape, {2, 2}, plain_entry);
    page.line("======", list(shape));
    for (const Way& way : moves(e)) show(page, way.name, spoiled(e, way.entry), kPlaces);
  }
  page.compare("axes.txt");
}

TEST_CASE("a Jacobian under test by columns, and gradients of one another") {
  Page page;
  for (const auto& [rows, columns] : {std::pair{2, 3}, {3, 3}, {1, 4}, {4, 1}, {4, 2}}) {
    Evidence e = right({columns}, {rows}, plain_entry);
    e.jacobian = true;
    show_all(page, e);
  }
  Evidence e = right({3}, {2}, plain_entry);
  for (const Index of : {0, 1})
    for (const bool both : {false, true}) {
      Evidence now = e;
      now.input = of;
      now.inputs[of].analytic = e.inputs[1 - of].numeric;
      if (both) now.inputs[1 - of].analytic = e.inputs[of].numeric;
      show(page, "exchanged", now, kPlaces);
    }
  page.compare("by_columns.txt");
}

TEST_CASE("permutations are looked for among 3 to 512") {
  for (const Index count : {2, 3, 512, 513}) {
    const Entry one = [](Index i, Index j) { return i == 0 ? real(j) + 1 : 0; };
    const auto n = static_cast<std::int64_t>(count);
    const Evidence e = spoiled(right({n}, {1}, one),
                               [&](Index i, Index j) { return one(i, (j * 5 + 1) % count); });
    const Evidence by_rows = spoiled(right({1}, {n}, [&](Index i, Index j) { return one(j, i); }),
                                     [&](Index i, Index j) { return one(j, (i * 5 + 1) % count); });
    CHECK(permuted(Comparison(e)).name.empty() == (count < 3 || count > 512));
    CHECK(permuted(Comparison(by_rows)).name.empty() == (count < 3 || count > 512));
  }
}

}  // namespace gradus::check::evidence_cases
