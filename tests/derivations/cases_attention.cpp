#include "gradus/engine/base/random.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/derivations/trial.h"

namespace gradus::derivations {
namespace {

using In = const Given&;

Tensor alone(const Tensor& x) { return unsqueeze(unsqueeze(x, 0), 0); }

Tensor one_head(In in, const Mask& mask, double dropout = 0) {
  const Tensor y =
      scaled_dot_product_attention(alone(in("q")), alone(in("k")), alone(in("v")), mask,
                                   {.dropout = dropout, .scale = in.number("scale")});
  return squeeze(squeeze(y, 0), 0);
}

/// Sets z to dropout's factors, drawn from the same seed.
void draw(Given& given) {
  seed(4);
  const Shape weights{1, 1, given("q").size(0), given("k").size(0)};
  given.tensors["z"] = squeeze(squeeze(dropout(ones(weights, Dtype::f64), 0.4), 0), 0);
}

Tensor grouped(In in) {
  const auto batched = [](const Tensor& x) { return unsqueeze(x, 0); };
  const Tensor y = scaled_dot_product_attention(
      batched(in("q")), batched(in("k")), batched(in("v")), {}, {.scale = in.number("scale")});
  return squeeze(y, 0);
}

Tensor packed(In in) {
  const Tensor y =
      packed_self_attention(unsqueeze(in("x"), 0), 1, {}, {.scale = in.number("scale")});
  return squeeze(y, 0);
}

}  // namespace

std::vector<Case> attention_cases() {
  const std::string sizes = "i:2,3,3 j:3,2,4 c:2,3,1 e:3,2,2 scale=0.7 ";
  return {
      {"attention", sizes + "q_ic k_jc v_je", [](In in) { return one_head(in, {}); }},
      {"attention_causal", "i:3,4,2 j:3,4,2 c:2,3,1 e:3,2,2 scale=0.7 q_ic k_jc v_je",
       [](In in) { return one_head(in, causal_mask()); }, "attention"},
      {"attention_grouped",
       "h:4,2,6 g:2,1,3 n=2 i:2,3,2 j:3,2,2 c:2,1,2 e:1,2,3 scale=0.7 q_hic k_gjc v_gje", grouped,
       "attention"},
      {"attention_dropout", sizes + "q_ic k_jc v_je",
       [](In in) {
         seed(4);
         return one_head(in, {}, 0.4);
       },
       "attention", draw},
      {"packed_attention", "i:3,2,4 j:#i c:2,1,3 a:6,3,9 x_ia D=#c scale=0.7", packed},
  };
}

}  // namespace gradus::derivations
