// The verdict is earned at every scale: right derivatives pass, and wrong ones that differences in
// double can show do not.
#include "gradus/tests/check/scale_cases.h"
#include "gradus/tests/support/catch.h"

namespace gradus::scale_cases {

std::vector<Function> plain_functions() {
  using std::asinh, std::atan, std::cbrt, std::cos, std::erf, std::exp, std::expm1, std::log,
      std::log1p, std::sin, std::sqrt, std::tanh;
  const auto sum = [](const auto& x) { return x[0] + x[1] + x[2]; };
  const auto squares = [](const auto& x) { return x[0] * x[0] + x[1] * x[1] + x[2] * x[2]; };
  return {
      each("square", [](auto x) { return x * x; }),
      each("cube", [](auto x) { return x * x * x; }),
      each("linear with offset", [](auto x) { return 3.0 * x + 1.0; }),
      each("reciprocal", [](auto x) { return 1.0 / x; }),
      each(
          "1/(1+x)", [](auto x) { return 1.0 / (1.0 + x); }, 1e12, true),
      each("x/(1+x²)", [](auto x) { return x / (1.0 + x * x); }),
      each(
          "exp", [](auto x) { return exp(x); }, 10),
      each(
          "expm1", [](auto x) { return expm1(x); }, 10),
      each(
          "log", [](auto x) { return log(x); }, 1e12, true),
      each(
          "log(1+x)", [](auto x) { return log(1.0 + x); }, 1e12, true),
      each(
          "log1p", [](auto x) { return log1p(x); }, 1e12, true),
      each(
          "sqrt", [](auto x) { return sqrt(x); }, 1e12, true),
      each("sqrt(1+x²)", [](auto x) { return sqrt(1.0 + x * x); }),
      each("cube root", [](auto x) { return cbrt(x); }),
      each(
          "sin", [](auto x) { return sin(x); }, 1e6),
      each(
          "cos", [](auto x) { return cos(x); }, 1e6),
      each("atan", [](auto x) { return atan(x); }),
      each("asinh", [](auto x) { return asinh(x); }),
      each("tanh", [](auto x) { return tanh(x); }),
      each("tanh(1.3w+b)", [](auto x) { return tanh(0.4 * 1.3 + x); }),
      each(
          "sigmoid", [](auto x) { return 1.0 / (1.0 + exp(-x)); }, 100),
      each(
          "softplus", [](auto x) { return log(1.0 + exp(x)); }, 100),
      each(
          "gelu", [](auto x) { return 0.5 * x * (1.0 + erf(x * 0.7071067811865476)); }, 1),
      each(
          "bell", [](auto x) { return exp(-x * x); }, 1),
      function(
          "log-sum-exp",
          [sum](const auto& x) {
            auto y = x;
            for (auto& v : y) v = exp(v);
            return decltype(y){log(sum(y))};
          },
          10),
      function(
          "softmax",
          [sum](const auto& x) {
            auto y = x;
            for (auto& v : y) v = exp(v);
            const auto total = sum(y);
            for (auto& v : y) v = v / total;
            return y;
          },
          10),
      function("norm",
               [squares](const auto& x) { return std::decay_t<decltype(x)>{sqrt(squares(x))}; }),
      function("unit vector",
               [squares](const auto& x) {
                 auto y = x;
                 for (auto& v : y) v = v / sqrt(squares(x));
                 return y;
               }),
      function("product",
               [](const auto& x) {
                 return std::decay_t<decltype(x)>{x[0] * x[1], x[1] * x[2], x[0] * x[1] * x[2]};
               }),
      function(
          "mean square with offset",
          [squares](const auto& x) { return std::decay_t<decltype(x)>{2.0 + squares(x) / 3.0}; }),
  };
}

namespace {

TEST_CASE("scales: right derivatives pass and wrong ones do not, from 1e-18 to 1e12",
          "[check][raw][scales]") {
  Tally tally;
  for (const Function& f : plain_functions()) {
    for (int half = -36; half <= 24; ++half) {
      const double scale = std::pow(10.0, half / 2.0);
      if (scale > f.largest * 1.01) break;
      for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        check::Random random(1000 * seed + static_cast<std::uint64_t>(half + 100));
        Values x(3);
        for (double& v : x) v = scale * random.upstream() / 2;
        if (f.positive)
          for (double& v : x) v = std::abs(v);
        tally.add(f, x, seed);
      }
    }
  }
  INFO(tally.all_words());
  std::puts(("scales: " + tally.line()).c_str());
  CHECK(tally.checks >= 20'000);
  CHECK(tally.wrong >= 10'000);
  CHECK(tally.alarms == 0);
  CHECK(tally.missed == 0);
  CHECK(tally.undecided * 100 <= tally.right);
}

/// What all tables ask for.
void holds(const std::string& name, const Tally& tally) {
  INFO(tally.all_words());
  std::puts((name + ": " + tally.line()).c_str());
  CHECK(tally.wrong > 0);
  CHECK(tally.alarms == 0);
  CHECK(tally.missed == 0);
  CHECK(tally.undecided * 100 <= tally.right);
}

TEST_CASE("scales: inputs that are 1e1 to 1e12 apart are judged each on its own") {
  using std::log;
  Tally tally;
  std::vector<Function> functions;
  for (Function& f : plain_functions())
    if (f.largest >= 1e12 && f.name != "unit vector" && f.name != "norm" && f.name != "product")
      functions.push_back(std::move(f));
  functions.push_back(function(
      "sum of logarithms",
      [](const auto& x) { return std::decay_t<decltype(x)>{log(x[0]) + log(x[1]) + log(x[2])}; },
      1e12, true));
  for (int apart = 1; apart <= 12; ++apart) {
    const double ratio = std::pow(10.0, apart);
    functions.push_back(function("weighted squares", [ratio](const auto& x) {
      return std::decay_t<decltype(x)>{x[0] * x[0] + x[1] * x[1] / ratio + x[2] * x[2]};
    }));
    for (const Function& f : functions) {
      check::Random random(static_cast<std::uint64_t>(apart));
      for (const Values& sizes : {Values{1, 1 / ratio, 1}, Values{1, ratio, 1}, Values{1, 2, 3}}) {
        Values x;
        for (const double size : sizes) x.push_back(size * random.between(0.7, 1.3));
        tally.add(f, x, static_cast<std::uint64_t>(apart));
      }
    }
    functions.pop_back();
  }
  holds("packed inputs", tally);
}

TEST_CASE("scales: functions with an offset of up to 1e12") {
  using std::exp, std::sin;
  Tally tally;
  for (int power = 0; power <= 12; ++power) {
    const double offset = std::pow(10.0, power);
    for (const Function& f :
         {each("sine and offset", [offset](auto x) { return offset + sin(x); }),
          each("square and offset", [offset](auto x) { return offset + x * x; }),
          each("line and offset", [offset](auto x) { return 3.0 * x - offset; }),
          each("exp and offset", [offset](auto x) { return exp(x) - offset; }),
          function("sum and offset", [offset](const auto& x) {
            return std::decay_t<decltype(x)>{offset + x[0] * x[1] + sin(x[2])};
          })}) {
      for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        check::Random random(seed);
        tally.add(f, {random.between(0.2, 2), random.between(-3, -0.2), random.between(0.2, 1)},
                  seed);
      }
    }
  }
  holds("offsets", tally);
}

TEST_CASE("scales: at an optimum the right gradient passes, and one that is not 0 fails") {
  using std::cos, std::exp, std::log;
  const Function rosenbrock = function("Rosenbrock", [](const auto& x) {
    auto sum = 0.0 * x[0];
    for (Index i = 0; i + 1 < x.size(); ++i) {
      const auto valley = x[i + 1] - x[i] * x[i], rest = 1.0 - x[i];
      sum = sum + 100.0 * valley * valley + rest * rest;
    }
    return std::decay_t<decltype(x)>{sum};
  });
  const Function bowl = function("bowl with an offset", [](const auto& x) {
    auto sum = 7.0 + 0.0 * x[0];
    for (const auto& v : x) sum = sum + (v - 1.0) * (v - 1.0);
    return std::decay_t<decltype(x)>{sum};
  });
  const Function hill = function("hill", [](const auto& x) {
    auto product = 1.0 + 0.0 * x[0];
    for (const auto& v : x) product = product * cos(v - 1.0);
    return std::decay_t<decltype(x)>{product};
  });
  const Function likelihood = function("log-likelihood", [](const auto& x) {
    auto sum = 0.0 * x[0];
    for (const auto& v : x) sum = sum + log(v) - v;
    return std::decay_t<decltype(x)>{sum};
  });
  const Function quartic = function("quartic", [](const auto& x) {
    auto sum = 0.0 * x[0];
    for (const auto& v : x) sum = sum + (v * v - 1.0) * (v * v - 1.0);
    return std::decay_t<decltype(x)>{sum};
  });
  for (const Function& f : {rosenbrock, bowl, hill, likelihood, quartic}) {
    for (const Index n : {2U, 3U, 6U}) {
      const Values x(n, 1.0);
      const check::Report right = judged(f, x, Fault::none, 0);
      INFO(right.text());
      CHECK(right);
      CHECK(judged(f, x, Fault::negated, 0).verdict == check::Verdict::fail);  // beside it
      const auto off = [&](const Arguments& in, const Values& dy) {
        Values dx = jacobian(f, in[0])[0];
        for (double& v : dx) v *= dy[0];
        dx[1] += 1e-4 * dy[0];
        return Arguments{dx};
      };
      check::RawOptions options;
      options.beside = false;
      CHECK(check_vjp(f.name, {[&f](const Arguments& in) { return f.f(in[0]); }, off},
                      {{"x", {}, x}}, options)
                .verdict == check::Verdict::fail);
    }
  }
}

}  // namespace
}  // namespace gradus::scale_cases
