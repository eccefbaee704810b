// The steps of a column: where a function is asked, in what order, how often, and what is kept.
#include "gradus/tests/check/column_cases.h"

namespace gradus::check::column_cases {
namespace {

using golden::Page;

struct Wish {
  std::string name;
  std::function<void(Goal&)> set;
};

const std::vector<Wish> kWishes{
    {"usual", [](Goal&) {}},
    {"thorough", [](Goal& g) { g.thorough = true; }},
    {"long steps", [](Goal& g) { g.first = 0.05; }},
    {"coarse", [](Goal& g) { g.tolerance.rtol = g.tolerance.atol = g.tolerance.floor = 1e-3; }},
    {"float", [](Goal& g) { g.ulp = 0x1p-23; }},
    {"terms", [](Goal& g) { g.terms = 1e-9; }},
    {"natural size", [](Goal& g) { g.natural = 1e-4; }},
};

void show(Page& page, const Curve& curve, const Wish& wish, double x, double unit) {
  Goal goal;
  wish.set(goal);
  Steps steps(x);
  const Line line = [&](double t) {
    steps.add(t);
    return curve.f(t);
  };
  const Values y = curve.f(x);
  const std::vector<Slope> slopes = Column(line, x, unit, y, goal).measure();
  page.line(curve.name, "at", golden::shown(x, 8), "unit", unit, wish.name + ":" + steps.text());
  for (const Slope& s : slopes) page.line("   ", seen(s));
}

/// All curves whose place in the list leaves this remainder by 4: so that each test is quick.
void compare_columns(std::size_t part) {
  Page page;
  const std::vector<Curve> all = curves();
  for (std::size_t c = part; c < all.size(); c += 4)
    for (const Wish& wish : kWishes)
      for (const double x : all[c].places) {
        show(page, all[c], wish, x, unit_of(x, 0));
        if (wish.name == "usual") show(page, all[c], wish, x, 1);
        if (wish.name == "usual") show(page, all[c], wish, x, 64);
      }
  page.compare("columns_" + std::to_string(part) + ".txt");
}

}  // namespace

TEST_CASE("the steps of columns are golden/check/columns_0.txt") { compare_columns(0); }
TEST_CASE("the steps of columns are golden/check/columns_1.txt") { compare_columns(1); }
TEST_CASE("the steps of columns are golden/check/columns_2.txt") { compare_columns(2); }
TEST_CASE("the steps of columns are golden/check/columns_3.txt") { compare_columns(3); }

TEST_CASE("units, powers of two, and the polynomial through seven points") {
  for (const double x : {0.0, 1e-101, 1e-99, 3.0, -5.0, 0.2})
    for (const double rms : {0.0, 1.0, 20.0, 1e-99, 1e-101}) {
      const double most = std::abs(x) > rms / 10 ? std::abs(x) : rms / 10;
      CAPTURE(x, rms);
      CHECK(unit_of(x, rms) == Approx(most > 1e-100 ? most : 1).epsilon(1e-12));
    }
  for (const double v : {1.0, 1.5, 2.0, 3.999, 4.0, 0.75, 1e-30, 7e20}) {
    const double below = power_of_two_below(v);
    CAPTURE(v);
    CHECK((below <= v && v < 2 * below && std::log2(below) == std::floor(std::log2(below))));
  }
  const auto f = [](double t) { return 1 + t * (2 - t * (3 + t * (t - t * t * (t - 4)))); };
  const std::array<double, 7> at{f(-3), f(-2), f(-1), f(0), f(1), f(2), f(3)};
  for (const double t : {-3.0, -1.0, 0.5, 0.618, 2.25}) CHECK(interpolated(at, t) == Approx(f(t)));
}

TEST_CASE("slopes with one step: what lies between, one side alone, and the unit of the bend") {
  Page page;
  for (const Curve& curve : curves())
    for (const double x : curve.places)
      for (const double h : {0x1p-9, 0.5})
        for (const int kind : {0, 1, 2}) {
          const Values noise(3, 1e-5);
          Goal goal;
          goal.unit = 3;
          goal.natural = kind == 1 ? 0.25 : 1.0;
          goal.one_sided = kind == 1;
          if (kind == 2) goal.noise = &noise;
          Steps steps(x);
          const Line line = [&](double t) {
            steps.add(t);
            return curve.f(t);
          };
          page.line(curve.name, golden::shown(x, 8), "h", h, "kind", kind, steps.text());
          for (const Slope& s : slopes_at(line, x, h, curve.f(x), goal)) page.line("   ", seen(s));
        }
  page.compare("one_step.txt");
}

TEST_CASE("what is kept of the slopes tried is golden/check/kept.txt") {
  Page page;
  const auto slope = [](double value, double change, double noise, double gap, double step) {
    Slope s{.value = value, .change = change, .noise = noise, .step = step};
    s.left = value - gap / 2;
    s.right = value + gap / 2;
    return s;
  };
  std::vector<std::vector<Slope>> tried;
  for (const double gap : {0.0, 1e-6, 1e-2, 1.0})
    for (const double noise : {1e-15, 1e-9, 1e-3})
      for (const double change : {0.0, 1e-7, 0.2}) {
        std::vector<Slope> steps;
        for (int k = 0; k < 4; ++k)
          steps.push_back(slope(k == 1 ? 2 : 1, change * (k + 1), noise * (4 - k),
                                gap * (k == 2 ? 3 : 1), std::ldexp(1.0, -2 * k - 2)));
        tried.push_back(steps);
        steps[2] = {};
        tried.push_back(steps);
        tried.push_back({steps[0], steps[2]});
      }
  for (const std::vector<Slope>& steps : tried)
    for (const double scale : {0.0, 1e4}) {
      Goal goal;
      goal.scale = scale;
      std::string each;
      for (const Slope& s : steps)
        each += std::string(smooth(s, goal) ? "s" : ".") + (settled(s, goal) ? "t" : ".") +
                (hidden(s, goal) ? "h " : ". ");
      page.line(each, largest_resolved(steps, 0.5, {}), "best", seen(best_of(steps, goal)));
      for (const double ulp : {1e-16, 1e-6, 4e-5, 1e-2}) {
        Slope best = best_of(steps, goal), lost;
        allow_for_rounding(steps, ulp, goal, best);
        allow_for_rounding(steps, ulp, goal, lost);
        page.line("  ", golden::shown(ulp), golden::shown(best.noise, 5), seen(lost),
                  golden::shown(lost.noise, 5));
      }
    }
  page.compare("kept.txt");
}

}  // namespace gradus::check::column_cases
