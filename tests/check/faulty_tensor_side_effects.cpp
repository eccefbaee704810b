#include <cmath>
#include <memory>

#include "gradus/engine/node.h"
#include "gradus/ops/members.h"
#include "gradus/tests/check/faulty_tensor_ops.h"

namespace gradus::faulty_tensor_ops {
namespace {

Vjp one_buffer(const Host& host) {
  return
      [right = host.right, kept = std::make_shared<Tensor>()](const Tensors& x, const Tensor& dy) {
        Tensors dx = right(x, dy);
        if (!kept->defined() || kept->shape() != dx[0].shape() || kept->dtype() != dx[0].dtype())
          *kept = Tensor::empty_like(dx[0]);
        kept->copy_(dx[0]);
        dx[0] = *kept;
        return dx;
      };
}

/// Writes the last element of its result only if memory is not poisoned.
Vjp unfinished(const Host& host) {
  return changed(host, 0, [](const Tensor& dx, const Tensors&, const Tensor&) {
    const Tensor from = dx.contiguous();
    Tensor out = Tensor::empty_like(from);
    double* to = out.mutable_data<double>();
    const std::int64_t last = from.numel() - 1;
    const double before = to[last];
    for (std::int64_t i = 0; i < last; ++i) to[i] = from.data<double>()[i];
    if (!std::isnan(before)) to[last] = from.data<double>()[last];  // correct unless poisoned
    return out;
  });
}

/// Omits the gradient of input `second` if it shares its storage with input `first`.
Vjp same_twice(const Host& host, std::size_t first, std::size_t second) {
  return [right = host.right, first, second](const Tensors& x, const Tensor& dy) {
    Tensors dx = right(x, dy);
    if (x[first].storage() == x[second].storage()) dx[second] = Tensor();
    return dx;
  };
}

Vjp thresholded(const Host& host) {
  return [right = host.right](const Tensors& x, const Tensor& dy) {
    const Tensor size = abs(dy);
    return right(x, dy * (size > 0.1 * max(size).item()).to(dy.dtype()));
  };
}

Vjp with_upstream(const Host& host, const std::function<Tensor(const Tensor&)>& f) {
  return [right = host.right, f](const Tensors& x, const Tensor& dy) { return right(x, f(dy)); };
}

Vjp in_f32(const Host& host, const std::function<Tensor(const Tensor&)>& f) {
  return [right = host.right, f](const Tensors& x, const Tensor& dy) {
    Tensors dx = right(x, dy);
    if (x[0].dtype() == Dtype::f32) dx[0] = f(dx[0]);
    return dx;
  };
}

Host of_f32(Host host) {
  for (Tensor& x : host.inputs)
    if (is_float(x.dtype())) x = x.to(Dtype::f32);
  return host;
}

/// Detaches input k in the backward pass, so the second derivative lacks its terms.
Vjp detached(const Host& host, std::size_t k) {
  return [right = host.right, k](const Tensors& x, const Tensor& dy) {
    Tensors in = x;
    in[k] = x[k].detach();
    return right(in, dy);
  };
}

Vjp saves_the_output_wrongly(const Host& host, const std::function<void(const Tensor&)>& write) {
  return [right = host.right, write](const Tensors& x, const Tensor& dy) {
    Tensors dx = right(x, dy);
    write(x[0]);
    return dx;
  };
}

void add_memory(std::vector<FaultyOp>& all) {
  for (const Host& h : {square_host(), tanh_host(), softmax_host(), layer_norm_host(),
                        matmul_host(), attention_host(), sum_host(), rms_norm_host()})
    all.push_back({h.name + ", one buffer for all", h, one_buffer(h), "ACCUMULATION"});
  for (const Host& h : {square_host(), softmax_host(), layer_norm_host(), matmul_host(),
                        tanh_host(), sum_host(), attention_host(), log_softmax_host()})
    all.push_back({h.name + ", not all written", h, unfinished(h), "NEVER WRITTEN"});
  const auto raw_write = [](std::int64_t at) {
    return [at](const Tensor& x) { const_cast<double*>(x.data<double>())[at] += 1; };
  };
  for (const Host& h : {square_host(), softmax_host(), matmul_host()})
    all.push_back({h.name + ", writes to x", h, saves_the_output_wrongly(h, raw_write(0)), ""});
  for (const Host& h : {square_host(), layer_norm_host()})
    all.push_back({h.name + ", writes to dy", h,
                   [right = h.right](const Tensors& x, const Tensor& dy) {
                     Tensors dx = right(x, dy);
                     Tensor(dy).fill_(0);
                     return dx;
                   },
                   ""});
}

void add_inputs(std::vector<FaultyOp>& all) {
  const Host mul = multiply_host(), norm = layer_norm_host();
  all.push_back({"multiply, x twice", mul, same_twice(mul, 0, 1), "SAME INPUT TWICE"});
  Host products = matmul_host();
  products.inputs = {values({3, 3}), values({3, 3}, 1)};
  all.push_back({"matmul, x twice", products, same_twice(products, 0, 1), "SAME INPUT TWICE"});
  all.push_back(
      {"layer_norm, weight and bias one", norm, same_twice(norm, 1, 2), "SAME INPUT TWICE", 1});
}

void add_upstream(std::vector<FaultyOp>& all) {
  for (const Host& h : {square_host(), softmax_host(), matmul_host(), tanh_host()})
    all.push_back({h.name + ", small dy dropped", h, thresholded(h), "NOT LINEAR"});
  for (const Host& h : {square_host(), layer_norm_host(), attention_host()})
    all.push_back({h.name + ", dy clipped", h,
                   with_upstream(h, [](const Tensor& dy) { return clamp(dy, -1.0, 1.0); }),
                   "NOT LINEAR"});
  for (const Host& h : {tanh_host(), matmul_host()})
    all.push_back({h.name + ", abs of dy", h, with_upstream(h, abs), "NOT LINEAR"});
  for (const Host& h : {square_host(), loss_host(), cross_entropy_host(), tanh_host()})
    all.push_back({h.name + ", dy ignored", h, with_upstream(h, ones_like), "UPSTREAM IGNORED"});
  const Host soft = softmax_host();
  all.push_back({"softmax, dy rounded", soft,
                 with_upstream(soft, [](const Tensor& dy) { return round(dy * 8.0) / 8.0; }),
                 "NOT LINEAR"});
  auto calls = std::make_shared<int>(0);
  for (const Host& h : {square_host(), matmul_host()})
    all.push_back({h.name + ", counts its calls", h,
                   [right = h.right, calls](const Tensors& x, const Tensor& dy) {
                     Tensors dx = right(x, dy);
                     dx[0] = dx[0] * (1.0 + 1e-3 * (++*calls % 7));
                     return dx;
                   },
                   "NOT DETERMINISTIC"});
}

void add_precision(std::vector<FaultyOp>& all) {
  for (const Host& h : {square_host(), softmax_host(), layer_norm_host(), attention_host()}) {
    all.push_back({h.name + ", f32 off by a thousandth", of_f32(h),
                   in_f32(h, [](const Tensor& d) { return d * 1.001; }), "PRECISION"});
    all.push_back({h.name + ", half precision inside", of_f32(h),
                   in_f32(h,
                          [](const Tensor& d) {
                            const double step = std::ldexp(max(abs(d)).item(), -10);
                            return round(d / step) * step;
                          }),
                   "PRECISION"});
  }
}

void add_second(std::vector<FaultyOp>& all) {
  const auto second = [&all](const Host& h, std::size_t k, const std::string& cause) {
    all.push_back({h.name + ", " + std::to_string(k) + " detached in backward", h, detached(h, k),
                   cause, k, true});
  };
  second(square_host(), 0, "NO GRADIENT");
  second(tanh_host(), 0, "NO GRADIENT");
  second(multiply_host(), 0, "NO GRADIENT");
  second(multiply_host(), 1, "NO GRADIENT");
  second(matmul_host(), 0, "NO GRADIENT");
  second(matmul_host(), 1, "NO GRADIENT");
  second(softmax_host(), 0, "NO GRADIENT");
  second(log_softmax_host(), 0, "NO GRADIENT");
  second(layer_norm_host(), 0, "NO GRADIENT");
  second(layer_norm_host(), 1, "NO GRADIENT");
  second(rms_norm_host(), 0, "NO GRADIENT");
  second(attention_host(), 0, "NO GRADIENT");
  second(attention_host(), 2, "NO GRADIENT");
  second(loss_host(), 0, "NO GRADIENT");
}

}  // namespace

std::vector<FaultyOp> faulty_side_effect() {
  std::vector<FaultyOp> all;
  add_memory(all);
  add_inputs(all);
  add_upstream(all);
  add_precision(all);
  add_second(all);
  return all;
}

}  // namespace gradus::faulty_tensor_ops
