#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "gradus/engine/base/random.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/observer.h"
#include "gradus/ops/dropout.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/ops/attention_case.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing::attending {
namespace {

using Insides = std::vector<std::pair<const char*, Tensor>>;

struct Watch : Observer {
  Tensor dout;
  std::vector<std::string> names;
  Insides inside;
  bool looking = false;
  explicit Watch(Tensor gradient = {}) : dout(std::move(gradient)) {}
  void on_op_begin(const Op& op, std::span<const Tensor* const>) override {
    if (!looking) names.emplace_back(op.name());
  }
  void on_op_end(const Op& op, std::span<const Tensor* const>, const Tensor&) override {
    if (!has(op.name(), "attention") || !inside.empty()) return;
    const NoGrad quiet;
    looking = true;  // prevents recursion: intermediates() also runs ops
    inside = op.intermediates(dout);
    looking = false;
  }
};

Tensor named(const Insides& all, const std::string& name) {
  for (const auto& [each, x] : all)
    if (each == name) return x;
  return {};
}

bool close(const Tensor& a, const Tensor& b) {
  const Numbers x = numbers(a), y = numbers(b);
  if (x.size() != y.size()) return false;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!(x[i] == y[i] || std::abs(x[i] - y[i]) < 1e-12)) return false;
  return true;
}

Watch watched(const Case& c, const Tensor& dout) {
  Watch watch(dout);
  const ObserverScope scope(watch);
  const Tensor q = c.q.detach().requires_grad_();
  AttentionOptions options;
  options.dropout = c.dropout, options.bias = c.bias;
  scaled_dot_product_attention(q, c.k, c.v, c.mask, options);
  return watch;
}

Tensor for_each_query_head(const Tensor& x, const Case& c) {
  const std::int64_t S = x.size(2), D = x.size(3), group = c.H / c.Hk;
  return reshape(expand(unsqueeze(x, 2), {c.B, c.Hk, group, S, D}), {c.B, c.H, S, D});
}

void check_inside(const Case& c) {
  Generator seven(7);
  const GeneratorScope scope(seven);
  const Insides all = watched(c, c.dout).inside;
  const Tensor scores = named(all, "scores"), weights = named(all, "weights"),
               masked = named(all, "masked"), dweights = named(all, "dweights"),
               dscores = named(all, "dscores");
  const Tensor k = for_each_query_head(c.k, c), v = for_each_query_head(c.v, c);
  const double scale = 1 / std::sqrt(static_cast<double>(c.D));
  CHECK(close(scores, matmul(c.q, transpose(k)) * scale));
  Tensor right = c.bias.defined() ? scores + c.bias : scores;
  if (!c.mask.allows_everything()) {
    const Tensor hidden = logical_not(c.mask.dense({c.B, c.H, c.T, c.S}));
    right = masked_fill(right, hidden, -INFINITY);
  }
  CHECK(masked.defined() == (c.bias.defined() || !c.mask.allows_everything()));
  if (masked.defined()) CHECK(close(masked, right));
  CHECK(close(weights, softmax(right)));
  const Tensor inner = sum(weights * dweights, -1, true);
  CHECK(close(dscores, weights * (dweights - inner)));
  CHECK(close(matmul(dscores, k) * scale, run(c, Way::fused).dq));
  if (c.dropout == 0) CHECK(close(weights * dweights, weights * matmul(c.dout, transpose(v))));
}

}  // namespace

TEST_CASE("attention reports its scores, masked scores, weights and their gradients") {
  Generator own(51);
  const GeneratorScope scope(own);
  for (const Mask& mask : {Mask(), causal_mask()})
    for (const bool biased : {false, true})
      for (const double dropout : {0.0, 0.4})
        for (const std::int64_t key_heads : {4, 2, 1}) {
          CAPTURE(mask.describe(), biased, dropout, key_heads);
          Case c{2, 4, 5, 5, 3, 2, Dtype::f64, mask, dropout, key_heads};
          if (biased) c.bias = randn({5, 5}, Dtype::f64);
          check_inside(c);
        }
}

TEST_CASE("packed attention reports the same matrices for strided inputs and gradients") {
  const std::int64_t B = 2, T = 4, H = 2, C = 6;
  const Tensor qkv = randn({B, T, 3 * C}, Dtype::f64), dout = randn({B, T, C}, Dtype::f64);
  const auto inside = [&](const Tensor& x, const Tensor& dy) {
    Watch watch(dy);
    const ObserverScope scope(watch);
    packed_self_attention(x, H, {});
    return watch.inside;
  };
  const auto turned = [](const Tensor& x) { return transpose(transpose(x).contiguous()); };
  const Insides right = inside(qkv, dout), got = inside(turned(qkv), turned(dout));
  REQUIRE(right.size() == 4);
  REQUIRE(got.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) CHECK(numbers(got[i].second) == numbers(right[i].second));
}

}  // namespace gradus::testing::attending
