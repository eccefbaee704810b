// What attention says that it computes on the way: of packed projections as of their parts.
#include <string>
#include <utility>
#include <vector>

#include "gradus/engine/grad_mode.h"
#include "gradus/engine/observer.h"
#include "gradus/ops/attention/attention.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/expect.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing {
namespace {

/// What the attention that runs has inside, given the gradient of its output.
struct Inside : Observer {
  Tensor dout;
  std::vector<std::string> names;
  std::vector<Numbers> matrices;
  explicit Inside(Tensor gradient) : dout(std::move(gradient)) {}
  void op_end(const Op& op, std::span<const Tensor* const>, const Tensor&) override {
    if (!has(op.name(), "attention") || !names.empty()) return;
    const NoGrad quiet;
    names.emplace_back(op.name());
    for (const auto& [name, x] : op.inside(dout)) {
      names.emplace_back(name);
      matrices.push_back(numbers(x));
    }
  }
};

const std::int64_t B = 2, T = 4, H = 2, D = 3;

Inside of_packed(const Tensor& qkv, const Mask& mask, const Tensor& dout) {
  Inside inside(dout);
  const ObserverScope scope(inside);
  packed_self_attention(qkv, H, mask);
  return inside;
}

Inside of_parts(const Tensor& qkv, const Mask& mask, const Tensor& dout) {
  const std::vector<Tensor> x = chunk(qkv, 3, -1);
  Inside inside(dout.defined() ? split_heads(dout, H) : dout);
  const ObserverScope scope(inside);
  scaled_dot_product_attention(split_heads(x[0], H), split_heads(x[1], H), split_heads(x[2], H),
                               mask);
  return inside;
}

}  // namespace

TEST_CASE("inside of attention: packed projections as their parts") {
  const Tensor qkv = values({B, T, 3 * H * D}).detach().requires_grad_();
  const Tensor dout = values({B, T, H * D}, 1);
  for (const Mask& mask : {Mask(), causal_mask()})
    for (const Tensor& dy : {Tensor(), dout}) {
      std::vector<std::string> names{"scores", "weights"};
      if (!mask.allows_everything()) names.emplace_back("masked");
      if (dy.defined()) names.insert(names.end(), {"dweights", "dscores"});
      const Inside packed = of_packed(qkv, mask, dy), parts = of_parts(qkv, mask, dy);
      names.insert(names.begin(), "packed_attention");
      CHECK(packed.names == names);
      names[0] = "attention";
      CHECK(parts.names == names);
      CHECK(packed.matrices == parts.matrices);
    }
}

}  // namespace gradus::testing
