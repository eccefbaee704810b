// Parameter counts from options against those of the models.
#include <random>

#include "gradus/models/gpt.h"
#include "gradus/models/sizes.h"
#include "gradus/tests/support/catch.h"

namespace gradus::testing {
namespace {

TEST_CASE("GPT::count equals the number of parameters of the model") {
  std::mt19937 random(1);
  const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % n); };
  for (int i = 0; i < 200; ++i) {
    nn::GPTOptions o;
    const std::int64_t groups = 1 + below(3);
    o.heads = groups * (1 + below(3));
    if (below(3) != 0) o.kv_heads = groups;
    o.width = 2 * o.heads * (1 + below(3));
    o.vocab = 1 + below(9), o.context = 1 + below(9), o.layers = 1 + below(3);
    o.position = static_cast<nn::HeadPosition>(below(4));
    o.activation = static_cast<nn::Activation>(below(5));
    o.norm_kind = static_cast<nn::NormKind>(below(2));
    INFO(o.width << " wide, " << o.heads << " and " << o.kv_heads.value_or(o.heads) << " heads, "
                 << o.layers << " layers, position " << static_cast<int>(o.position)
                 << ", activation " << static_cast<int>(o.activation));
    nn::GPT gpt(o);
    CHECK(nn::GPT::count(o) == static_cast<double>(gpt.parameter_count()));

    nn::BlockOptions b{
        .width = o.width, .heads = o.heads, .hidden = 1 + below(7), .bias = i % 2 == 0};
    b.kv_heads = o.kv_heads, b.position = o.position, b.activation = o.activation;
    nn::Block block(b);
    CHECK(nn::block_count(b) == static_cast<double>(block.parameter_count()));
  }
  nn::GPTOptions huge;
  huge.vocab = huge.context = huge.layers = huge.width = huge.heads = INT64_MAX;
  CHECK(nn::GPT::count(huge) > 1e50);  // no product overflows
}

}  // namespace
}  // namespace gradus::testing
