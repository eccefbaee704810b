// Are the gradients of a function of tensors, or of a layer, its derivatives?
//
//   const check::Report report = check::gradients(
//       "softmax", [](const std::vector<Tensor>& in) { return softmax(in[0]); }, {x});
//   if (!report) std::cerr << report;
//
// The numbers are measured in f64 and judged by check/raw, which explains how; here tensors become
// numbers and back. Then come the conditions under which gradients break that are right otherwise:
// other memory layouts, gradients that add up, few inputs that want one … (condition.h).
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/check/raw/options.h"
#include "gradus/check/raw/report.h"
#include "gradus/engine/tensor.h"
#include "gradus/nn/module.h"

namespace gradus::check {

using Tensors = std::vector<Tensor>;

/// Called often, recorded or not: it must give the same for the same inputs. Random ops inside draw
/// the same numbers each time (it runs with a Generator of the check's own).
using Function = std::function<Tensor(const Tensors&)>;

/// A backward pass by hand: the inputs and dy → one gradient for each input; an undefined one means
/// that the input gets none.
using Vjp = std::function<Tensors(const Tensors& x, const Tensor& dy)>;

struct Options {
  std::vector<std::string> names = {};    // of the inputs; empty: x0, x1 …
  std::vector<bool> differentiable = {};  // of each input; empty: the floating-point ones
  bool formula = false;  // take the gradients that create_graph records, not those of the kernels
  double rtol = 1e-7;    // of the derivative
  double atol = 1e-9;    // of the largest derivative by the same element
  std::uint64_t seed = 0x5eed;        // of the upstream gradients, and of random ops inside
  bool conditions = true;             // false: the comparison with differences alone
  Mode mode = Mode::automatic;        // large Jacobians are sampled
  std::vector<Kink> kinks = {};       // declared ones are held to their convention
  Tensor upstream = {};               // one more upstream gradient beside the random ones
  std::vector<Tensors> refused = {};  // inputs that f must throw for, recorded or not
  /// f32: f and its gradients run in f32 too, held to the rounding that f32 may have. Empty:
  /// so where any input is f32. f64: never.
  std::optional<Dtype> dtype = {};
  double seconds = 0;    // > 0: a sample, as large as there is time for
  bool smallest = true;  // looks for smaller inputs that fail too, where these fail
};

/// Compares the gradients of f at `inputs` with differences of f. Floating-point inputs are
/// converted to f64 and become leaves; i64 and bool ones are handed through. The upstream
/// gradients are random.
///
/// DtypeError when f does not return f64; ValueError when nothing is differentiable or options do
/// not fit the inputs; what f itself throws at `inputs` passes through.
Report gradients(std::string_view name, const Function& f, const Tensors& inputs,
                 const Options& options = {});
Report gradients(const Function& f, const Tensors& inputs, const Options& options = {});

/// The same for a backward pass by hand, before there is an operation that has it. It is recorded
/// as one, so that all conditions hold for it.
Report vjp(std::string_view name, const Function& forward, const Vjp& backward,
           const Tensors& inputs, const Options& options = {});

/// Are the gradient's own gradients right? For one random upstream gradient w and one random u, the
/// gradients by x and by w of g(x, w) = ⟨u, ∂⟨w, f(x)⟩/∂x⟩ are compared with differences of g.
Report second(std::string_view name, const Function& f, const Tensors& inputs,
              const Options& options = {});
Report second(std::string_view name, const Function& forward, const Vjp& backward,
              const Tensors& inputs, const Options& options = {});

/// The same by every parameter of m and every input, each by its name. f calls m with the inputs.
/// While it runs, m holds f64 copies of its parameters and buffers (f32 ones where those are
/// checked); afterwards its own again, whatever happens. options.names, .differentiable, .kinks and
/// .refused are those of the inputs alone.
Report module(nn::Module& m, const Function& f, const Tensors& inputs, const Options& options = {});

/// For a layer of one argument: module(layer, x).
template <std::derived_from<nn::Module> M>
Report module(M& m, const Tensor& x, const Options& options = {}) {
  return module(
      m, [&m](const Tensors& in) { return m(in[0]); }, {x}, options);
}

}  // namespace gradus::check
