#include "gradus/engine/backward.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/derivations/trial.h"

namespace gradus::derivations {
namespace {

using In = const Given&;

/// Returns filters with which conv1d returns its windows as [b, c·k, t].
Tensor taps(std::int64_t channels, std::int64_t count) {
  const std::int64_t n = channels * count;
  return reshape(one_hot(arange(n), n, Dtype::f64), {n, channels, count});
}

Conv1dOptions windows(In in, std::int64_t groups = 1) {
  return {.stride = in.integer("stride"), .dilation = in.integer("dilation"), .groups = groups};
}

/// x [b, c, l] → [b, t, c, k]
Tensor unfolded(const Tensor& x, std::int64_t k, const Conv1dOptions& options) {
  const Tensor y = conv1d(x, taps(x.size(1), k), {}, options);  // [b, c·k, t]
  return reshape(transpose(y, 1, 2), {x.size(0), y.size(2), x.size(1), k});
}

/// Returns the gradient of unfolded() for the upstream gradient u.
Tensor folded(In in) {
  const Tensor& u = in("u");
  const Tensor x = zeros({u.size(0), u.size(2), in.integer("L")}, Dtype::f64).requires_grad_();
  const Tensor y = unfolded(x, u.size(3), windows(in));
  return grad({y}, {x}, {u}, {.create_graph = true})[0];
}

}  // namespace

std::vector<Case> product_cases() {
  const std::string sizes = "l:7,9,5 k:3,2,2 t:2,4,2 b:2,1,3 c:1,2,3 stride=2 dilation=2 ";
  return {
      {"matmul", "a_ik b_kj", [](In in) { return matmul(in("a"), in("b")); }},
      {"linear", "x_ni weight_oi bias_o",
       [](In in) { return linear(in("x"), in("weight"), in("bias")); }},
      {"unfold", sizes + "x_bcl K=#k",
       [](In in) { return unfolded(in("x"), in.integer("K"), windows(in)); }},
      {"fold", sizes + "u_btck L=#l", folded},
      {"depthwise_conv1d", sizes + "x_bcl w_ck",
       [](In in) {
         const Tensor w = unsqueeze(in("w"), 1);
         return conv1d(in("x"), w, {}, windows(in, w.size(0)));
       }},
  };
}

}  // namespace gradus::derivations
