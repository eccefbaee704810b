// What people met who checked derivatives of their own: small numbers, optima, choices, samples,
// and reports that said a thing twice, or not at all.
#include <cmath>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "gradus/check/raw/check.h"
#include "gradus/tests/support/catch.h"

namespace gradus::check {
namespace {

using V = Values;

bool says(const Report& report, const std::string& words) {
  std::string text;
  for (const char c : report.text()) {  // lines are broken at 76 columns
    const bool space = c == ' ' || c == '\n';
    if (!space || (!text.empty() && text.back() != ' ')) text += space ? ' ' : c;
  }
  return text.find(words) != std::string::npos;
}

void passes(const Report& report) {
  INFO(report.text());
  CHECK(report);
}
void fails(const Report& report, const std::string& words = "") {
  INFO(report.text());
  CHECK(report.verdict == Verdict::fail);
  CHECK(says(report, words));
}
void undecided(const Report& report, const std::string& cause, const std::string& cure) {
  INFO(report.text());
  CHECK(report.verdict == Verdict::inconclusive);
  CHECK(says(report, cause));
  CHECK(says(report, cure));
}

V numbers(std::size_t n) {
  V x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = std::sin(static_cast<double>(3 * i + 1)) + 2;
  return x;
}

V cubes(const V& x) {
  V y = x;
  for (double& v : y) v = v * v * v;
  return y;
}
/// The right one times factor(i).
template <class Factor>
auto cubes_vjp(Factor factor) {
  return [factor](const V& x, const V& dy) {
    V dx = x;
    for (std::size_t i = 0; i < x.size(); ++i) dx[i] = 3 * x[i] * x[i] * dy[i] * factor(i);
    return dx;
  };
}

/// The largest of each pair.
V pooled(const V& x) {
  V y;
  for (std::size_t i = 0; i < x.size(); i += 2) y.push_back(std::max(x[i], x[i + 1]));
  return y;
}
/// pays(a, b): does the first of a pair get dy, and does the second?
template <class Pays>
auto pooled_vjp(Pays pays) {
  return [pays](const V& x, const V& dy) {
    V dx(x.size());
    for (std::size_t i = 0; i < x.size(); i += 2) {
      const auto [first, second] = pays(x[i], x[i + 1]);
      dx[i] = first ? dy[i / 2] : 0;
      dx[i + 1] = second ? dy[i / 2] : 0;
    }
    return dx;
  };
}

}  // namespace

TEST_CASE("reports: inputs that are nearly 0 are measured, packed ones each on its own scale") {
  const auto affine = [](const V& w, const V& b) {
    V y = w;
    for (std::size_t i = 0; i < w.size(); ++i) y[i] = std::tanh(1.3 * w[i] + b[i]);
    return y;
  };
  const auto back = [](double sign) {
    return [sign](const V& w, const V& b, const V& dy) {
      V dw = w, db = b;
      for (std::size_t i = 0; i < w.size(); ++i) {
        const double t = std::tanh(1.3 * w[i] + b[i]), g = dy[i] * (1 - t * t);
        dw[i] = 1.3 * g;
        db[i] = sign * g;
      }
      return std::tuple(dw, db);
    };
  };
  const V w{0.3, -0.7, 1.1}, b{1e-17, -2e-17, 3e-17};
  passes(raw("affine", affine, back(1), w, b));
  fails(raw("affine", affine, back(-1), w, b), "SIGN");
  const auto exp = [](double x) { return std::exp(x); };
  for (const double x : {0.1 + 0.2 - 0.3, -1e-13, 1e-15}) {
    passes(raw("exp", exp, exp, x));
    fails(raw(
        "exp", exp, [](double at) { return -std::exp(at); }, x));
    fails(raw(
        "exp", exp, [](double at) { return 2 * std::exp(at); }, x));
  }
  const auto log = [](double x) { return std::log(1 + x); };
  passes(raw(
      "log(1 + x)", log, [](double x) { return 1 / (1 + x); }, 1e-14));
  const auto packed = [](const V& x) { return 1e6 * x[0] * x[0] + 1e-4 * x[1] * x[1]; };
  passes(raw(
      "packed", packed,
      [](const V& x) {
        return V{2e6 * x[0], 2e-4 * x[1]};
      },
      V{1.1, 0.7}));
  fails(raw(
            "packed", packed,
            [](const V& x) {
              return V{2e6 * x[0], -2e-4 * x[1]};
            },
            V{1.1, 0.7}),
        "d x0[1]: the sign is wrong");
}

TEST_CASE("reports: at an optimum, where any factor of the gradient looks right") {
  const auto bowl = [](const V& x) {
    return (x[0] - 1.5) * (x[0] - 1.5) + 3 * (x[1] + 0.7) * (x[1] + 0.7);
  };
  const auto slope = [](double factor) {
    return [factor](const V& x) { return V{factor * 2 * (x[0] - 1.5), factor * 6 * (x[1] + 0.7)}; };
  };
  const Report right = raw("bowl", bowl, slope(1), V{1.5, -0.7});
  passes(right);
  CHECK(says(right, "It is a stationary point, or the output does not depend on it"));
  CHECK(says(right, "a sample beside it is right too"));
  fails(raw("bowl", bowl, slope(-1), V{1.5, -0.7}), "a derivative of 0 everywhere, which hides");
}

TEST_CASE("reports: a maximum that pays the first of its window whatever is largest") {
  const V x{1, 3, 2, 5, 7, 4, 0, 1};
  const auto largest = [](double a, double b) { return std::pair(a >= b, b > a); };
  passes(raw("pool", pooled, pooled_vjp(largest), x));
  const auto first = [](double, double) { return std::pair(true, false); };
  const Report report = raw("pool", pooled, pooled_vjp(first), x);
  fails(report);
  CHECK(report.inputs[0].cause.name == "WRONG CHOICE");
}

TEST_CASE("reports: a maximum that pays two equal inputs both all fails in a sample too") {
  V x = numbers(2100);
  for (std::size_t i = 0; i < x.size(); i += 2) x[i + 1] = x[i];
  const auto first = [](double a, double b) { return std::pair(a >= b, b > a); };
  const auto both = [](double a, double b) { return std::pair(a >= b, b >= a); };
  passes(raw("pool", pooled, pooled_vjp(first), x));
  fails(raw("pool", pooled, pooled_vjp(both), x));
}

TEST_CASE("reports: what was found along several directions is told once, and counts are true") {
  const auto one = [](std::size_t i) { return i == 1234 ? 1.01 : 1.0; };
  const Report report = raw("cubes", cubes, cubes_vjp(one), numbers(2100));
  fails(report, "d out[1234] / d x0[1234]: 1.01 times");
  CHECK(report.findings.size() == 1);
  const auto half = [](std::size_t i) { return i % 2 == 0 ? 2.0 : 1.0; };
  const Report sampled = raw("cubes", cubes, cubes_vjp(half), numbers(2100));
  fails(sampled, "of the 64 elements looked at wrong");
  fails(sampled, "a sample shows no cause: try smaller inputs");
  CHECK(!says(sampled, "no pattern"));
}

TEST_CASE("reports: a Jacobian's map shows each wrong output") {
  const auto f = [](const V& x) { return V{x[0] * x[1], x[0] + x[1], x[1] * x[1]}; };
  const auto wrong = [](const V& x) { return V{2 * x[1], x[0], 1, 1.5, 0, 2 * x[1]}; };
  const Report report = raw("f", f, wrong, V{0.5, -1.25});
  fails(report, "+. .+ ..");
}

TEST_CASE("reports: kinks, columns and directions are methods like the others") {
  const auto relu = [](const V& x) {
    V y = x;
    for (double& v : y) v = std::max(v, 0.0);
    return y;
  };
  const auto right_at_0 = [](const V& x, const V& dy) {
    V dx = dy;
    for (std::size_t i = 0; i < x.size(); ++i) dx[i] *= x[i] >= 0 ? 1 : 0;
    return dx;
  };
  const V x{-1, 0, 2};
  passes(raw("relu", relu, right_at_0, x));
  passes(raw("relu", relu, right_at_0, x).kinks({{.at = 0.0, .share = 1}}));
  fails(raw("relu", relu, right_at_0, x).kinks({{.at = 0.0, .share = 0}}),
        "by the declared convention it is 0");
  const auto right = [](std::size_t) { return 1.0; };
  const Report few =
      raw("cubes", cubes, cubes_vjp(right), numbers(100)).sampled().columns(7).directions(2);
  passes(few);
  CHECK(says(few, "7 of 100 elements of input 'x0' were compared one by one, all of them along 2"));
}

TEST_CASE("reports: what cannot be judged is said with its cause and its cure") {
  const auto any = [](double) { return 0.0; };
  const auto one = [](double) { return 1.0; };
  const auto root = [](double x) { return std::sqrt(x); };
  const auto cube_root = [](double x) { return std::cbrt(x); };
  undecided(raw(
                "√ at 0", root, [](double x) { return 0.5 / std::sqrt(x); }, 0.0),
            "an infinite derivative?", "Choose values beside it");
  undecided(raw(
                "∛ at 0", cube_root, [](double x) { return 1 / (3 * std::cbrt(x * x)); }, 0.0),
            "or its derivative is infinite", "Choose values beside it");
  undecided(raw(
                "a step", [](double x) { return x >= 1 ? 1.0 : 0.0; }, any, 1.0),
            "a jump", "Choose values beside it");
  undecided(raw("√ of -1", root, any, -1.0), "forward gives nan", "Choose inputs of its domain");
  undecided(raw(
                "float", [](float x) { return x * x; }, [](float x) { return 2 * x; }, 1.5F),
            "forward computes in float", ".reference(f), or");
  const auto noisy = [](double x) {
    return x * x + 1e-3 * static_cast<double>(std::hash<double>()(x) % 1000);
  };
  undecided(raw(
                "noisy", noisy, [](double x) { return 2 * x; }, 1.3),
            "the differences are known to", ".resolution(1e-3)");
  int calls = 0;
  undecided(raw(
                "random", [&calls](double x) { return x + std::sin(++calls); }, one, 1.0),
            "different values for the same inputs", "freeze its randomness");
  const auto edge = [](double x) {
    if (x != 1) throw std::runtime_error("not here");
    return x;
  };
  undecided(raw("throws", edge, one, 1.0), "forward throws: not here", "choose others");
  const auto grows = [](double x) { return V(x > 1 ? 3 : 2, x); };
  undecided(raw(
                "grows", grows, [](double, const V& dy) { return dy[0]; }, 1.0),
            "forward gives 2 values at the inputs and 3 close by", "choose inputs where it stays");
}

}  // namespace gradus::check
