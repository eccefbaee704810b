#include <vector>

#include "gradus/engine/backward.h"
#include "gradus/engine/base/memory.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/support/catch.h"

namespace gradus::testing::test_memory_promises {
namespace {

constexpr std::int64_t kRows = 256, kColumns = 256;
constexpr std::int64_t kBuffer = kRows * kColumns * 4;  // bytes of an f32 tensor
constexpr std::int64_t kFewRows = 4 * kColumns * 4;     // bytes of 4 rows, or 4 values per row

Tensor buffer() { return full({kRows, kColumns}, 0.5, Dtype::f32); }
Tensor leaf() { return buffer().requires_grad_(); }

struct Bytes {
  std::int64_t peak;
  std::int64_t kept;  // bytes still live at the end
};

/// Measures f while its result stays live.
template <class F>
Bytes bytes_of(F f) {
  const std::int64_t before = memory::usage().live_bytes;
  memory::reset_peak();
  [[maybe_unused]] const auto result = f();
  return {memory::usage().peak_bytes - before, memory::usage().live_bytes - before};
}

Bytes backward_of(const Tensor& y) {
  const Tensor dy = full(y.shape(), 1, Dtype::f32);
  return bytes_of([&] {
    y.backward(dy);
    return 0;
  });
}

}  // namespace

TEST_CASE("views and conversions to the same type take no memory") {
  const Tensor x = buffer();
  const Bytes b = bytes_of([&] {
    return std::vector{transpose(x),          slice(x, 0, 3, 99),
                       slice(x, 1, 0, 99, 2), select(x, 1, 3),
                       split(x, 16, 0)[3],    reshape(x, {-1}),
                       permute(x, {1, 0}),    expand(unsqueeze(x, 0), {5, kRows, kColumns}),
                       repeat(x, {1, 1}),     contiguous(x),
                       to(x, Dtype::f32),     x.detach()};
  });
  CHECK(b.peak == 0);
}

TEST_CASE("addition and dropout reuse temporaries") {
  const Tensor x = buffer();
  // The two products; the sum reuses one.
  CHECK(bytes_of([&] { return x * 2.0 + x * 3.0; }).peak <= 2 * kBuffer);
  CHECK(bytes_of([&] { return dropout(x * 2.0, 0.5); }).peak <= kBuffer);
}

TEST_CASE("a deep network stores no activation under NoGrad") {
  const Tensor x = buffer();
  const NoGrad off;
  const Bytes b = bytes_of([&] {
    Tensor y = x;
    for (int layer = 0; layer < 20; ++layer) y = tanh(matmul(y, x));
    return y;
  });
  // The peak covers one layer's input, product and output, and the packed operands of the matmul.
  CHECK(b.peak <= 5 * kBuffer);
  CHECK(b.kept <= kBuffer);
}

TEST_CASE("dropout stores no mask, and relu stores no copy of its output") {
  const Tensor x = leaf();
  CHECK(bytes_of([&] { return dropout(x, 0.5); }).kept <= kBuffer);
  CHECK(bytes_of([&] { return relu(x); }).kept <= kBuffer);
}

TEST_CASE("matmul saves neither the activation nor the norm before it") {
  const Tensor x = leaf(), w = leaf();
  CHECK(bytes_of([&] { return matmul(gelu(x), w); }).kept <= kBuffer);
  CHECK(bytes_of([&] { return matmul(silu(x), w); }).kept <= kBuffer);
  // layer_norm keeps two statistics per row.
  CHECK(bytes_of([&] { return matmul(layer_norm(x), w); }).kept <= kBuffer + 2 * kRows * 4);
}

TEST_CASE("a checkpoint keeps only its output") {
  const Tensor x = leaf(), w = leaf();
  const auto layers = [&](const Tensor& y) { return matmul(exp(sin(tanh(y))), w); };
  CHECK(bytes_of([&] { return checkpoint(layers, x); }).kept <= kBuffer);
}

TEST_CASE("the first gradient of a leaf is not copied") {
  const Tensor x = leaf(), y = x * 2.0;
  CHECK(backward_of(y).peak <= kBuffer);
}

TEST_CASE("backward accumulates into an existing gradient in place") {
  const Tensor x = leaf();
  (x * 2.0).backward(buffer());
  const Bytes again = backward_of(x * 2.0);
  CHECK(again.peak <= kBuffer);  // one buffer, for the gradient that is added
  CHECK(again.kept <= 0);
}

TEST_CASE("backward accumulates many gradients of one tensor in one buffer") {
  const Tensor x = leaf();
  Tensor y = x * 2.0;
  for (int i = 0; i < 16; ++i) y = y + x * 3.0;
  CHECK(backward_of(y).peak <= 2 * kBuffer);  // one gradient, and the sum of the others
}

TEST_CASE("gradients of slices and rows are added in place, without padding") {
  const Tensor x = leaf(), table = leaf();
  const std::vector<Tensor> parts = split(x, 16, 0);
  Tensor y = parts[0] * 1.0;
  for (const Tensor& part : parts) y = y + part;
  CHECK(backward_of(y).peak <= kBuffer + 2 * 16 * kColumns * 4);  // dx and two gradients of slices
  const Tensor ids = tensor({1, 2}, Dtype::i64);
  const Tensor rows = embedding(table, ids) + embedding(table, ids) * 2.0;
  CHECK(backward_of(rows).peak <= kBuffer + kFewRows);  // dtable and two gradients of two rows each
}

TEST_CASE("backward releases saved tensors and reuses gradients as it proceeds") {
  const Tensor x = leaf();
  Tensor y = x * 1.0;
  for (int i = 0; i < 16; ++i) y = relu(y);
  const Bytes b = backward_of(y);
  CHECK(b.peak <= 2 * kBuffer);             // one gradient and dx
  CHECK(b.kept <= kBuffer - 15 * kBuffer);  // dx is new; 15 unused outputs are freed
}

TEST_CASE("cross_entropy keeps one value per row, and its gradient reuses the logits") {
  const Tensor x = leaf(), ids = zeros({kRows}, Dtype::i64);
  CHECK(bytes_of([&] { return cross_entropy(x, ids); }).kept <= kFewRows);
  const Bytes b = bytes_of([&] {
    const Tensor loss = cross_entropy(x * 1.0, ids);
    loss.backward();
    return loss;
  });
  CHECK(b.peak <= 2 * kBuffer + kFewRows);  // the logits and dx
}

TEST_CASE("the backward pass of a norm reuses the buffer of its gradient") {
  const Tensor x = leaf(), y = layer_norm(x);
  CHECK(backward_of(y).peak <= kBuffer + kFewRows);
}

TEST_CASE("attention stores its output and one value per query, but no T x S matrix") {
  constexpr std::int64_t T = 4096, D = 16, kHead = T * D * 4;  // bytes of q, k, v or the output
  const Tensor x = full({1, 1, T, D}, 0.5, Dtype::f32).requires_grad_();
  const Bytes forward = bytes_of([&] { return scaled_dot_product_attention(x, x, x); });
  CHECK(forward.kept <= kHead + T * 4);
  CHECK(forward.peak <= T * T * 4 / 16);
  // Backward allocates dq, dk and dv. Each of at most 8 parts also allocates keys, values and their
  // sums, with gaps between rows.
  const Bytes backward = backward_of(scaled_dot_product_attention(x, x, x));
  CHECK(backward.peak <= (3 + 8 * 6) * kHead);
  CHECK(backward.peak <= T * T * 4 / 4);
}

}  // namespace gradus::testing::test_memory_promises
