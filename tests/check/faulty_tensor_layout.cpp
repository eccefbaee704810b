#include <algorithm>
#include <string>
#include <vector>

#include "gradus/engine/strided.h"
#include "gradus/ops/members.h"
#include "gradus/tests/check/faulty_tensor_ops.h"

namespace gradus::faulty_tensor_ops {
namespace {

/// Reads x as if it were row-major. Repeats the last value at the end of the storage.
Tensor careless(const Tensor& x) {
  const auto held = static_cast<std::int64_t>(x.storage()->bytes() / size_of(x.dtype()));
  std::vector<double> read;
  const Tensor all = kernel::strided_view(x, {held}, {1}, 0).to(Dtype::f64);
  for (std::int64_t i = 0; i < x.numel(); ++i)
    read.push_back(all.data<double>()[std::min(x.offset() + i, held - 1)]);
  return tensor(read, x.shape()).to(x.dtype());
}

bool repeats(const Tensor& x) {
  for (int i = 0; i < x.rank(); ++i)
    if (x.size(i) > 1 && x.strides()[i] == 0) return true;
  return false;
}

bool swapped(const Tensor& x) {
  const int last = x.rank() - 1;
  for (int i = 0; i < last; ++i)
    if (x.size(i) > 1 && x.strides()[i] == 1 && x.strides()[last] > 1) return true;
  return false;
}

Vjp dy_read(const Host& host, const std::function<Tensor(const Tensor&)>& read) {
  return
      [right = host.right, read](const Tensors& x, const Tensor& dy) { return right(x, read(dy)); };
}

Vjp x_read(const Host& host, std::size_t input, const std::function<Tensor(const Tensor&)>& read) {
  return [right = host.right, input, read](const Tensors& x, const Tensor& dy) {
    Tensors in = x;
    in[input] = read(x[input]);
    return right(in, dy);
  };
}

/// Sets the gradient of all elements after the last full block of `most` elements to 0.
Vjp first_block_only(const Host& host, std::size_t input, std::int64_t most) {
  return changed(host, input, [most](const Tensor& dx, const Tensors&, const Tensor&) {
    std::vector<double> v = dx.to(Dtype::f64).to_vector<double>();
    const std::size_t whole = v.size() - v.size() % static_cast<std::size_t>(most);
    for (std::size_t i = whole; i < v.size(); ++i) v[i] = 0;
    return tensor(v, dx.shape()).to(dx.dtype());
  });
}

}  // namespace

std::vector<FaultyOp> faulty_layout() {
  std::vector<FaultyOp> all;
  for (const Host& h : all_hosts()) {
    const bool one_output = h.name == "mse" || h.name == "cross_entropy";
    if (!one_output) {
      all.push_back({h.name + ", dy as if row-major", h, dy_read(h, careless), "UPSTREAM LAYOUT"});
      all.push_back({h.name + ", dy of one number", h,
                     dy_read(h, [](const Tensor& dy) { return repeats(dy) ? dy * 0.5 : dy; }),
                     "UPSTREAM LAYOUT"});
    }
    if (h.name == "sum" || h.name == "rows") continue;
    all.push_back({h.name + ", x as if row-major", h, x_read(h, 0, careless), "LAYOUT"});
    all.push_back({h.name + ", x transposed", h,
                   x_read(h, 0, [](const Tensor& x) { return swapped(x) ? x * 1.5 : x; }),
                   "LAYOUT"});
  }
  for (FaultyOp& b : all)  // in these cases, dx does not depend on the first input
    if (b.name == "multiply, x as if row-major" || b.name == "multiply, x transposed" ||
        b.name == "broadcast, x as if row-major" || b.name == "broadcast, x transposed" ||
        b.name == "matmul, x as if row-major" || b.name == "matmul, x transposed" ||
        b.name == "linear, x as if row-major" || b.name == "linear, x transposed")
      b.input = 1;
  for (const Host& h : {tanh_host(), softmax_host(), layer_norm_host(), square_host()})
    all.push_back({h.name + ", x with an offset", h,
                   x_read(h, 0, [](const Tensor& x) { return x.offset() > 0 ? x * 1.25 : x; }),
                   "LAYOUT"});
  for (const Host& h : {tanh_host(), softmax_host(), matmul_host(), square_host(), sum_host(),
                        layer_norm_host(), attention_host(), log_softmax_host()})
    all.push_back({h.name + ", blocks of seven", h, first_block_only(h, 0, 7), "LEFT OUT"});
  return all;
}

}  // namespace gradus::faulty_tensor_ops
