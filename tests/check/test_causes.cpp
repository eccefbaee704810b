// Causes that belong to whole Jacobians, kernels and states, and those of checks that were sampled.
#include "gradus/check/raw/check.h"
#include "gradus/tests/support/catch.h"

namespace gradus::check {
namespace {

Values numbers(std::size_t n) {
  Values x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = std::sin(static_cast<double>(3 * i + 1)) + 0.1;
  return x;
}

/// y[i] = Σ_k w[k] x[i + k], rows and columns alike: x [n, n], w [3, 3].
struct Convolution {
  std::size_t n;
  std::size_t out() const { return n - 2; }

  template <class Visit>
  void each(Visit visit) const {
    for (std::size_t i = 0; i < out(); ++i)
      for (std::size_t j = 0; j < out(); ++j)
        for (std::size_t a = 0; a < 3; ++a)
          for (std::size_t b = 0; b < 3; ++b) visit(i * out() + j, (i + a) * n + j + b, 3 * a + b);
  }
  auto forward() const {
    return [c = *this](const Values& x, const Values& w) {
      Values y(c.out() * c.out(), 0.0);
      c.each([&](auto o, auto p, auto k) { y[o] += w[k] * x[p]; });
      return y;
    };
  }
  /// `at(k)` is where the gradient of weight k is written, and read for x.
  template <class At>
  auto backward(At at) const {
    return [c = *this, at](const Values& x, const Values& w, const Values& dy) {
      Values dx(x.size(), 0.0), dw(w.size(), 0.0);
      c.each([&](auto o, auto p, auto k) {
        dx[p] += dy[o] * w[k];
        dw[at(k)] += dy[o] * x[p];
      });
      return std::tuple(dx, dw);
    };
  }
};

const auto kRight = [](std::size_t k) { return k; };
const auto kFlipped = [](std::size_t k) { return 8 - k; };
const auto kTransposed = [](std::size_t k) { return k % 3 * 3 + k / 3; };

template <class At>
Report convolution(std::size_t n, At at) {
  const Convolution c{n};
  const auto side = static_cast<std::int64_t>(n);
  return raw("convolution", c.forward(), c.backward(at), input(numbers(n * n), "x", {side, side}),
             input(numbers(9), "w", {3, 3}));
}

}  // namespace

TEST_CASE("a kernel's gradient that is flipped or transposed is called that, small and large") {
  for (const std::size_t n : {std::size_t{5}, std::size_t{19}}) {
    CAPTURE(n);
    CHECK(convolution(n, kRight));
    CHECK(convolution(n, kFlipped).inputs[1].cause.name == "FLIPPED");
    CHECK(convolution(n, kTransposed).inputs[1].cause.name == "TRANSPOSED");
  }
}

TEST_CASE("a Jacobian in column-major order is called that") {
  const auto f = [](const Values& x) {
    return Values{x[0] * x[1], x[1] * x[2] * x[2], std::sin(x[0]) * x[2], x[0] + 2 * x[1]};
  };
  const auto by_columns = [](const Values& x) {
    return Values{
        x[1],           0, std::cos(x[0]) * x[2], 1, x[0], x[2] * x[2], 0, 2, 0, 2 * x[1] * x[2],
        std::sin(x[0]), 0};
  };
  const Values x = numbers(3);
  CHECK(raw("f", f, jacobian(by_columns, Order::column_major), x));
  const Report report = raw("f", f, jacobian(by_columns), x);
  CHECK(report.verdict == Verdict::fail);
  CHECK(report.inputs[0].cause.name == "COLUMN MAJOR");
  // Outputs × elements: where both orders hold the same number it is right.
  CHECK(report.inputs[0].map_rows == 4);
  CHECK(report.inputs[0].map.size() == 12);
  CHECK(report.inputs[0].map[0] == '.');
  CHECK(report.text().find("map of d outputs / d x0, a row for each output") != std::string::npos);
}

TEST_CASE("an upstream gradient that is never read is one cause of all inputs") {
  // A step of a cell with two states, h' = tanh(a x + h) and c' = c h' + x: dc' is forgotten.
  const auto cell = [](const Values& x, const Values& h, const Values& c) {
    Values y(6);
    for (std::size_t i = 0; i < 3; ++i) {
      y[i] = std::tanh(2 * x[i] + h[i]);
      y[3 + i] = c[i] * y[i] + x[i];
    }
    return y;
  };
  const auto back = [](bool reads_dc) {
    return [reads_dc](const Values& x, const Values& h, const Values& c, const Values& dy) {
      Values dx(3), dh(3), dc(3);
      for (std::size_t i = 0; i < 3; ++i) {
        const double t = std::tanh(2 * x[i] + h[i]), late = reads_dc ? dy[3 + i] : 0;
        const double dt = (dy[i] + late * c[i]) * (1 - t * t);
        dx[i] = 2 * dt + late;
        dh[i] = dt;
        dc[i] = late * t;
      }
      return std::tuple(dx, dh, dc);
    };
  };
  const Values x = numbers(3), h{0.3, -0.2, 0.5}, c{0.7, 1.1, -0.4};
  CHECK(raw("cell", cell, back(true), x, h, c).output({2, 3}));
  const Report report = raw("cell", cell, back(false), x, h, c).output({2, 3});
  INFO(report.text());
  for (const InputSummary& input : report.inputs) {
    CHECK(input.cause.name == "UPSTREAM UNREAD");
    CHECK(input.cause.why == "dy at the last index of axis 0 is never read");
  }
  const std::string text = report.text();
  CHECK(text.find("is never read") == text.rfind("is never read"));  // said once
  CHECK(text.find("likely cause: as above") != std::string::npos);
}

TEST_CASE("a state that goes on is no randomness, and randomness is no state") {
  double mean = 0;
  const auto running = [&mean](const Values& x) { return mean += 0.1 * (x[0] - mean); };
  const auto one = [](const Values&) { return Values{1}; };
  const Report state = raw("running mean", running, one, Values{2});
  CHECK(state.verdict == Verdict::inconclusive);
  CHECK(state.findings.at(0).note.find("Give it a fresh state each time") != std::string::npos);
  Random random(3);
  const auto noisy = [&random](const Values& x) { return x[0] + random.upstream(); };
  const Report noise = raw("noise", noisy, one, Values{2});
  CHECK(noise.verdict == Verdict::inconclusive);
  CHECK(noise.findings.at(0).note.find("freeze its randomness") != std::string::npos);
}

}  // namespace gradus::check
