// A backward pass by hand becomes an operation, and is checked as one.
#include <utility>

#include "gradus/check/raw/options.h"
#include "gradus/check/tensor_function.h"
#include "gradus/engine/apply.h"
#include "gradus/engine/grad_mode.h"

namespace gradus {
namespace op {

struct ByHand final : Op {  // y = f(x…),  dx… = vjp(x…, dy)
  ByHand(const check::Function& forward_pass, const check::Vjp& backward_pass)
      : f(&forward_pass), vjp(&backward_pass) {}

  const check::Function* f;  // both live as long as the check
  const check::Vjp* vjp;
  std::vector<Saved> x;

  const char* name() const override { return "vjp by hand"; }

  Tensor forward(std::span<const Tensor> inputs) {
    x.assign(inputs.begin(), inputs.end());
    const NoGrad off;
    std::vector<Tensor> plain;
    for (const Tensor& each : inputs) plain.push_back(each.detach());
    return (*f)(plain);
  }

  Gradients backward(const Tensor& dy, const Wanted&) override {
    std::vector<Tensor> in;
    for (const Saved& each : x) in.push_back(each.value());
    std::vector<Tensor> dx = (*vjp)(in, dy);
    if (dx.size() != x.size())
      throw check::Damage(str_cat("vjp returns ", dx.size(), " gradients for ", x.size(),
                                  " inputs: it must give one for each, undefined where an ",
                                  "input gets none"));
    Gradients out;
    for (std::size_t k = 0; k < dx.size(); ++k) out.emplace_back(fitting(k, dx[k]));
    return out;
  }

 private:
  const Tensor& fitting(std::size_t k, const Tensor& dx) const {
    if (dx.defined() && (dx.shape() != x[k].shape() || dx.dtype() != x[k].dtype()))
      throw check::Damage(str_cat("vjp returns ", dx.dtype(), " ", dx.shape(),
                                  " as the gradient of input ", k, ", which is ", x[k].dtype(), " ",
                                  x[k].shape(), ": a gradient has the shape and the dtype ",
                                  "of its input"));
    return dx;
  }
};

}  // namespace op

namespace check {
namespace {

Function recorded(std::string_view name, const Function& forward, const Vjp& backward) {
  require(forward != nullptr && backward != nullptr, name,
          ": the function to check, or its backward pass, is empty");
  return [&forward, &backward](const Tensors& in) {
    return apply(op::ByHand(forward, backward), std::span<const Tensor>(in));
  };
}

}  // namespace

Report vjp(std::string_view name, const Function& forward, const Vjp& backward,
           const Tensors& inputs, const Options& options) {
  return run(
      CheckedTensorFunction(std::string(name), recorded(name, forward, backward), inputs, options),
      "vjp");
}

Report second(std::string_view name, const Function& forward, const Vjp& backward,
              const Tensors& inputs, const Options& options) {
  return second(name, recorded(name, forward, backward), inputs, options);
}

}  // namespace check
}  // namespace gradus
