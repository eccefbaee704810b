// Whole checks of functions of points on manifolds: each call and each number of the report.
#include "gradus/tests/check/recorded.h"

namespace gradus::check::recorded {
namespace {

using golden::Page;

/// y = Σ c x² and y₂ = x₀ x_last of points x, and a factor beside; the gradient is 2cx …
Subject quadratic(const std::string& name, const Values& x, double size = 1) {
  Subject s{name, {{"x", {}, x}, {"scale", {}, {1.5}}}, {}};
  s.functions.forward = [](const Arguments& in) {
    double sum = 0;
    for (std::size_t i = 0; i < in[0].size(); ++i)
      sum += (1 + static_cast<double>(i)) * in[0][i] * in[0][i];
    return Values{in[1][0] * sum, in[0].front() * in[0].back()};
  };
  s.functions.vjp = [size](const Arguments& in, const Values& dy) {
    Values dx(in[0].size());
    double sum = 0;
    for (std::size_t i = 0; i < dx.size(); ++i) {
      const double c = 1 + static_cast<double>(i);
      dx[i] = size * 2 * c * in[1][0] * in[0][i] * dy[0];
      sum += c * in[0][i] * in[0][i];
    }
    dx.front() += in[0].back() * dy[1];
    dx.back() += in[0].front() * dy[1];
    return Arguments{dx, {dy[0] * sum}};
  };
  return s;
}

/// What the gradient is projected with: B as in manifold.h, by differences.
Subject tangent(Subject s, const Manifold& m) {
  s.name += ", tangent";
  s.functions.vjp = [right = s.functions.vjp, m](const Arguments& in, const Values& dy) {
    Arguments dx = right(in, dy);
    const Matrix b = tangent_basis(m, in[0]);
    Values v(b.columns, 0.0);
    for (std::size_t i = 0; i < b.rows; ++i)
      for (std::size_t j = 0; j < b.columns; ++j) v[j] += b(i, j) * dx[0][i];
    return Arguments{v, dx[1]};
  };
  return s;
}

struct Home {
  Manifold manifold;
  Values point, special;
};

const double k = 0.5, r = std::sqrt(0.5);

std::vector<Home> homes() {
  return {
      {quaternion(), {k, k, -k, k}, {1, 0, 0, 0}},
      {so3(), {0.36, 0.48, -0.8, -0.8, 0.6, 0, 0.48, 0.64, 0.6}, {1, 0, 0, 0, 1, 0, 0, 0, 1}},
      {se3(), {0.6, -0.8, 0, 2, 0.8, 0.6, 0, -1, 0, 0, 1, 3}, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}},
      {sphere(), {0.48, 0.6, -0.64}, {1, 0}},
      {frame(3, 2), {0.36, 0.48, -0.8, 0.6, 0.48, 0.64}, {1, 0, 0, 1, 0, 0}},
      {symmetric(), {1.5, 0.25, 0.25, -2}, {1, 0, 0, 1}},
      {positive(), {0.5, 3, 1.25}, {1, 1}}};
}

}  // namespace

TEST_CASE("checks on manifolds are golden/check/manifolds.txt") {
  Page page;
  RawOptions alone;
  alone.beside = false;
  for (const Home& home : homes())
    for (const Values& x : {home.point, home.special}) {
      const Places places{{home.manifold, std::nullopt}};
      const Subject s = quadratic(home.manifold.name, x);
      show(page, "in space", s, {}, places);
      show(page, "right", tangent(s, home.manifold), {}, places);
      show(page, "wrong", tangent(quadratic("wrong " + home.manifold.name, x, 1.5), home.manifold),
           {}, places);
      show(page, "alone", s, alone, places);
    }
  page.compare("manifolds.txt");
}

TEST_CASE("outputs on manifolds, and inputs that are none, are golden/check/places_on.txt") {
  Page page;
  const Home sphere_home = homes()[3], positive_home = homes()[6];
  Subject s{"normalised", {{"x", {}, {0.48, 0.6, -0.64}}}, {}};
  s.functions.forward = [](const Arguments& in) { return Values{-in[0][2], in[0][0], in[0][1]}; };
  s.functions.vjp = [](const Arguments&, const Values& dy) {
    return Arguments{{dy[1], dy[2], -dy[0]}};
  };
  show(page, "both", s, {}, {{sphere_home.manifold}, sphere_home.manifold});
  show(page, "the output", s, {}, {{std::nullopt}, sphere_home.manifold});
  s.functions.linear = true;  // a matrix is given dy of the tangent space
  s.functions.vjp = [](const Arguments&, const Values& dy) {
    return Arguments{{dy[0], dy[1], dy[0] - dy[1]}};
  };
  show(page, "a matrix", s, {}, {{std::nullopt}, sphere_home.manifold});
  for (const Home& home : homes()) {
    Subject off = quadratic("off " + home.manifold.name, home.point);
    off.inputs[0].values[0] += home.manifold.name == "positive numbers" ? -0.5 : 2e-6;
    show(page, "a little", off, {}, {{home.manifold, std::nullopt}});
    off.inputs[0].values.push_back(1);
    show(page, "too long", off, {}, {{home.manifold, std::nullopt}});
  }
  Subject fixed = quadratic("fixed", positive_home.point);
  fixed.inputs[0].differentiable = false;
  show(page, "no gradient", fixed, {}, {{positive_home.manifold, std::nullopt}});
  Subject into = quadratic("into", {0.5, 3});
  into.functions.into = [vjp = into.functions.vjp](const Arguments& in, const Values& dy,
                                                   const Arguments& start) {
    Arguments dx = vjp(in, dy);
    for (std::size_t p = 0; p < dx.size(); ++p)
      for (std::size_t j = 0; j < dx[p].size(); ++j) dx[p][j] += start[p][j];
    return dx;
  };
  into.functions.vjp = {};
  for (const bool adds : {false, true}) {
    into.functions.accumulates = adds;
    show(page, adds ? "adds" : "sets", into, {}, {{positive(), std::nullopt}});
  }
  page.compare("places_on.txt");
}

}  // namespace gradus::check::recorded
