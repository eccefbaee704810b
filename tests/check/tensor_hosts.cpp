// Functions whose backward passes are tensor ops.
#include <cmath>

#include "gradus/ops/members.h"
#include "gradus/tests/check/faulty_tensor_ops.h"

namespace gradus::faulty_tensor_ops {

Host square_host() {
  return {"square",
          [](const Tensors& in) { return square(in[0]); },
          [](const Tensors& x, const Tensor& dy) { return Tensors{2.0 * x[0] * dy}; },
          {values({3, 4})}};
}

Host tanh_host() {
  return {
      "tanh",
      [](const Tensors& in) { return tanh(in[0]); },
      [](const Tensors& x, const Tensor& dy) { return Tensors{dy * (1.0 - square(tanh(x[0])))}; },
      {values({2, 3, 2})}};
}

Host multiply_host() {
  return {"multiply",
          [](const Tensors& in) { return in[0] * in[1]; },
          [](const Tensors& x, const Tensor& dy) {
            return Tensors{dy * x[1], dy * x[0]};
          },
          {values({2, 3}), values({2, 3}, 1)}};
}

Host broadcast_host() {
  return {"broadcast",
          [](const Tensors& in) { return in[0] * in[1]; },
          [](const Tensors& x, const Tensor& dy) {
            return Tensors{dy * x[1], reshape(sum(dy * x[0], {0, 2}), {3, 1})};
          },
          {values({2, 3, 4}), values({3, 1}, 1)}};
}

Host matmul_host() {
  return {"matmul",
          [](const Tensors& in) { return matmul(in[0], in[1]); },
          [](const Tensors& x, const Tensor& dy) {
            return Tensors{matmul(dy, transpose(x[1])), matmul(transpose(x[0]), dy)};
          },
          {values({3, 4}), values({4, 2}, 1)}};
}

Host linear_host() {
  return {"linear",
          [](const Tensors& in) { return linear(in[0], in[1], in[2]); },
          [](const Tensors& x, const Tensor& dy) {
            return Tensors{matmul(dy, x[1]), matmul(transpose(dy), x[0]), sum(dy, {0})};
          },
          {values({3, 4}), values({2, 4}, 1), values({2}, 2)}};
}

Host sum_host() {
  return {"sum",
          [](const Tensors& in) { return sum(in[0], {1}); },
          [](const Tensors& x, const Tensor& dy) {
            return Tensors{expand(unsqueeze(dy, 1), x[0].shape()) * 1.0};
          },
          {values({3, 4})}};
}

Host softmax_host() {
  return {"softmax",
          [](const Tensors& in) { return softmax(in[0]); },
          [](const Tensors& x, const Tensor& dy) {
            const Tensor y = softmax(x[0]);
            return Tensors{y * (dy - sum(y * dy, {1}, true))};
          },
          {values({3, 5})}};
}

Host log_softmax_host() {
  return {"log_softmax",
          [](const Tensors& in) { return log_softmax(in[0]); },
          [](const Tensors& x, const Tensor& dy) {
            return Tensors{dy - softmax(x[0]) * sum(dy, {1}, true)};
          },
          {values({3, 5})}};
}

Host layer_norm_host() {
  return {"layer_norm",
          [](const Tensors& in) { return layer_norm(in[0], in[1], in[2]); },
          [](const Tensors& x, const Tensor& dy) {
            const Tensor centred = x[0] - mean(x[0], {1}, true);
            const Tensor rstd = rsqrt(mean(square(centred), {1}, true) + 1e-5);
            const Tensor hat = centred * rstd, g = dy * x[1];
            return Tensors{rstd * (g - mean(g, {1}, true) - hat * mean(g * hat, {1}, true)),
                           sum(dy * hat, {0}), sum(dy, {0})};
          },
          {values({3, 5}), values({5}, 1), values({5}, 2)}};
}

Host rms_norm_host() {
  return {"rms_norm",
          [](const Tensors& in) { return rms_norm(in[0], in[1]); },
          [](const Tensors& x, const Tensor& dy) {
            const Tensor r = rsqrt(mean(square(x[0]), {1}, true) + 1e-5), g = dy * x[1];
            return Tensors{r * g - x[0] * r * r * r * mean(g * x[0], {1}, true),
                           sum(dy * x[0] * r, {0})};
          },
          {values({3, 5}), values({5}, 1)}};
}

Host attention_host() {
  return {"attention",
          [](const Tensors& in) { return scaled_dot_product_attention(in[0], in[1], in[2]); },
          [](const Tensors& x, const Tensor& dy) {
            const double scale = 1 / std::sqrt(4.0);
            const Tensor p = softmax(matmul(x[0], transpose(x[1])) * scale);
            const Tensor dp = matmul(dy, transpose(x[2]));
            const Tensor ds = p * (dp - sum(p * dp, {-1}, true)) * scale;
            return Tensors{matmul(ds, x[1]), matmul(transpose(ds), x[0]), matmul(transpose(p), dy)};
          },
          {values({1, 2, 3, 4}), values({1, 2, 5, 4}, 1), values({1, 2, 5, 3}, 2)}};
}

Host rows_host() {
  return {"rows",
          [](const Tensors& in) { return index_select(in[0], 0, in[1]); },
          [](const Tensors& x, const Tensor& dy) {
            const Tensor at = expand(unsqueeze(x[1], 1), dy.shape());
            return Tensors{scatter_add(zeros(x[0].shape(), dy.dtype()), 0, at.contiguous(), dy),
                           Tensor()};
          },
          {values({4, 3}), indices({2, 0, 2, 1, 0})}};
}

Host loss_host() {
  return {"mse",
          [](const Tensors& in) { return mean(square(in[0] - in[1])); },
          [](const Tensors& x, const Tensor& dy) {
            const Tensor d = (2.0 / static_cast<double>(x[0].numel())) * dy * (x[0] - x[1]);
            return Tensors{d, -d};
          },
          {values({3, 4}), values({3, 4}, 1)}};
}

Host cross_entropy_host() {
  return {"cross_entropy",
          [](const Tensors& in) { return cross_entropy(in[0], in[1]); },
          [](const Tensors& x, const Tensor& dy) {
            const Tensor hot = one_hot(x[1], x[0].size(1), x[0].dtype());
            const auto n = static_cast<double>(x[0].size(0));
            return Tensors{dy * (softmax(x[0]) - hot) / n, Tensor()};
          },
          {values({4, 3}), indices({2, 0, 1, 2})}};
}

std::vector<Host> all_hosts() {
  return {square_host(),      tanh_host(),       multiply_host(),     broadcast_host(),
          matmul_host(),      linear_host(),     sum_host(),          softmax_host(),
          log_softmax_host(), layer_norm_host(), rms_norm_host(),     attention_host(),
          rows_host(),        loss_host(),       cross_entropy_host()};
}

Vjp changed(const Host& host, std::size_t input, const Change& change) {
  return [right = host.right, input, change](const Tensors& x, const Tensor& dy) {
    Tensors dx = right(x, dy);
    dx[input] = change(dx[input], x, dy);
    return dx;
  };
}

check::Report run(const FaultyOp& faulty) {
  const Host& h = faulty.host;
  if (!faulty.wrong && faulty.second) return check::second(faulty.name, h.forward, h.inputs);
  if (!faulty.wrong) return check::gradients(faulty.name, h.forward, h.inputs);
  if (faulty.second) return check::second(faulty.name, h.forward, faulty.wrong, h.inputs);
  return check::vjp(faulty.name, h.forward, faulty.wrong, h.inputs);
}

}  // namespace gradus::faulty_tensor_ops
