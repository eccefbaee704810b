// Is this the derivative of that function? For code that knows no tensor of ours; needs the
// standard library alone.
//
//   std::vector<double> softmax(const std::vector<double>& x);
//   std::vector<double> softmax_vjp(const std::vector<double>& x, const std::vector<double>& dy);
//
//   std::cout << check::raw("softmax", softmax, softmax_vjp, x);
//
// docs/checking.md shows the other forms and how to read a report.
#pragma once

#include <optional>

#include "gradus/check/raw/adapter.h"
#include "gradus/check/raw/report.h"
#include "gradus/check/raw/vjp_check.h"

namespace gradus::check {

using core::BadInput;
using core::Report;
using core::Shape;
using core::Verdict;

/// An input with a name and a shape for the report. One of integers gets no gradient.
template <core::Numbers A>
auto input(const A& value, std::string name = {}, Shape shape = {}) {
  constexpr bool wanted = std::is_floating_point_v<core::Element<const A>>;
  return core::Given<A, wanted>{value, std::move(name), std::move(shape)};
}

/// An input that gets no gradient.
template <core::Numbers A>
core::Given<A, false> constant(const A& value, std::string name = {}, Shape shape = {}) {
  return {value, std::move(name), std::move(shape)};
}

/// A derivative in forward mode: jvp(inputs…, directions…) returns the output's derivative along
/// the directions, or writes it to a last argument.
template <class F>
core::Jvp<F> jvp(F f) {
  return {std::move(f)};
}

enum class Order { row_major, column_major };

/// A derivative that returns the Jacobian, or writes it: flat, one row for each output, in this
/// order; or a matrix. For several inputs a tuple, or one argument each.
template <class F>
core::Jacobian<F> jacobian(F f, Order order = Order::row_major) {
  return {std::move(f), order == Order::column_major};
}

/// A check that is described and not yet run; it runs once, when its report is asked for.
template <class F, class... G>
class Raw {
 public:
  core::Options options;  // what has no function below

  template <class D>
  Raw(std::string name, F f, D d, const G&... given)
      : name_(std::move(name)), plan_(std::make_shared<core::Plan>()) {
    (add(given), ...);
    const core::Adapter<F, G...> adapter(plan_);
    functions_.forward = adapter.forward(f, "forward");
    functions_.shape = [plan = plan_] { return plan->output.shape; };
    put(adapter, std::move(d));
  }

  /// The shape of the result: needed where forward writes it, else for the report.
  Raw& output(Shape shape) {
    plan_->output.shape = options.output_shape = std::move(shape);
    plan_->output_known = true;
    return *this;
  }
  /// The derivative adds to what its buffers hold.
  Raw& accumulates() { return plan_->accumulates = functions_.accumulates = true, *this; }
  /// The same function computed in double, of which differences are taken.
  template <class R>
  Raw& reference(R r) {
    static_assert(core::Plain<R>, "the parameters of the reference need types, those of double");
    functions_.reference = core::Adapter<F, G...>(plan_).forward(std::move(r), "the reference");
    return *this;
  }
  /// Without a reference: how fine a comparison is enough, as a share of the largest derivative.
  Raw& resolution(double share) { return options.resolution = share, *this; }
  /// |analytic - numeric| ≤ rtol·|numeric| + atol·(the input's largest) + the measurement's error.
  Raw& tolerance(double r, double a) { return options.rtol = r, options.atol = a, *this; }
  Raw& seed(std::uint64_t s) { return options.seed = s, *this; }
  /// Extrapolated differences: four times the calls, for functions that six points see badly.
  Raw& ridders() { return options.method = core::Method::ridders, *this; }
  /// The whole Jacobian, however large; or a sample of it, however small.
  Raw& full() { return options.mode = core::Mode::full, *this; }
  Raw& sampled() { return options.mode = core::Mode::projections, *this; }
  /// A dy of one's own beside the random ones.
  Raw& upstream(std::vector<double> dy) { return options.upstream = std::move(dy), *this; }

  /// BadInput where the check itself was called wrongly; all else is in the report.
  const Report& report() const {
    if (!*report_) *report_ = run();
    return **report_;
  }
  operator Report() const { return report(); }  // NOLINT: `const Report r = raw(…)` is meant
  explicit operator bool() const { return static_cast<bool>(report()); }
  friend std::ostream& operator<<(std::ostream& out, const Raw& raw) { return out << raw.report(); }

 private:
  template <class Input>
  void add(const Input& given) {
    core::Layout layout = core::layout_of(given.value);
    if (!given.shape.empty()) layout.shape = given.shape;
    const std::string name = given.name.empty() ? "x" + std::to_string(inputs_.size()) : given.name;
    const bool fits =
        core::count_of(layout.shape) == static_cast<std::int64_t>(core::size_of(given.value));
    core::Values values = core::numbers_of(given.value, layout);
    if (fits)
      plan_->inputs.push_back(layout);
    else
      plan_->inputs.push_back({{std::ssize(values)}, false});
    plan_->names.push_back(name);
    plan_->wanted.push_back(Input::wanted);
    inputs_.push_back({name, layout.shape, std::move(values), Input::wanted});
    using T = core::Element<const typename Input::Type>;
    if constexpr (std::is_same_v<T, float>) functions_.ulp = std::numeric_limits<float>::epsilon();
  }

  template <class Adapter, class D>
  void put(const Adapter& adapter, D d) {
    adapter.derivative(std::move(d), false, functions_);
  }
  template <class Adapter, class D>
  void put(const Adapter& adapter, core::Jacobian<D> d) {
    adapter.derivative(std::move(d.f), d.column_major, functions_);
  }
  template <class Adapter, class D>
  void put(const Adapter& adapter, core::Jvp<D> d) {
    adapter.forward_mode(std::move(d.f), functions_);
  }

  Report run() const {
    Report report = core::check_vjp(name_, functions_, inputs_, options);
    report.reproduce = "check::raw(\"" + name_ + "\", …).seed(" + std::to_string(report.seed) + ")";
    return report;
  }

  std::string name_;
  std::shared_ptr<core::Plan> plan_;
  core::Functions functions_;
  std::vector<core::Input> inputs_;
  std::shared_ptr<std::optional<Report>> report_ = std::make_shared<std::optional<Report>>();
};

template <class A, bool Wanted>
core::Given<A, Wanted> given(const core::Given<A, Wanted>& value) {
  return value;
}
template <core::Numbers A>
auto given(const A& value) {
  return input(value);
}
template <class T, std::size_t N>
auto given(const T (&value)[N]) {
  return input(std::span<const T>(value, N));
}

/// Checks `derivative` against differences of `forward` at `inputs`: scalars, vectors, arrays,
/// spans (for pointers), and matrices with data(), rows() and cols(). Both functions are given
/// what the inputs are, or, where their parameters are pointers or spans, guarded memory of ours.
///
///   forward(inputs…) → y                      or  forward(inputs…, y) with .output(shape)
///   derivative(inputs…, dy) → gradients       a vector-Jacobian product
///   derivative(inputs…, dy, gradients…)       the same, written; or added to: .accumulates()
///   derivative(inputs…) → gradients           of a scalar y; else, the Jacobian
///   derivative(inputs…, gradients…)           the same, written
///
/// Several gradients are a tuple, or a vector of vectors.
template <class F, class D, class... A>
[[nodiscard]] auto raw(std::string name, F forward, D derivative, const A&... inputs) {
  static_assert(sizeof...(A) > 0, "give at least one input to differentiate by");
  return Raw<F, decltype(given(inputs))...>(std::move(name), std::move(forward),
                                            std::move(derivative), given(inputs)...);
}

}  // namespace gradus::check
