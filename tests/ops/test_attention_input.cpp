// What attention refuses, and what it says then.
#include <string>

#include "gradus/ops/attention/attention.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing {

TEST_CASE("attention refuses what does not fit") {
  const Tensor q = ones({2, 3, 5, 4}), k = ones({2, 3, 7, 4}), v = ones({2, 3, 7, 6});
  const auto thrown = [&](const Tensor& x, const Tensor& y, const Tensor& z,
                          const Mask& mask = {}) {
    return message_of<ShapeError>([&] { scaled_dot_product_attention(x, y, z, mask); });
  };
  CHECK(scaled_dot_product_attention(q, k, v).shape() == Shape{2, 3, 5, 6});
  const std::string width = thrown(q, ones({2, 3, 7, 5}), v);
  CHECK(has(width, "attention"));
  CHECK(has(width, "[2, 3, 5, 4]"));
  CHECK(has(width, "[2, 3, 7, 5]"));
  CHECK(has(thrown(q, k, ones({2, 3, 8, 6})), "[2, 3, 8, 6]"));
  CHECK(has(thrown(q, ones({2, 1, 7, 4}), v), "k has 1 heads and v 3"));
  const Tensor two = ones({2, 2, 7, 4}), none = ones({2, 0, 7, 4});
  const std::string shared = thrown(q, two, two);
  CHECK(has(shared, "3 heads of q [2, 3, 5, 4]"));
  CHECK(has(shared, "2 heads of k [2, 2, 7, 4]"));
  CHECK(has(thrown(q, none, none), "0 heads of k"));
  CHECK(has(thrown(q, ones({1, 3, 7, 4}), v), "batches of 2, 1 and 2 differ"));
  CHECK(has(thrown(q, k, ones({1, 3, 7, 6})), "batches of 2, 2 and 1 differ"));
  const std::string flat = "[batch, heads, length, width], not [2, 5, 4]: split the heads first";
  CHECK(has(thrown(ones({2, 5, 4}), k, v), flat));
  CHECK(has(thrown(q, ones({2, 5, 4}), v), flat));
  CHECK(has(thrown(q, k, ones({2, 5, 4})), flat));
  CHECK(has(thrown(q, k, v, padding_mask({3})), "1 lengths"));
  CHECK(has(thrown(q, k, v, dense_mask(Tensor::empty({5, 5}, Dtype::bool_).fill_(1))),
            "[2, 3, 5, 7]"));
  CHECK_THROWS_AS(scaled_dot_product_attention(q, k, v, padding_mask({3, 8})), ValueError);
  CHECK_THROWS_AS(scaled_dot_product_attention(q, k, Tensor()), ValueError);
  CHECK_THROWS_AS(scaled_dot_product_attention(Tensor(), k, v), ValueError);
  for (const bool of_k : {true, false}) {
    const Tensor a = of_k ? k.to(Dtype::f64) : k, b = of_k ? v : v.to(Dtype::f64);
    CHECK_REFUSES(DtypeError, scaled_dot_product_attention(q, a, b), "attention", "f32", "f64");
  }
  const Tensor whole = ones({1, 1, 1, 1}, Dtype::i64);
  CHECK_THROWS_AS(scaled_dot_product_attention(whole, whole, whole), DtypeError);
}

TEST_CASE("attention's options and the packed operation refuse what does not fit") {
  const Tensor q = ones({2, 3, 5, 4}), k = ones({2, 3, 7, 4});
  const auto with = [&](const AttentionOptions& options) {
    return [&, options] { scaled_dot_product_attention(q, k, k, {}, options); };
  };
  AttentionOptions bias;
  bias.bias = ones({2, 5});
  const std::string shape = message_of<ShapeError>(with(bias));
  CHECK(has(shape, "bias"));
  CHECK(has(shape, "[2, 5]"));
  bias.bias = ones({1, 2, 3, 5, 7});
  CHECK_THROWS_AS(with(bias)(), ShapeError);
  bias.bias = ones({5, 7}, Dtype::f64);
  CHECK_THROWS_AS(with(bias)(), DtypeError);
  AttentionOptions dropout;
  dropout.training = false;  // then, too
  for (const double wrong : {1.0, 1.5, -0.1}) {
    dropout.dropout = wrong;
    CHECK(has(message_of<ValueError>(with(dropout)), "attention: dropout"));
    CHECK(has(message_of<ValueError>(with(dropout)), "is not in [0, 1)"));
  }

  const Tensor qkv = ones({2, 5, 12});
  CHECK(packed_self_attention(qkv, 2, {}).shape() == Shape{2, 5, 4});
  CHECK_REFUSES(ShapeError, packed_self_attention(qkv, 3, {}), "[2, 5, 12]");
  CHECK_THROWS_AS(packed_self_attention(qkv, 0, {}), ShapeError);
  CHECK_THROWS_AS(packed_self_attention(ones({5, 12}), 2, {}), ShapeError);
  CHECK_THROWS_AS(packed_self_attention(Tensor(), 2, {}), ValueError);
  CHECK_THROWS_AS(packed_self_attention(qkv, 2, padding_mask({5})), ShapeError);
  CHECK_THROWS_AS(packed_self_attention(ones({2, 5, 12}, Dtype::i64), 2, {}), DtypeError);
}

TEST_CASE("heads are split where their number divides the width") {
  const Tensor x = ones({2, 5, 12});
  CHECK(split_heads(x, 1).shape() == Shape{2, 1, 5, 12});
  CHECK(split_heads(x, 12).shape() == Shape{2, 12, 5, 1});
  for (const std::int64_t heads : {5, 0, -1, -3, 24})
    CHECK(has(message_of<ShapeError>([&] { split_heads(x, heads); }),
              "split_heads: [2, 5, 12] with " + std::to_string(heads) + " heads: wants"));
  CHECK_REFUSES(ShapeError, split_heads(ones({5, 12}), 3), "split_heads", "[5, 12]");
  CHECK_REFUSES(ShapeError, split_heads(ones({1, 2, 5, 12}), 3), "split_heads", "[1, 2, 5, 12]");
}

}  // namespace gradus::testing
