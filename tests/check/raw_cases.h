// Functions of plain arrays, with correct and with faulty derivatives.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "gradus/check/raw/options.h"
#include "gradus/check/raw/random.h"
#include "gradus/check/raw/report.h"

namespace gradus::check {
struct Domains;
}

namespace gradus::raw_cases {

using namespace check;
using check::Dims;
using Options = RawOptions;

using Index = std::size_t;
using At = std::vector<std::int64_t>;
inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

struct Case {
  std::string name;
  std::vector<Input> inputs;
  Forward forward;
  Derivative vjp;
};

using Spoil = std::function<void(Arguments& dx, const Arguments& in, const Values& dy)>;

// Defined in one source file, so that the checker's templates are instantiated only once.
Report run(const std::string& name, const Functions& functions, const std::vector<Input>& inputs,
           const Options& options = {});
Report run(const Case& c, const Options& options = {});
Report run_spoiled(Case c, const Spoil& spoil, const Options& options = {});
Report run_on(const Domains& domains, const Functions& functions, const std::vector<Input>& inputs,
              const Options& options = {});

// Returns values between −2·scale and 2·scale.
Values random_values(Index count, std::uint64_t seed, double scale = 1);

Case elementwise(const std::string& name, Values x, double (*f)(double), double (*df)(double));

/// Checks a scalar function. `gradient` returns the gradient without the factor dy.
Report scalar(const std::string& name, const std::function<double(const Arguments&)>& f,
              const std::function<Arguments(const Arguments&)>& gradient, const Arguments& x,
              const Dims& shape = {});

/// y = eˣ / Σeˣ, dx = y (dy - Σ y dy)
Values softmax_rows(const Values& x, Index width);
Case softmax(Index rows, Index width, Values x);

struct Row {
  double mean = 0, rstd = 0;
};
Row statistics(const double* x, Index width);

/// dx = rstd (g - mean(g) - xhat mean(g xhat)), g = gamma dy
Arguments layer_norm_vjp(const Arguments& in, const Values& dy, bool with_mean);
Case layer_norm(Index rows, Index width, double scale, std::uint64_t seed = 3);

/// C = A B, [m,k] x [k,n]; da = dC Bᵀ, db = Aᵀ dC.
Case matmul(Index m, Index k, Index n, std::uint64_t seed = 5);

inline double cube(double x) { return x * x * x; }
inline double d_cube(double x) { return 3 * x * x; }
inline double relu(double x) { return x > 0 ? x : 0; }
inline double sigma(double x) { return x > 0 ? 1 : 0; }
inline double half_at_zero(double x) { return x > 0 ? 1 : (x < 0 ? 0 : 0.5); }
inline double two_at_zero(double x) { return x > 0 ? 1 : (x < 0 ? 0 : 2); }
inline double absolute(double x) { return std::abs(x); }
inline double sign(double x) { return x > 0 ? 1 : (x < 0 ? -1 : 0); }
inline double logarithm(double x) { return std::log(x); }
inline double reciprocal(double x) { return 1 / x; }
inline double flat(double) { return 0; }
inline double half(double) { return 0.5; }
inline double heaviside(double x) { return x >= 0 ? 1 : 0; }
inline double root(double x) { return std::sqrt(x); }
inline double d_root(double x) { return 0.5 / std::sqrt(x); }
inline double wave(double x) { return std::sin(300 * x); }
inline double d_wave(double x) { return 300 * std::cos(300 * x); }
inline double on_a_hill(double x) { return 1e12 + x; }
inline double one(double) { return 1; }

inline double gelu(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }
inline double d_gelu(double x) {
  const double density = std::exp(-0.5 * x * x) / std::sqrt(2 * std::acos(-1.0));
  return 0.5 * (1 + std::erf(x / std::sqrt(2.0))) + x * density;
}

/// Returns the length of the longest line in UTF-8 characters.
Index longest_line(const std::string& text);

}  // namespace gradus::raw_cases
