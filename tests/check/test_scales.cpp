// Tests verdicts at all scales. Functions are templates for double, long double and dual numbers.
#include <cmath>
#include <cstdio>
#include <map>

#include "gradus/tests/check/raw_cases.h"
#include "gradus/tests/support/catch.h"

namespace gradus::scale_cases {
namespace {

using check::Arguments;
using check::Values;
using Index = std::size_t;
using Real = long double;

/// a + b ε, ε² = 0: b is the derivative.
struct Dual {
  Real a = 0, b = 0;
  Dual(Real value = 0, Real derivative = 0) : a(value), b(derivative) {}
};
Dual operator+(Dual x, Dual y) { return {x.a + y.a, x.b + y.b}; }
Dual operator-(Dual x, Dual y) { return {x.a - y.a, x.b - y.b}; }
Dual operator-(Dual x) { return {-x.a, -x.b}; }
Dual operator*(Dual x, Dual y) { return {x.a * y.a, x.b * y.a + x.a * y.b}; }
Dual operator/(Dual x, Dual y) { return {x.a / y.a, (x.b - x.a / y.a * y.b) / y.a}; }
Dual exp(Dual x) { return {std::exp(x.a), std::exp(x.a) * x.b}; }
Dual expm1(Dual x) { return {std::expm1(x.a), std::exp(x.a) * x.b}; }
Dual log(Dual x) { return {std::log(x.a), x.b / x.a}; }
Dual log1p(Dual x) { return {std::log1p(x.a), x.b / (1 + x.a)}; }
Dual sqrt(Dual x) { return {std::sqrt(x.a), x.b / (2 * std::sqrt(x.a))}; }
Dual cbrt(Dual x) { return {std::cbrt(x.a), x.b / (3 * std::cbrt(x.a) * std::cbrt(x.a))}; }
Dual sin(Dual x) { return {std::sin(x.a), std::cos(x.a) * x.b}; }
Dual cos(Dual x) { return {std::cos(x.a), -std::sin(x.a) * x.b}; }
Dual atan(Dual x) { return {std::atan(x.a), x.b / (1 + x.a * x.a)}; }
Dual asinh(Dual x) { return {std::asinh(x.a), x.b / std::sqrt(1 + x.a * x.a)}; }
Dual tanh(Dual x) {
  const Real c = std::abs(x.a) > 5000 ? 0 : 1 / std::cosh(x.a);
  return {std::tanh(x.a), c * c * x.b};
}
Dual erf(Dual x) {
  return {std::erf(x.a), 1.12837916709551257389615890312154517L * std::exp(-x.a * x.a) * x.b};
}

template <class T>
using Vector = std::vector<T>;

struct Function {
  std::string name;
  std::function<Vector<double>(const Vector<double>&)> f;
  std::function<Vector<Real>(const Vector<Real>&)> exact;
  std::function<Vector<Dual>(const Vector<Dual>&)> dual;
  double largest = 1e12;  // for larger x, f overflows or is constant
  bool positive = false;
};

struct Domain {
  double largest = 1e12;
  bool positive = false;
};
constexpr Domain kPositive{1e12, true};

template <class F>
Function function(std::string name, Domain domain, F f) {
  return {std::move(name), f, f, f, domain.largest, domain.positive};
}

template <class F>
Function each(std::string name, Domain domain, F f) {
  return function(std::move(name), domain, [f](const auto& x) {
    auto y = x;
    for (auto& v : y) v = f(v);
    return y;
  });
}

std::vector<Values> jacobian(const Function& f, const Values& x) {
  std::vector<Values> rows;
  for (Index j = 0; j < x.size(); ++j) {
    Vector<Dual> at(x.begin(), x.end());
    at[j].b = 1;
    const Vector<Dual> y = f.dual(at);
    rows.resize(y.size(), Values(x.size()));
    for (Index i = 0; i < y.size(); ++i) rows[i][j] = static_cast<double>(y[i].b);
  }
  return rows;
}

/// Returns, for each entry of J, the smallest error of a six-point difference over all steps. The
/// error is truncation plus the rounding of f and x.
std::vector<Values> best_errors(const Function& f, const Values& x, const std::vector<Values>& J) {
  std::vector<Values> best(J.size(), Values(x.size(), INFINITY));
  const Real weights[] = {45, -9, 1};
  for (Index j = 0; j < x.size(); ++j) {
    for (int power = -76; power <= 44; power += 2) {
      const Real h = std::ldexp(1.0L, power);
      if (h < std::abs(x[j]) * 0x1p-48 || h > std::abs(x[j]) + 1) continue;
      std::vector<Real> slope(J.size(), 0), noise(J.size(), 0);
      for (int k = -3; k <= 3; ++k) {
        Vector<Real> at(x.begin(), x.end());
        at[j] += k * h;
        Values near = x;
        near[j] = static_cast<double>(at[j]);
        const Vector<Real> right = f.exact(at);
        const Values rounded = f.f(near);
        for (Index i = 0; i < J.size(); ++i) {
          if (k != 0) slope[i] += (k < 0 ? -1 : 1) * weights[std::abs(k) - 1] * right[i] / (60 * h);
          const Real off = std::abs(rounded[i] - right[i]) + 0x1p-53L * std::abs(right[i]);
          noise[i] = noise[i] >= off ? noise[i] : off;
        }
      }
      for (Index i = 0; i < J.size(); ++i) {
        const auto error = static_cast<double>(std::abs(slope[i] - J[i][j]) + 2 * noise[i] / h);
        if (error < best[i][j]) best[i][j] = error;
      }
    }
  }
  return best;
}

enum class Fault { none, negated, doubled, slightly_off, one_element, zero };
constexpr Fault kFaults[] = {Fault::none,         Fault::negated,     Fault::doubled,
                             Fault::slightly_off, Fault::one_element, Fault::zero};

std::vector<Values> spoilt(std::vector<Values> J, Fault fault, Index element) {
  for (Values& row : J)
    for (Index j = 0; j < row.size(); ++j) switch (fault) {
        case Fault::none:
          break;
        case Fault::negated:
          row[j] = -row[j];
          break;
        case Fault::doubled:
          row[j] = 2 * row[j];
          break;
        case Fault::slightly_off:
          row[j] *= 1.001;
          break;
        case Fault::one_element:
          if (j == element) row[j] = -row[j];
          break;
        case Fault::zero:
          row[j] = 0;
          break;
      }
  return J;
}

/// True if differences must detect the error. Errors up to 1e-6 of the entry plus 1e-8 of its
/// column's largest entry are within tolerance.
bool shows(const std::vector<Values>& right, const std::vector<Values>& wrong,
           const std::vector<Values>& best) {
  for (Index j = 0; j < right[0].size(); ++j) {
    double largest = 0;
    for (const Values& row : right) largest = std::max(largest, std::abs(row[j]));
    for (Index i = 0; i < right.size(); ++i) {
      const double tolerance = 1e-6 * std::abs(right[i][j]) + 1e-8 * largest;
      if (std::abs(wrong[i][j] - right[i][j]) > 100 * best[i][j] + tolerance) return true;
    }
  }
  return false;
}

check::Report checked(const Function& f, const Values& x, Fault fault, Index element,
                      const check::RawOptions& options = {}) {
  const auto vjp = [&](const Arguments& in, const Values& dy) {
    const std::vector<Values> J = spoilt(jacobian(f, in[0]), fault, element);
    Arguments dx{Values(in[0].size(), 0.0)};
    for (Index i = 0; i < dy.size(); ++i)
      for (Index j = 0; j < dx[0].size(); ++j) dx[0][j] += dy[i] * J[i][j];
    return dx;
  };
  return raw_cases::run(f.name, {[&f](const Arguments& in) { return f.f(in[0]); }, vjp},
                        {{"x", {}, x}}, options);
}

bool finite(const std::vector<Values>& J) {
  for (const Values& row : J)
    for (const double v : row)
      if (!std::isfinite(v)) return false;
  return true;
}

struct Tally {
  int checks = 0, right = 0, alarms = 0, undecided = 0, wrong = 0, missed = 0, hidden = 0;
  long calls = 0;
  std::map<std::string, std::string> words;

  /// Checks the function with faults. Counts a fault as hidden if differences cannot resolve it.
  void add(const Function& f, const Values& x, std::uint64_t seed = 1) {
    const std::vector<Values> J = jacobian(f, x);
    if (!finite(J) || !finite({f.f(x)})) return;
    const std::vector<Values> best = best_errors(f, x, J);
    for (const Fault fault : kFaults) {
      const std::vector<Values> given = spoilt(J, fault, seed % x.size());
      ++checks;
      check::RawOptions options;
      options.seed = seed;
      const check::Report report = checked(f, x, fault, seed % x.size(), options);
      if (fault == Fault::none) {
        ++right;
        calls += report.counts.forward;
        alarms += report.verdict == check::Verdict::fail ? 1 : 0;
        undecided += report.verdict == check::Verdict::inconclusive ? 1 : 0;
        if (!report) say(f, x, fault, report);
      } else if (!shows(J, given, best)) {
        ++hidden;
      } else {
        ++wrong;
        if (report.verdict != check::Verdict::pass) continue;
        ++missed;
        say(f, x, fault, report);
      }
    }
  }

  std::string all_words() const {
    std::string result;
    for (const auto& [what, where] : words) result += what + where + "\n";
    return result;
  }
  std::string line() const {
    return check::joined(checks, " checks; ", right, " right: ", alarms, " fail, ", undecided,
                         " undecided, ", calls, " calls; ", wrong, " wrong: ", missed, " pass; ",
                         hidden, " cannot be shown");
  }

 private:
  void say(const Function& f, const Values& x, Fault fault, const check::Report& report) {
    std::string& first = words[check::joined(f.name, ", fault ", static_cast<int>(fault), ": ",
                                             to_string(report.verdict))];
    if (first.empty()) first = check::joined(" at ", check::number(x[0], 3));
    first += ".";
  }
};

std::vector<Function> plain_functions() {
  using std::asinh, std::atan, std::cbrt, std::cos, std::erf, std::exp, std::expm1, std::log,
      std::log1p, std::sin, std::sqrt, std::tanh;
  const auto sum = [](const auto& x) { return x[0] + x[1] + x[2]; };
  const auto squares = [](const auto& x) { return x[0] * x[0] + x[1] * x[1] + x[2] * x[2]; };
  return {
      each("square", {}, [](auto x) { return x * x; }),
      each("cube", {}, [](auto x) { return x * x * x; }),
      each("linear with offset", {}, [](auto x) { return 3.0 * x + 1.0; }),
      each("reciprocal", {}, [](auto x) { return 1.0 / x; }),
      each("1/(1+x)", kPositive, [](auto x) { return 1.0 / (1.0 + x); }),
      each("x/(1+x²)", {}, [](auto x) { return x / (1.0 + x * x); }),
      each("exp", {10}, [](auto x) { return exp(x); }),
      each("expm1", {10}, [](auto x) { return expm1(x); }),
      each("log", kPositive, [](auto x) { return log(x); }),
      each("log(1+x)", kPositive, [](auto x) { return log(1.0 + x); }),
      each("log1p", kPositive, [](auto x) { return log1p(x); }),
      each("sqrt", kPositive, [](auto x) { return sqrt(x); }),
      each("sqrt(1+x²)", {}, [](auto x) { return sqrt(1.0 + x * x); }),
      each("cube root", {}, [](auto x) { return cbrt(x); }),
      each("sin", {1e6}, [](auto x) { return sin(x); }),
      each("cos", {1e6}, [](auto x) { return cos(x); }),
      each("atan", {}, [](auto x) { return atan(x); }),
      each("asinh", {}, [](auto x) { return asinh(x); }),
      each("tanh", {}, [](auto x) { return tanh(x); }),
      each("tanh(1.3w+b)", {}, [](auto x) { return tanh(0.4 * 1.3 + x); }),
      each("sigmoid", {100}, [](auto x) { return 1.0 / (1.0 + exp(-x)); }),
      each("softplus", {100}, [](auto x) { return log(1.0 + exp(x)); }),
      each("gelu", {1}, [](auto x) { return 0.5 * x * (1.0 + erf(x * 0.7071067811865476)); }),
      each("bell", {1}, [](auto x) { return exp(-x * x); }),
      function("log-sum-exp", {10},
               [sum](const auto& x) {
                 auto y = x;
                 for (auto& v : y) v = exp(v);
                 return decltype(y){log(sum(y))};
               }),
      function("softmax", {10},
               [sum](const auto& x) {
                 auto y = x;
                 for (auto& v : y) v = exp(v);
                 const auto total = sum(y);
                 for (auto& v : y) v = v / total;
                 return y;
               }),
      function("norm", {},
               [squares](const auto& x) { return std::decay_t<decltype(x)>{sqrt(squares(x))}; }),
      function("unit vector", {},
               [squares](const auto& x) {
                 auto y = x;
                 for (auto& v : y) v = v / sqrt(squares(x));
                 return y;
               }),
      function("product", {},
               [](const auto& x) {
                 return std::decay_t<decltype(x)>{x[0] * x[1], x[1] * x[2], x[0] * x[1] * x[2]};
               }),
      function(
          "mean square with offset", {},
          [squares](const auto& x) { return std::decay_t<decltype(x)>{2.0 + squares(x) / 3.0}; }),
  };
}

TEST_CASE("scales: correct derivatives pass and wrong derivatives do not, from 1e-18 to 1e12",
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

void holds(const std::string& name, const Tally& tally) {
  INFO(tally.all_words());
  std::puts((name + ": " + tally.line()).c_str());
  CHECK(tally.wrong > 0);
  CHECK(tally.alarms == 0);
  CHECK(tally.missed == 0);
  CHECK(tally.undecided * 100 <= tally.right);
}

TEST_CASE("scales: a correct derivative never fails where terms of size 1 cancel near 0") {
  using std::log, std::exp, std::sqrt;
  const Function functions[] = {
      each("log of exp", {}, [](auto x) { return log(exp(x)); }),
      each("square root", {}, [](auto x) { return sqrt(1.0 + x) - 1.0; }),
      each("product of exponentials", {}, [](auto x) { return log(exp(x) * exp(2.0 * x)); })};
  Tally tally;
  for (int power = 3; power <= 8; ++power) {
    check::Random random(static_cast<std::uint64_t>(power));
    for (int i = 0; i < 100; ++i)
      for (const Function& f : functions)
        tally.add(f, {std::pow(10.0, -power) * random.upstream()}, static_cast<std::uint64_t>(i));
  }
  holds("cancellation", tally);
}

TEST_CASE("scales: inputs that differ by factors of 1e1 to 1e12 are checked separately") {
  using std::log;
  Tally tally;
  std::vector<Function> functions;
  for (Function& f : plain_functions())
    if (f.largest >= 1e12 && f.name != "unit vector" && f.name != "norm" && f.name != "product")
      functions.push_back(std::move(f));
  functions.push_back(function("sum of logarithms", kPositive, [](const auto& x) {
    return std::decay_t<decltype(x)>{log(x[0]) + log(x[1]) + log(x[2])};
  }));
  for (int apart = 1; apart <= 12; ++apart) {
    const double ratio = std::pow(10.0, apart);
    functions.push_back(function("weighted squares", {}, [ratio](const auto& x) {
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

TEST_CASE("scales: functions with an offset of up to 1e12 get the correct verdict") {
  using std::exp, std::sin;
  Tally tally;
  for (int power = 0; power <= 12; ++power) {
    const double offset = std::pow(10.0, power);
    for (const Function& f :
         {each("sine and offset", {}, [offset](auto x) { return offset + sin(x); }),
          each("square and offset", {}, [offset](auto x) { return offset + x * x; }),
          each("line and offset", {}, [offset](auto x) { return 3.0 * x - offset; }),
          each("exp and offset", {}, [offset](auto x) { return exp(x) - offset; }),
          function("sum and offset", {}, [offset](const auto& x) {
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

TEST_CASE("scales: at an optimum a gradient of 0 passes, and any other fails") {
  using std::cos, std::exp, std::log;
  const Function rosenbrock = function("Rosenbrock", {}, [](const auto& x) {
    auto sum = 0.0 * x[0];
    for (Index i = 0; i + 1 < x.size(); ++i) {
      const auto valley = x[i + 1] - x[i] * x[i], rest = 1.0 - x[i];
      sum = sum + 100.0 * valley * valley + rest * rest;
    }
    return std::decay_t<decltype(x)>{sum};
  });
  const Function bowl = function("bowl with an offset", {}, [](const auto& x) {
    auto sum = 7.0 + 0.0 * x[0];
    for (const auto& v : x) sum = sum + (v - 1.0) * (v - 1.0);
    return std::decay_t<decltype(x)>{sum};
  });
  const Function hill = function("hill", {}, [](const auto& x) {
    auto product = 1.0 + 0.0 * x[0];
    for (const auto& v : x) product = product * cos(v - 1.0);
    return std::decay_t<decltype(x)>{product};
  });
  const Function likelihood = function("log-likelihood", {}, [](const auto& x) {
    auto sum = 0.0 * x[0];
    for (const auto& v : x) sum = sum + log(v) - v;
    return std::decay_t<decltype(x)>{sum};
  });
  const Function quartic = function("quartic", {}, [](const auto& x) {
    auto sum = 0.0 * x[0];
    for (const auto& v : x) sum = sum + (v * v - 1.0) * (v * v - 1.0);
    return std::decay_t<decltype(x)>{sum};
  });
  for (const Function& f : {rosenbrock, bowl, hill, likelihood, quartic}) {
    for (const Index n : {2U, 3U, 6U}) {
      const Values x(n, 1.0);
      const check::Report right = checked(f, x, Fault::none, 0);
      INFO(right.text());
      CHECK(right);
      CHECK(checked(f, x, Fault::negated, 0).verdict == check::Verdict::fail);  // J(x) = 0
      const auto off = [&](const Arguments& in, const Values& dy) {
        Values dx = jacobian(f, in[0])[0];
        for (double& v : dx) v *= dy[0];
        dx[1] += 1e-4 * dy[0];
        return Arguments{dx};
      };
      check::RawOptions options;
      options.neighborhood = false;
      CHECK(raw_cases::run(f.name, {[&f](const Arguments& in) { return f.f(in[0]); }, off},
                           {{"x", {}, x}}, options)
                .verdict == check::Verdict::fail);
    }
  }
}

}  // namespace
}  // namespace gradus::scale_cases
