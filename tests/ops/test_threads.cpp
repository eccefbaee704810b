#include "gradus/engine/base/num_threads.h"
#include "gradus/engine/base/random.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/registry_run.h"

namespace gradus::testing::test_threads {
namespace {

struct Threads {
  int before = num_threads();
  explicit Threads(int n) { set_num_threads(n); }
  ~Threads() { set_num_threads(before); }
};

/// Returns the values, then the gradients.
std::vector<Numbers> run_with(int threads, const Sample& sample) {
  const Threads scope(threads);
  Generator own(3);
  const GeneratorScope draws(own);
  Result result = run(sample);
  std::vector<Numbers> all = {numbers(result.y)};
  for (Numbers& dx : result.dx) all.push_back(std::move(dx));
  return all;
}

bool equal_but_for_order(const std::vector<Numbers>& a, const std::vector<Numbers>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Numbers& x, const Numbers& y) {
    return testing::equal_but_for_order(x, y);
  });
}

/// Treats all NaNs as equal, and also 0 and −0.
bool identical(const std::vector<Numbers>& a, const std::vector<Numbers>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Numbers& x, const Numbers& y) { return distance(x, y) == 0; });
}

/// 300 · 257 elements make multiple chunks for each of 4 threads. Most registry samples are smaller
/// than one chunk.
Samples wide_samples() {
  const std::int64_t rows = 300, columns = 257;
  const Tensor x = values({rows, columns}), more = positive({rows, columns}, 1);
  const Tensor row = values({columns}, 2), column = positive({rows, 1}, 3);
  const Tensor deep = values({4, 75, 257}, 4);
  const Tensor weight = values({columns, 64}, 5), filters = values({30, 75, 3}, 6);
  Generator own(5);
  const GeneratorScope draws(own);
  const Tensor condition = randint(0, 2, {rows, columns}).to(Dtype::bool_);
  const Tensor ids = randint(0, columns, {900});
  const Tensor classes = randint(0, columns, {rows});
  const Tensor places = randint(0, rows, {rows, columns});
  Samples all;
  const auto add = [&](const char* op, const Inputs& inputs, auto f) {
    all.push_back({op, "many elements", inputs, f, {}});
  };
  for (const auto& [op, f] :
       std::initializer_list<std::pair<const char*, Tensor (*)(const Tensor&)>>{
           {"exp", exp}, {"tanh", tanh}, {"sigmoid", sigmoid}, {"erf", erf}, {"silu", silu}})
    add(op, {x}, [f = f](const Inputs& in) { return f(in[0]); });
  add("gelu", {x}, [](const Inputs& in) { return gelu(in[0]); });
  add("pow", {more}, [](const Inputs& in) { return pow(in[0], 1.5); });
  add("clamp", {x}, [](const Inputs& in) { return clamp(in[0], -0.5, 1); });
  add("multiply", {x, row}, [](const Inputs& in) { return in[0] * in[1]; });
  add("divide", {x, column}, [](const Inputs& in) { return in[0] / in[1]; });
  add("maximum", {x, more}, [](const Inputs& in) { return maximum(in[0], in[1]); });
  add("where", {x, row}, [=](const Inputs& in) { return where(condition, in[0], in[1]); });
  add("masked_fill", {x}, [=](const Inputs& in) { return masked_fill(in[0], condition, 2.0); });
  for (const int axis : {0, 1}) {
    add("sum", {x}, [=](const Inputs& in) { return sum(in[0], {axis}); });
    add("var", {x}, [=](const Inputs& in) { return var(in[0], {axis}); });
    add("max", {x}, [=](const Inputs& in) { return max(in[0], {axis}); });
    add("logsumexp", {x}, [=](const Inputs& in) { return logsumexp(in[0], {axis}); });
    add("cumsum", {x}, [=](const Inputs& in) { return cumsum(in[0], axis); });
    add("softmax", {x}, [=](const Inputs& in) { return softmax(in[0], axis); });
    add("log_softmax", {x}, [=](const Inputs& in) { return log_softmax(in[0], axis); });
    add("sort", {x}, [=](const Inputs& in) { return sort(in[0], axis).values; });
    add("topk", {x}, [=](const Inputs& in) { return topk(in[0], 200, axis).values; });
    add("flip", {x}, [=](const Inputs& in) { return flip(in[0], {axis}); });
    add("cat", {x, more}, [=](const Inputs& in) { return cat({in[0], in[1]}, axis); });
    add("gather", {x}, [=](const Inputs& in) {
      return gather(in[0], axis, axis == 0 ? places : minimum(places, full({1}, 256, Dtype::i64)));
    });
    add("index_select", {x}, [=](const Inputs& in) { return index_select(in[0], axis, ids); });
    add("scatter_add", {x, more},
        [=](const Inputs& in) { return scatter_add(in[0], 0, places, in[1]); });
  }
  add("sum", {x}, [](const Inputs& in) { return sum(in[0]); });
  add("prod", {deep}, [](const Inputs& in) { return prod(in[0], {1}); });
  add("mean", {deep}, [](const Inputs& in) { return mean(in[0], {0, 2}); });
  add("contiguous", {deep}, [](const Inputs& in) { return contiguous(transpose(in[0])); });
  add("repeat", {x}, [](const Inputs& in) { return repeat(in[0], {2, 3}); });
  add("pad", {x}, [](const Inputs& in) { return pad(in[0], 1, 3, 4); });
  add("tril", {x}, [](const Inputs& in) { return tril(in[0]); });
  add("embedding", {x}, [=](const Inputs& in) { return embedding(in[0], ids); });
  add("dropout", {x}, [](const Inputs& in) { return dropout(in[0], 0.3); });
  add("layer_norm", {x, row, row},
      [](const Inputs& in) { return layer_norm(in[0], in[1], in[2]); });
  add("rms_norm", {x, row}, [](const Inputs& in) { return rms_norm(in[0], in[1]); });
  add("batch_norm", {x, row, row}, [=](const Inputs& in) {
    return batch_norm(in[0], in[1], in[2], zeros({columns}, Dtype::f64),
                      ones({columns}, Dtype::f64), true);
  });
  add("matmul", {x, weight}, [](const Inputs& in) { return matmul(in[0], in[1]); });
  add("matmul", {deep, weight}, [](const Inputs& in) { return matmul(in[0], in[1]); });
  add("linear", {x, x, column},
      [](const Inputs& in) { return linear(in[0], in[1], reshape(in[2], {-1})); });
  add("einsum", {deep, deep},
      [](const Inputs& in) { return einsum("btc,bsc->bts", in[0], in[1]); });
  add("conv1d", {deep, filters}, [](const Inputs& in) { return conv1d(in[0], in[1]); });
  add("linear_attention",
      {values({4, 2, 300, 32}), values({4, 2, 300, 32}, 1), values({4, 2, 300, 32}, 2)},
      [](const Inputs& in) { return linear_attention(in[0], in[1], in[2], {.causal = true}); });
  add("rotary", {values({4, 2, 300, 32})}, [](const Inputs& in) {
    const std::vector<std::int64_t> positions = arange(300).to_vector<std::int64_t>();
    return apply_rotary(in[0], positions);
  });
  add("cross_entropy", {x}, [=](const Inputs& in) { return cross_entropy(in[0], classes); });
  add("mse_loss", {x, more}, [](const Inputs& in) { return mse_loss(in[0], in[1]); });
  return all;
}

void check_all(const Samples& samples, const std::vector<int>& counts) {
  for (const Sample& sample : samples) {
    INFO(sample.op << ": " << sample.what);
    const std::vector<Numbers> one = run_with(1, sample);
    for (const int n : counts) {
      CAPTURE(n);
      const std::vector<Numbers> several = run_with(n, sample);
      CHECK(equal_but_for_order(several, one));
      CHECK(identical(run_with(n, sample), several));
    }
  }
}

}  // namespace

TEST_CASE("any number of threads gives the same values and gradients as one, repeatedly",
          "[slow]") {
  check_all(all_samples(), {1, 2, 3, 4, 7});
}

TEST_CASE("any number of threads gives the same results as one for many elements", "[slow]") {
  check_all(wide_samples(), {1, 2, 3, 4, 7});
}

TEST_CASE("more threads than cores give the same values and gradients as one", "[.nightly]") {
  check_all(all_samples(), {16, 64});
  check_all(wide_samples(), {16, 64});
}

}  // namespace gradus::testing::test_threads
