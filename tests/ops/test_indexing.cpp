#include "gradus/engine/backward.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/indexing.h"
#include "gradus/ops/members.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/support/catch.h"

namespace gradus::testing::test_indexing {
namespace {

using List = std::vector<double>;
using Whole = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("embedding: rows at padding_idx get no gradient, with create_graph or without") {
  const Tensor weight = ones({4, 2}, Dtype::f64).requires_grad_();
  const Tensor ids = tensor(Whole{2, 0, 2, 1}, {2, 2});
  const Tensor dy = tensor({{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}}, Dtype::f64);
  const List wanted = {3, 4, 7, 8, 0, 0, 0, 0};
  for (const bool create_graph : {false, true}) {
    const Tensor y = embedding(weight, ids, 2);
    CHECK(y.to_vector<double>() == List(8, 1.0));  // padding_idx does not affect the forward pass
    const Tensor dw = grad({y}, {weight}, {dy}, {.create_graph = create_graph})[0];
    CHECK(dw.to_vector<double>() == wanted);
  }
  embedding(weight, indices({2, 2}), 2).backward(ones({2, 2}, Dtype::f64));
  CHECK(weight.grad().to_vector<double>() == List(8, 0.0));  // all ids are padding
}

TEST_CASE("embedding: a tied weight gets both gradients") {
  const Tensor weight = ones({3, 2}, Dtype::f64).requires_grad_();
  const Tensor twice = sum(embedding(weight, indices({1, 1}))) + sum(weight * 10.0);
  twice.backward();
  CHECK(weight.grad().to_vector<double>() == List{10, 10, 12, 12, 10, 10});
}

TEST_CASE("index_select and gather: i64 and bool tensors are supported") {
  const Tensor x = arange(6).view({2, 3});
  CHECK(index_select(x, 1, indices({2, 0})).to_vector<std::int64_t>() == Whole{2, 0, 5, 3});
  CHECK(gather(x, 0, tensor(Whole{1, 0, 1}, {1, 3})).to_vector<std::int64_t>() == Whole{3, 1, 5});
  const Tensor truth = x.to(Dtype::bool_);
  CHECK(index_select(truth, 0, indices({0})).to_vector<bool>() ==
        std::vector<bool>{false, true, true});
  const Tensor counts =
      scatter_add(zeros({4}, Dtype::i64), 0, indices({3, 1, 3}), indices({1, 1, 1}));
  CHECK(counts.to_vector<std::int64_t>() == Whole{0, 1, 0, 2});
}

TEST_CASE("scatter_add: the input does not change") {
  const Tensor x = zeros({3}, Dtype::f64);
  scatter_add(x, 0, indices({0, 0}), ones({2}, Dtype::f64));
  CHECK(x.to_vector<double>() == List{0, 0, 0});
}

TEST_CASE("one_hot appends an axis and supports every type") {
  const Tensor y = one_hot(tensor(Whole{2, 0}, {2, 1}), 3);
  CHECK(y.shape() == Shape{2, 1, 3});
  CHECK(y.dtype() == default_dtype());
  CHECK(y.to_vector<float>() == std::vector<float>{0, 0, 1, 1, 0, 0});
  CHECK(one_hot(indices({1}), 2, Dtype::bool_).to_vector<bool>() == std::vector<bool>{false, true});
  CHECK(one_hot(tensor(Whole{1}, {}), 2, Dtype::i64).shape() == Shape{2});
  CHECK(!y.requires_grad());
}

}  // namespace gradus::testing::test_indexing
