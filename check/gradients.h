// Checks the gradients of a function of tensors, or of a layer.
//
//   const check::Report report = check::gradients(
//       "softmax", [](const std::vector<Tensor>& in) { return softmax(in[0]); }, {x});
//   if (!report) std::cerr << report;
//
// check/raw compares the gradients with finite differences in f64. Then the conditions of
// condition.h follow: other memory layouts, accumulated gradients, gradients for only some inputs,
// and others.
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

/// The function to check. It is called often, with and without recording, and must return the same
/// result for the same inputs. Random ops inside draw the same values in each call.
using Function = std::function<Tensor(const Tensors&)>;

/// A backward pass by hand: takes the inputs and dy and returns one gradient per input, undefined
/// for an input that gets none.
using Vjp = std::function<Tensors(const Tensors& x, const Tensor& dy)>;

struct Options {
  std::vector<std::string> names = {};    // of the inputs; default: x0, x1 …
  std::vector<bool> differentiable = {};  // for each input; default: the floating-point ones
  bool formula = false;  // check the gradients that create_graph records, not those of the kernels
  double rtol = 1e-7;    // relative to the derivative
  double atol = 1e-9;    // relative to the largest derivative with respect to the same element
  std::uint64_t seed = 0x5eed;        // of the upstream gradients and of random ops in f
  bool conditions = true;             // false: only compare with finite differences
  Mode mode = Mode::automatic;        // automatic: large Jacobians are sampled
  std::vector<Kink> kinks = {};       // the gradient at a declared kink must follow its convention
  Tensor upstream = {};               // one more upstream gradient, in addition to the random ones
  std::vector<Tensors> refused = {};  // inputs for which f must throw, with and without recording
  /// f32: also runs f and its gradients in f32, with a tolerance for f32 rounding errors. Default:
  /// f32 if any input is f32. f64: never runs in f32.
  std::optional<Dtype> dtype = {};
  double seconds = 0;    // > 0: time limit; a sample is checked that fits in it
  bool smallest = true;  // after a failure, look for smaller inputs that fail
};

/// Compares the gradients of f at `inputs` with finite differences of f, for random upstream
/// gradients. Floating-point inputs are converted to f64 and become leaves; i64 and bool inputs are
/// passed on unchanged.
///
/// Throws DtypeError if f does not return f64, and ValueError if no input is differentiable or the
/// options do not fit the inputs. Exceptions that f throws at `inputs` propagate.
Report gradients(std::string_view name, const Function& f, const Tensors& inputs,
                 const Options& options = {});
Report gradients(const Function& f, const Tensors& inputs, const Options& options = {});

/// The same for a backward pass by hand. It is recorded as an op, so all conditions apply.
Report vjp(std::string_view name, const Function& forward, const Vjp& backward,
           const Tensors& inputs, const Options& options = {});

/// Checks second derivatives. For random w and u, compares the gradients of g(x, w) = ⟨u, ∂⟨w,
/// f(x)⟩/∂x⟩ with respect to x and w with finite differences of g.
Report second(std::string_view name, const Function& f, const Tensors& inputs,
              const Options& options = {});
Report second(std::string_view name, const Function& forward, const Vjp& backward,
              const Tensors& inputs, const Options& options = {});

/// Checks the gradients of f with respect to every parameter of m and every input. f calls m with
/// the inputs. During the check, m holds f64 (or f32) copies of its parameters and buffers; its own
/// tensors are restored afterwards, even after an exception. options.names, .differentiable, .kinks
/// and .refused refer only to the inputs.
Report module(nn::Module& m, const Function& f, const Tensors& inputs, const Options& options = {});

/// The same for a layer with one argument.
template <std::derived_from<nn::Module> M>
Report module(M& m, const Tensor& x, const Options& options = {}) {
  return module(
      m, [&m](const Tensors& in) { return m(in[0]); }, {x}, options);
}

}  // namespace gradus::check
