#include "gradus/tests/check/tensor_cases.h"

#include <cmath>
#include <string>
#include <utility>

#include "gradus/check/raw/random.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"

namespace gradus::faulty_tensor_ops {
namespace {

using check::Function;
using check::Tensors;

struct Case {
  std::string name;
  Function f;
  Tensors inputs;
};

class Draw {
 public:
  explicit Draw(std::uint64_t seed)
      : random_(seed), scale_(std::pow(10.0, random_.between(-2, 0.7))) {}

  std::int64_t below(std::int64_t n) { return random_.below(n); }
  std::int64_t side() { return 1 + random_.below(4); }
  int axis(const Tensor& x) { return static_cast<int>(random_.below(x.rank())); }

  Tensor tensor(const Shape& shape) { return made(shape, -2 * scale_, 2 * scale_); }
  Tensor positive(const Shape& shape) { return made(shape, 0.2, 2); }
  Tensor any() {
    Shape shape;
    for (std::int64_t r = 1 + below(3); r > 0; --r) shape.push_back(side());
    return tensor(shape);
  }
  Tensor rows(std::int64_t count, std::int64_t below_this) {
    std::vector<std::int64_t> index(static_cast<std::size_t>(count));
    for (std::int64_t& i : index) i = below(below_this);
    return gradus::tensor(index, {count});
  }

 private:
  Tensor made(const Shape& shape, double low, double high) {
    std::vector<double> values(static_cast<std::size_t>(numel(shape)));
    for (double& v : values) v = random_.between(low, high);
    return gradus::tensor(values, shape);
  }

  check::Random random_;
  double scale_;
};

Function unary(Tensor (*f)(const Tensor&)) {
  return [f](const Tensors& in) { return f(in[0]); };
}

Case elementwise(Draw& d) {
  const std::pair<const char*, Tensor (*)(const Tensor&)> all[] = {
      {"square", square}, {"tanh", tanh},        {"sigmoid", sigmoid}, {"relu", relu},
      {"silu", silu},     {"abs", abs},          {"sin", sin},         {"erf", erf},
      {"exp", exp},       {"softplus", softplus}};
  const auto& one = all[d.below(std::size(all))];
  return {one.first, unary(one.second), {d.any()}};
}

Case positive_only(Draw& d) {
  const std::pair<const char*, Tensor (*)(const Tensor&)> all[] = {
      {"log", log}, {"sqrt", sqrt}, {"rsqrt", rsqrt}, {"reciprocal", reciprocal}};
  const auto& one = all[d.below(std::size(all))];
  return {one.first, unary(one.second), {d.positive({d.side(), d.side()})}};
}

Case binary(Draw& d) {
  const std::int64_t a = d.side(), b = d.side(), c = d.side();
  const Tensor x = d.tensor({a, b, c}), y = d.positive({d.below(2) == 0 ? 1 : b, c});
  switch (d.below(3)) {
    case 0:
      return {"add", [](const Tensors& in) { return in[0] + in[1]; }, {x, y}};
    case 1:
      return {"multiply", [](const Tensors& in) { return in[0] * in[1]; }, {x, y}};
    default:
      return {"divide", [](const Tensors& in) { return in[0] / in[1]; }, {x, y}};
  }
}

Case reduction(Draw& d) {
  const Tensor x = d.tensor({d.side(), 1 + d.side(), d.side()});
  const int axis = d.axis(x);
  switch (d.below(6)) {
    case 0:
      return {"sum", [axis](const Tensors& in) { return sum(in[0], {axis}); }, {x}};
    case 1:
      return {"mean", [](const Tensors& in) { return mean(in[0], {1}, true); }, {x}};
    case 2:
      return {"var", [](const Tensors& in) { return var(in[0], {1}); }, {x}};
    case 3:
      return {"max", [axis](const Tensors& in) { return max(in[0], {axis}); }, {x}};
    case 4:
      return {"cumsum", [axis](const Tensors& in) { return cumsum(in[0], axis); }, {x}};
    default:
      return {"logsumexp", [axis](const Tensors& in) { return logsumexp(in[0], {axis}); }, {x}};
  }
}

Case along_rows(Draw& d) {
  const std::int64_t n = 1 + d.side();
  const Tensor x = d.tensor({d.side(), d.side(), n});
  const int axis = d.axis(x);
  switch (d.below(4)) {
    case 0:
      return {"softmax", [axis](const Tensors& in) { return softmax(in[0], axis); }, {x}};
    case 1:
      return {"log_softmax", [axis](const Tensors& in) { return log_softmax(in[0], axis); }, {x}};
    case 2:
      return {"layer_norm",
              [](const Tensors& in) { return layer_norm(in[0], in[1], in[2]); },
              {x, d.tensor({n}), d.tensor({n})}};
    default:
      return {
          "rms_norm", [](const Tensors& in) { return rms_norm(in[0], in[1]); }, {x, d.tensor({n})}};
  }
}

Case product(Draw& d) {
  const std::int64_t m = d.side(), k = d.side(), n = d.side();
  switch (d.below(3)) {
    case 0:
      return {"matmul",
              [](const Tensors& in) { return matmul(in[0], in[1]); },
              {d.tensor({d.side(), m, k}), d.tensor({k, n})}};
    case 1:
      return {"linear",
              [](const Tensors& in) { return linear(in[0], in[1], in[2]); },
              {d.tensor({m, k}), d.tensor({n, k}), d.tensor({n})}};
    default:
      return {
          "linear and gelu",
          [](const Tensors& in) { return linear(gelu(linear(in[0], in[1]), Gelu::tanh), in[2]); },
          {d.tensor({m, k}), d.tensor({n, k}), d.tensor({k, n})}};
  }
}

Case attention(Draw& d) {
  const std::int64_t t = d.side(), s = t + d.below(3), w = d.side();
  const bool causal = d.below(2) == 0;
  return {"attention",
          [causal](const Tensors& in) {
            return scaled_dot_product_attention(in[0], in[1], in[2],
                                                causal ? causal_mask() : Mask{});
          },
          {d.tensor({1, 2, t, w}), d.tensor({1, 2, s, w}), d.tensor({1, 2, s, d.side()})}};
}

Case moved(Draw& d) {
  const Tensor x = d.tensor({d.side(), 1 + d.side(), d.side()});
  switch (d.below(5)) {
    case 0:
      return {"permute", [](const Tensors& in) { return permute(in[0], {2, 0, 1}); }, {x}};
    case 1:
      return {"slice", [](const Tensors& in) { return slice(in[0], 1, 0, 5, 2); }, {x}};
    case 2:
      return {"cat", [](const Tensors& in) { return cat({in[0], in[0] * 2.0}, 1); }, {x}};
    case 3:
      return {"flip", [](const Tensors& in) { return flip(in[0], {1}); }, {x}};
    default:
      return {"index_select",
              [](const Tensors& in) { return index_select(in[0], 1, in[1]); },
              {x, d.rows(d.side(), x.size(1))}};
  }
}

Case loss(Draw& d) {
  const std::int64_t n = d.side(), classes = 1 + d.side();
  const Tensor x = d.tensor({n, classes});
  switch (d.below(3)) {
    case 0:
      return {"cross_entropy",
              [](const Tensors& in) { return cross_entropy(in[0], in[1]); },
              {x, d.rows(n, classes)}};
    case 1:
      return {"mse",
              [](const Tensors& in) { return mse_loss(in[0], in[1]); },
              {x, d.tensor({n, classes})}};
    default:
      return {"huber",
              [](const Tensors& in) { return huber_loss(in[0], in[1]); },
              {x, d.tensor({n, classes})}};
  }
}

Case random_case(Draw& d) {
  Case (*const families[])(Draw&) = {elementwise, positive_only, binary, reduction, along_rows,
                                     product,     attention,     moved,  loss};
  return families[d.below(std::size(families))](d);
}

}  // namespace

check::Report check_random_case(std::uint64_t seed) {
  Draw draw(seed);
  const Case one = random_case(draw);
  check::Options options;
  options.seed = seed;
  if (seed % 3 == 0) options.dtype = Dtype::f32;
  return check::gradients(one.name + " " + std::to_string(seed), one.f, one.inputs, options);
}

}  // namespace gradus::faulty_tensor_ops
