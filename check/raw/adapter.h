// Converts functions of each supported form to functions of plain values. A derivative with a
// parameter dy is a vector-Jacobian product; one without dy computes the Jacobian.
#pragma once

#include <memory>

#include "gradus/check/raw/arguments.h"
#include "gradus/check/raw/random.h"

namespace gradus::check {

/// A forward-mode derivative (see check::jvp()).
template <class F>
struct Jvp {
  F f;
};

/// A derivative function that returns or writes a Jacobian (see check::jacobian()).
template <class F>
struct Jacobian {
  F f;
  bool column_major = false;
};

/// Binds a member function to an object that outlives the check: raw("f", method(&C::f, c), …).
template <class C, class R, class... A>
auto method(R (C::*f)(A...) const, const C& object) {
  return [f, &object](A... a) -> R { return (object.*f)(std::forward<A>(a)...); };
}
template <class C, class R, class... A>
auto method(R (C::*f)(A...), C& object) {
  return [f, &object](A... a) -> R { return (object.*f)(std::forward<A>(a)...); };
}

template <class F, class... G>
constexpr bool takes() {
  if constexpr (!(requires { typename G::Type; } && ...)) {
    return false;
  } else if constexpr (Plain<F>) {
    return SignatureOf<F>::arity ==
           sizeof...(G) + (std::is_void_v<typename SignatureOf<F>::Result> ? 1 : 0);
  } else {
    return std::is_invocable_v<F&, typename G::Type&...>;
  }
}

struct DerivativeForm {
  bool known = false, takes_upstream = false, writes = false;
  bool with_value = false;  // f(x, gradient) returns the value and writes the gradient
};

struct Plan {
  std::vector<Input> inputs;
  std::vector<Layout> layouts;
  std::vector<Layout> gradients;  // layouts of the gradients; on a manifold, of tangent gradients
  std::optional<Layout> output;   // empty until forward has run
  bool accumulates = false;
};

template <class F, class... G>
class Adapter {
 public:
  static constexpr std::size_t count = sizeof...(G);
  static constexpr std::size_t wanted = (std::size_t{0} + ... + (G::wanted ? 1U : 0U));

  explicit Adapter(std::shared_ptr<Plan> plan) : plan_(std::move(plan)) {}

  template <class Function>
  Forward forward(Function f, const std::string& name) const {
    return [f, name, self = *this](const Arguments& in) mutable {
      Plan& plan = *self.plan_;
      auto x = inputs_for<Function>(plan, in);
      Values y;
      if constexpr (writes<Function>) {
        if (!plan.output)
          throw BadInput(name +
                         " writes its result into an argument. Give the result's shape, "
                         "for example .output({2, 3}).");
        using Out = GuardedArray<Parameter<Function, count, std::span<double>>>;
        std::tuple<Out> out(Out(self.starts({*plan.output}, false)[0], *plan.output));
        call(f, x, out);
        std::get<0>(out).inspect(name, "its output", true);
        y = std::get<0>(out).numbers();
      } else {
        const auto& result = call(f, x);
        if (!plan.output) plan.output = layout_of(result);
        y = numbers_of(result, *plan.output);
      }
      self.inspect(x, name);
      return y;
    };
  }

  template <class D>
  void derivative(D d, Functions& functions, bool column_major = false) const {
    static constexpr DerivativeForm form = form_of<D>();
    static_assert(form.known,
                  "the derivative must be vjp(inputs…, dy), which returns the gradients, "
                  "vjp(inputs…, dy, gradients…), which writes them, gradient(inputs…), "
                  "jacobian(inputs…) or check::jvp(f)");
    if constexpr (!form.known) {
      return;
    } else if constexpr (form.takes_upstream) {
      DerivativeInto into = [d, self = *this](const Arguments& in, const Values& dy,
                                              const Arguments& start) mutable {
        std::tuple<Upstream<D>> up(Upstream<D>(dy, *self.plan_->output));
        Arguments dx = self.evaluate(d, in, self.plan_->gradients, start, up);
        std::get<0>(up).inspect("the derivative", "dy", false);
        return dx;
      };
      if (form.writes) return static_cast<void>(functions.into = into);
      functions.vjp = [into](const Arguments& in, const Values& dy) { return into(in, dy, {}); };
    } else {
      matrix_vjp(functions, [d, column_major, self = *this](const Arguments& in,
                                                            std::size_t outputs) mutable {
        const Plan& plan = *self.plan_;
        std::vector<Layout> layouts = form.with_value ? plan.layouts : plan.gradients;
        const bool matrix = outputs != 1 && !form.with_value;
        for (std::size_t k = 0; k < count && matrix; ++k)
          layouts[k] = {{static_cast<std::int64_t>(outputs),
                         static_cast<std::int64_t>(count_of(layouts[k].shape))},
                        column_major};
        Arguments result = self.evaluate(d, in, layouts, starts(layouts, plan.accumulates));
        if (matrix && result.size() == count) self.arrange(result, outputs);
        return result;
      });
    }
  }
  template <class D>
  void derivative(Jacobian<D> d, Functions& functions) const {
    derivative(std::move(d.f), functions, d.column_major);
  }
  /// Forward mode: builds the Jacobian with one call per input element.
  template <class D>
  void derivative(Jvp<D> d, Functions& functions) const {
    matrix_vjp(functions, [f = std::move(d.f), self = *this](const Arguments& in,
                                                             std::size_t outputs) mutable {
      return self.by_columns(f, in, outputs);
    });
  }

 private:
  template <class Function>
  static constexpr bool writes = requires {
    requires SignatureOf<Function>::arity == count + 1;
  };

  template <class Function>
  static auto inputs_for(const Plan& plan, const Arguments& in) {
    return arrays_for<Function, 0, true, G...>(plan.layouts, in);
  }

  /// The default type of dy is the result type of forward.
  static auto own_upstream() {
    if constexpr (writes<F>) {
      return std::type_identity<std::span<NumberOf<Parameter<F, count, std::span<double>>>>>{};
    } else {
      using Inputs = decltype(inputs_for<F>(Plan(), Arguments()));
      using R = std::remove_cvref_t<decltype(call(std::declval<F&>(), std::declval<Inputs&>()))>;
      return Writable<R>{};
    }
  }
  template <class D>
  using Upstream = GuardedArray<Parameter<D, count, typename decltype(own_upstream())::type>>;

  template <class D>
  static constexpr DerivativeForm form_of() {
    if constexpr (Plain<D>) {
      using S = SignatureOf<D>;
      if constexpr (count == 1 && wanted == 1 && S::arity == 2 &&
                    std::is_arithmetic_v<typename S::Result>) {
        using P = std::tuple_element_t<1, typename S::Declared>;
        if ((std::is_lvalue_reference_v<P> && !std::is_const_v<std::remove_reference_t<P>>) ||
            (std::is_pointer_v<P> && !std::is_const_v<std::remove_pointer_t<P>>))
          return {true, false, true, true};
      }
      constexpr bool writes = std::is_void_v<typename S::Result>;
      constexpr std::size_t inputs = count + (writes ? wanted : 0);
      return {S::arity == inputs || S::arity == inputs + 1, S::arity == inputs + 1, writes};
    } else {  // with `auto` parameters, assume that the gradients are returned
      return {true, !std::is_invocable_v<D&, typename G::Type&...>, false};
    }
  }

  template <class D, class... Up>
  Arguments evaluate(D& d, const Arguments& in, const std::vector<Layout>& layouts,
                     const Arguments& start, Up&... up) const {
    auto x = inputs_for<D>(*plan_, in);
    Arguments result;
    if constexpr (form_of<D>().writes) {
      auto dx = arrays_for<D, count + sizeof...(Up), false, G...>(layouts, start);
      call(d, x, up..., dx);
      result = collect(dx);
    } else {
      const auto& returned = call(d, x, up...);
      result = parts(returned, layouts);
    }
    inspect(x, "the derivative");
    return result;
  }

  static Arguments starts(const std::vector<Layout>& layouts, bool zeros) {
    Arguments result;
    for (const Layout& layout : layouts)
      result.emplace_back(count_of(layout.shape),
                          zeros ? 0.0 : std::numeric_limits<double>::quiet_NaN());
    return result;
  }

  template <class Arrays>
  void inspect(const Arrays& arrays, const std::string& function) const {
    std::apply(
        [&, k = std::size_t{0}](const auto&... each) mutable {
          (each.inspect(function, plan_->inputs[k++].name, false), ...);
        },
        arrays);
  }

  template <class Arrays>
  Arguments collect(const Arrays& arrays) const {
    Arguments result(count);
    std::size_t k = 0;
    const auto take = [&](const auto& array) {
      while (!plan_->inputs[k].differentiable) ++k;
      array.inspect("the derivative", "d" + plan_->inputs[k].name, true);
      result[k++] = array.numbers();
    };
    std::apply([&](const auto&... each) { (take(each), ...); }, arrays);
    return result;
  }

  /// Splits the returned gradients into one part per input. The function may omit gradients of
  /// inputs that need none.
  template <class R>
  Arguments parts(const R& returned, const std::vector<Layout>& layouts) const {
    std::size_t given = 0;
    constexpr bool one = wanted == 1;
    each_part(returned, one, [&given](const auto&) { ++given; });
    Arguments result(given == wanted ? count : given);
    std::size_t k = 0;
    each_part(returned, one, [&](const auto& part) {
      while (given == wanted && !plan_->inputs[k].differentiable) ++k;
      result[k] = numbers_of(part, k < layouts.size() ? layouts[k] : Layout());
      ++k;
    });
    return result;
  }

  template <class Make>
  void matrix_vjp(Functions& functions, Make make) const {
    functions.linear = true;
    functions.vjp = [make, plan = plan_, known = Arguments(), at = Arguments()](
                        const Arguments& in, const Values& dy) mutable {
      const auto has_nan = [](const Values& part) { return part != part; };
      if (known.empty() || at != in) {
        known = make(in, dy.size());
        at = in;
        if (make(in, dy.size()) != known && std::none_of(known.begin(), known.end(), has_nan))
          throw Damage("the derivative differs between calls with the same inputs");
      }
      Arguments dx;
      for (std::size_t k = 0; k < known.size(); ++k) {
        const std::size_t size = known[k].size();
        const bool fits = size == 0 || k >= in.size() || size == in[k].size() * dy.size() ||
                          size == count_of(plan->gradients[k].shape) * dy.size();
        if (!fits)
          throw Damage(joined("the Jacobian has ", size, " values for ", dy.size(), " outputs and ",
                              in[k].size(), " elements of an input; expected one per pair"));
        dx.push_back(times_rows(dy, known[k]));
      }
      return dx;
    };
  }

  /// Converts Jacobians from memory order to row-major order.
  void arrange(Arguments& matrices, std::size_t outputs) const {
    for (std::size_t k = 0; k < count; ++k) {
      const Values found = matrices[k];
      const std::size_t n = found.size() / outputs;
      const Layout& gradient = plan_->gradients[k];
      if (found.size() != outputs * count_of(gradient.shape)) continue;  // reported later
      for (std::size_t p = 0; p < found.size(); ++p)
        matrices[k][p] = found[plan_->output->position(p / n) * n + gradient.position(p % n)];
    }
  }

  template <class D>
  Values along(D& d, const Arguments& in, const Arguments& directions) const {
    auto x = inputs_for<D>(*plan_, in);
    auto v = arrays_for<D, count, false, G...>(plan_->gradients, directions);
    const auto& result = call(d, x, v);
    inspect(x, "the derivative");
    return numbers_of(result, *plan_->output);
  }

  template <class D>
  Arguments by_columns(D& d, const Arguments& in, std::size_t outputs) const {
    Arguments result(count), directions = starts(plan_->gradients, true), all = directions;
    Random random(7);
    Values sum(outputs, 0.0);
    for (std::size_t k = 0; k < count; ++k) {
      if (!plan_->inputs[k].differentiable) continue;
      const std::size_t n = directions[k].size();
      result[k].assign(outputs * n, 0.0);
      for (std::size_t j = 0; j < n; ++j) {
        directions[k][j] = 2;  // exact; with 1, a function that ignores directions could pass
        const Values column = along(d, in, directions);
        directions[k][j] = 0;
        all[k][j] = random.upstream();
        for (std::size_t i = 0; i < std::min(outputs, column.size()); ++i) {
          result[k][i * n + j] = column[i] / 2;
          sum[i] += column[i] / 2 * all[k][j];
        }
      }
    }
    if (!close(along(d, in, all), sum, 1e-4))
      throw Damage(
          "the derivative is not linear in its direction: along a sum of directions it differs "
          "from the sum of the derivatives along each");
    return result;
  }

  std::shared_ptr<Plan> plan_;
};

}  // namespace gradus::check
