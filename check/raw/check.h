// Checks a derivative against finite differences. Needs only the standard library.
//
//   std::vector<double> softmax(const std::vector<double>& x);
//   std::vector<double> softmax_vjp(const std::vector<double>& x, const std::vector<double>& dy);
//
//   std::cout << check::raw("softmax", softmax, softmax_vjp, x);
//
// docs/checking/cpp.md shows the other forms and explains the report. The files, in reading order:
//
//   values.h words.h random.h   values, text, random numbers
//   options.h findings.h        input and output of a check
//   verdict.h                   the rule by which a derivative passes
//   kinks.h differences.h       measuring a derivative, choosing the step
//   probe.h                     which derivatives are compared
//   checked_function.h          guarded calls of the function under test
//   compare.h vjp_check.h       the check itself
//   time_budget.h side_effects.h special_points.h
//   evidence.h wrong_places.h wrong_sizes.h causes.h    diagnosing a cause
//   report.h sarif.h ci.h       text, JSON and XML; reports for CI
//   manifold.h manifolds.h pullback.h                   inputs on a manifold
//   arrays.h arguments.h adapter.h check.h              functions and arrays of other types
//   smallest.h catch2.h compiled.cpp                    tools
#pragma once

#include <optional>

#include "gradus/check/raw/adapter.h"
#include "gradus/check/raw/findings.h"
#ifndef GRADUS_CHECK_COMPILED
#include "gradus/check/raw/ci.h"
#include "gradus/check/raw/pullback.h"
#endif

namespace gradus::check {

#ifdef GRADUS_CHECK_COMPILED
/// Checks functions of plain values (vjp_check.h).
Report check_vjp(const std::string& name, Functions functions, std::vector<Input> inputs,
                 RawOptions options);
#endif

/// An input with a name and a shape for the report. Integer inputs have no gradient.
template <NumberArray A>
auto input(const A& value, std::string name = {}, Dims shape = {}) {
  constexpr bool wanted = std::is_floating_point_v<NumberOf<const A>>;
  return Given<A, wanted>{value, std::move(name), std::move(shape)};
}

/// An input that is not differentiated.
template <NumberArray A>
Given<A, false> constant(const A& value, std::string name = {}, Dims shape = {}) {
  return {value, std::move(name), std::move(shape)};
}

/// Marks a forward-mode derivative: jvp(inputs…, directions…) returns or writes the derivative
/// along the directions.
template <class F>
Jvp<F> jvp(F f) {
  return {std::move(f)};
}

/// Element order of a flat Jacobian.
enum class Order { row_major, column_major };

/// Marks a derivative that computes the Jacobian: a matrix, or a flat array in this order with one
/// row per output. For multiple inputs, the Jacobians are a tuple or one argument each.
template <class F>
Jacobian<F> jacobian(F f, Order order = Order::row_major) {
  return {std::move(f), order == Order::column_major};
}

/// A check, which runs when its report is first requested.
template <class F, class... G>
class Raw {
 public:
  RawOptions options;  // options that have no member function below

  template <class D>
  Raw(Named named, F f, D d, const G&... given)
      : named_(std::move(named)), plan_(std::make_shared<Plan>()) {
    (add(given), ...);
    const Adapter<F, G...> adapter(plan_);
    functions_.forward = adapter.forward(f, "forward");
    functions_.shape = [plan = plan_] { return plan->output->shape; };
    adapter.derivative(std::move(d), functions_);
  }

  /// Sets the shape of the result. Required if forward writes its result.
  Raw& output(Dims shape) {
    options.output_shape = shape;
    plan_->output = Layout{std::move(shape)};
    return *this;
  }
  /// Puts the output on a manifold. A Jacobian then has one row per tangent coordinate; a vjp
  /// receives dy in the ambient space.
  Raw& output_on(Manifold manifold) { return set(domains_.output, std::move(manifold)); }
  /// Declares that the derivative adds to its buffers.
  Raw& accumulates() { return set(plan_->accumulates, true).set(functions_.accumulates, true); }
  /// Sets the same function in double precision, whose finite differences are the reference.
  template <class R>
  Raw& reference(R r) {
    static_assert(Plain<R>,
                  "the reference must not be generic: give its parameters types of double");
    functions_.reference = Adapter<F, G...>(plan_).forward(std::move(r), "the reference");
    return *this;
  }
  /// Sets the accuracy relative to the largest derivative, if there is no reference.
  Raw& resolution(double share) { return set(options.resolution, share); }
  /// Sets rtol and atol. The rule is |analytic - numeric| ≤ rtol·|numeric| + atol·(the input's
  /// largest derivative) + the measurement error.
  Raw& tolerance(double r, double a) { return set(options.rtol, r).set(options.atol, a); }
  Raw& seed(std::uint64_t s) { return set(options.seed, s); }
  /// Compares the full Jacobian, or a sample.
  Raw& full() { return set(options.mode, Mode::full); }
  Raw& sampled() { return set(options.mode, Mode::projections); }
  /// Compares sums and directions, and the full Jacobian only if these do not pass. The report
  /// states the probability that a wrong entry was missed.
  Raw& quick() { return set(options.mode, Mode::quick); }
  /// Sets a time limit (a std::chrono::duration). If there is no time to move each element
  /// separately, moves the remaining ones together, along directions. The report states which
  /// errors this could miss.
  template <class Time>
  Raw& budget(Time time) {
    return set(options.seconds,
               static_cast<double>(time.count()) * Time::period::num / Time::period::den);
  }
  /// Sets the number of threads that may call forward concurrently. 0: one per core.
  Raw& parallel(int threads = 0) { return set(options.threads, threads); }
  /// Sets kinks at which one derivative is correct by convention.
  Raw& kinks(std::vector<Kink> at) { return set(options.kinks, std::move(at)); }
  /// Does not also check a point nearby if the inputs have zeros or equal values. For derivatives
  /// that are right at the inputs alone, such as those of a step at 0.
  Raw& only_here() { return set(options.neighborhood, false); }
  /// Sets the size of a sample: the number of elements per input, and of directions.
  Raw& columns(std::size_t n) { return set(options.columns, n); }
  Raw& directions(int n) { return set(options.projections, n); }
  Raw& upstream(std::vector<double> dy) { return set(options.upstream, std::move(dy)); }
  /// Sets the line at which CI shows the report, for example that of the derivative.
  Raw& at(std::string file, int line) {
    return set(named_.place, SourceLine{std::move(file), line});
  }

  /// Runs the check at the first call. Throws BadInput if the check is misused. All other problems
  /// are in the report.
  const Report& report() const {
    if (!*report_) {
      *report_ = domains_.any()
                     ? check_on(named_.name, functions_, plan_->inputs, domains_, options)
                     : check_vjp(named_.name, functions_, plan_->inputs, options);
      (*report_)->reproduce =
          joined("check::raw(\"", named_.name, "\", …).seed(", (*report_)->seed, ")");
      (*report_)->place = named_.place;
    }
    return **report_;
  }
  operator Report() const { return report(); }  // NOLINT: `const Report r = raw(…)` is intended
  explicit operator bool() const { return static_cast<bool>(report()); }
  friend std::ostream& operator<<(std::ostream& out, const Raw& raw) { return out << raw.report(); }

 private:
  template <class T, class V>
  Raw& set(T& option, V value) {
    option = std::move(value);
    return *this;
  }

  template <class A>
  void add(const A& given) {
    Layout layout = layout_of(given.value);
    if (!given.shape.empty()) layout.shape = given.shape;
    std::vector<Input>& inputs = plan_->inputs;
    const std::string name = given.name.empty() ? joined("x", inputs.size()) : given.name;
    inputs.push_back({name, layout.shape, numbers_of(given.value, layout), A::wanted});
    const std::size_t count = inputs.back().values.size();
    if (count_of(layout.shape) != count) layout = {{static_cast<std::int64_t>(count)}};
    plan_->layouts.push_back(layout);
    if (given.manifold && given.manifold->gradient != GradientSpace::ambient)
      layout = {{static_cast<std::int64_t>(given.manifold->dimension(count))}};
    plan_->gradients.push_back(layout);
    domains_.inputs.push_back(given.manifold);
    using T = NumberOf<const typename A::Type>;
    if constexpr (std::is_same_v<T, float>) functions_.ulp = std::numeric_limits<float>::epsilon();
  }

  Named named_;
  std::shared_ptr<Plan> plan_;
  Functions functions_;
  Domains domains_;
  std::shared_ptr<std::optional<Report>> report_ = std::make_shared<std::optional<Report>>();
};

/// Replaces a check that does not compile. Its static_assert is then the only error.
struct Rejected {
  const Report& report() const;
  operator Report() const;
  explicit operator bool() const;
};

/// Converts an argument of raw() to an input.
template <class A, bool Wanted>
Given<A, Wanted> given(const Given<A, Wanted>& value) {
  return value;
}
template <class A>
auto given(const A& value) {
  constexpr bool taken = NumberArray<A>;
  static_assert(
      taken,
      "an input must be a number, or a vector, array, span or C array of numbers, rows of "
      "rows, or a matrix with data(), rows() and cols(). For a struct of doubles write "
      "`template <> struct gradus::check::Array<S> : gradus::check::Fields<S, double> "
      "{};`; for another type specialize gradus::check::Array (check/raw/arrays.h)");
  if constexpr (taken)
    return input(value);
  else
    return Rejected();
}
template <class T, std::size_t N>
auto given(const T (&value)[N]) {
  return input(std::span<const T>(value, N));
}

/// Checks `derivative` against finite differences of `forward` at `inputs`. Inputs are scalars,
/// vectors, arrays, spans, or matrices with data(), rows() and cols(). Pointer and span parameters
/// refer to guarded memory.
///   forward(inputs…) → y                      or  forward(inputs…, y) with .output(shape)
///   derivative(inputs…, dy) → gradients       a vector-Jacobian product
///   derivative(inputs…, dy, gradients…)       writes them, or adds to them: .accumulates()
///   derivative(inputs…) → gradients           if y is a scalar; otherwise the Jacobian
///   derivative(inputs…, gradients…)           writes them
///
/// Multiple gradients are a tuple or a vector of vectors.
template <class F, class D, class... A>
[[nodiscard]] auto raw(Named name, F forward, D derivative, const A&... inputs) {
  constexpr bool some = sizeof...(A) > 0,
                 known = (requires { typename decltype(given(inputs))::Type; } && ...);
  static_assert(some, "give at least one differentiable input");
  constexpr bool taken = some && takes<F, decltype(given(inputs))...>();
  static_assert(
      taken || !some || !known,
      "forward must be y = f(inputs…) or f(inputs…, y) and accept the given inputs. For a member "
      "function use method(&C::f, object). For an overloaded or generic function use a lambda: "
      "[](double x) { return std::exp(x); }");
  if constexpr (!taken) {
    return Rejected();
  } else {
    return Raw<F, decltype(given(inputs))...>(std::move(name), std::move(forward),
                                              std::move(derivative), given(inputs)...);
  }
}

/// Selects the overload for double of functions such as std::exp.
using RealFunction = double (*)(double);
template <class D, class A>
[[nodiscard]] auto raw(Named name, RealFunction f, D derivative, const A& x) {
  constexpr bool number = std::is_arithmetic_v<A>;
  static_assert(number,
                "an overloaded function is only accepted for one number; for another input write a "
                "lambda that selects the overload: [](const V& x) { return exp(x); }");
  if constexpr (number)
    return raw<RealFunction, D, double>(std::move(name), f, std::move(derivative),
                                        static_cast<double>(x));
  else
    return Rejected();
}
template <class A>
[[nodiscard]] auto raw(Named name, RealFunction f, RealFunction derivative, const A& x) {
  return raw<RealFunction>(std::move(name), f, derivative, x);
}

/// Checks y = f(x, gradient), which returns the value and writes the gradient in one call.
template <Plain F, class A>
requires(SignatureOf<F>::arity == 2) [[nodiscard]] auto raw(Named name, F f, const A& x) {
  using X = std::tuple_element_t<0, typename SignatureOf<F>::Parameters>;
  using Gradient = std::tuple_element_t<1, typename SignatureOf<F>::Parameters>;
  const auto value = [f, layout = layout_of(given(x).value)](const X& at) mutable {
    constexpr double unwritten = std::numeric_limits<double>::quiet_NaN();
    GuardedArray<Gradient> gradient(Values(count_of(layout.shape), unwritten), layout);
    const auto y = static_cast<double>(f(at, gradient.pass()));
    gradient.inspect("the function", "its gradient", true);
    return y;
  };
  return raw(std::move(name), value, f, x);
}

}  // namespace gradus::check
