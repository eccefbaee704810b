// A trace against what the engine says itself: numbers, sums of gradients, who saved what.
#include "gradus/trace/trace.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gradus/base/random.h"
#include "gradus/engine/backward.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/models/gpt.h"
#include "gradus/nn/sequential.h"
#include "gradus/ops/attention/attention.h"
#include "gradus/ops/checkpoint.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/support/thrown.h"
#include "gradus/tests/trace/tape.h"
#include "gradus/train/optim.h"

namespace gradus {
namespace {

using testing::Json;
using testing::ReadTape;

std::vector<double> numbers(const Tensor& x) { return to(x, Dtype::f64).to_vector<double>(); }

/// Sums a gradient down over the axes that broadcasting made: one axis in front, here.
std::vector<double> summed_down(const std::vector<double>& x, std::size_t n) {
  std::vector<double> out(n);
  for (std::size_t i = 0; i < x.size(); ++i) out[i % n] += x[i];
  return out;
}

TEST_CASE("a trace has each operation, its numbers and what it saved") {
  const Tensor x = tensor({{1, 2}, {3, 4}}).requires_grad_();
  const Tensor b = tensor({10, 20});
  Trace trace;
  const Tensor y = softmax(x * x + b);
  const ReadTape tape(trace);
  REQUIRE(tape.count("ops") == 3);
  CHECK(tape.at("ops", 0, "op") == "multiply");
  CHECK(tape.at("ops", 0, "in") == Json::array({0, 0}));
  CHECK(tape.at("ops", 2, "op") == "softmax");
  const Json out = tape.at("ops", 2, "out");
  CHECK(tape.numbers(out) == numbers(y));
  CHECK(tape.at("ops", 2, "saved") == Json::array({out}));
  CHECK(tape.at("ops", 2, "node") == y.node()->id);
  CHECK(tape.shape(out) == std::vector<std::int64_t>{2, 2});
  CHECK(tape.at("tensors", 0, "kind") == "leaf");
  CHECK(tape.at("tensors", out.get<std::size_t>(), "kind") == "result");
  CHECK(tape.at("tensors", tape.at("ops", 1, "in").at(1), "kind") == "input");
  CHECK(tape.all.at("opdefs").at("softmax").at("file") == "ops/softmax.cpp");
  CHECK(tape.all.at("opdefs").at("softmax").at("backward") > 0);
}

TEST_CASE("sums of gradients are there, and add up to grad() exactly") {
  Tensor x = tensor({1, 2, 3}).requires_grad_(), w = randn({4, 3}).requires_grad_();
  x.set_grad(tensor({100, 100, 100}));
  Trace trace;
  const Tensor y = w * x + x;  // x is seen by two operations, broadcast in both
  y.backward(ones({4, 3}));
  const ReadTape tape(trace);
  REQUIRE(tape.count("visits") == 2);
  std::vector<std::size_t> of_x;
  for (std::size_t i = 0; i < tape.count("ledger"); ++i)
    if (tape.at("ledger", i, "to") == tape.at("ops", 0, "in").at(1)) of_x.push_back(i);
  REQUIRE(of_x.size() == 2);
  std::vector<double> sum(3);
  for (std::size_t k = 0; k < 2; ++k) {
    CHECK(tape.at("ledger", of_x[k], "k") == k + 1);
    CHECK(tape.at("ledger", of_x[k], "of") == 2);
    const Json before = tape.at("ledger", of_x[k], "before");
    CHECK(before.is_null() == (k == 0));
    const std::vector<double> part =
        summed_down(tape.numbers(tape.at("ledger", of_x[k], "contribution")), 3);
    // in f32, as the engine adds: the parts are sums of four, which f32 rounds at each step
    for (std::size_t i = 0; i < 3; ++i) sum[i] += part[i];
    const std::vector<double> after = tape.numbers(tape.at("ledger", of_x[k], "after"));
    for (std::size_t i = 0; i < 3; ++i)
      CHECK(std::abs(after[i] - sum[i]) <= 8 * 0x1p-24 * (std::abs(sum[i]) + 8));
  }
  std::size_t found = 0;
  for (std::size_t i = 0; i < tape.count("deposits"); ++i) {
    if (tape.at("deposits", i, "leaf") != tape.at("ops", 0, "in").at(1)) continue;
    ++found;
    CHECK(tape.numbers(tape.at("deposits", i, "before")) == std::vector<double>{100, 100, 100});
    CHECK(tape.at("deposits", i, "arrived") == tape.at("ledger", of_x[1], "after"));
    CHECK(tape.numbers(tape.at("deposits", i, "after")) == numbers(x.grad()));
  }
  CHECK(found == 1);
}

/// Two steps of a small model with dropout; all that they leave behind.
std::vector<double> two_steps(bool traced) {
  seed(7);
  nn::GPT model({.vocab = 11, .context = 6, .layers = 2, .heads = 2, .width = 8, .dropout = 0.1});
  optim::AdamW optimizer(model.parameters(), {.lr = 1e-2});
  const Tensor ids = tensor(std::vector<std::int64_t>{1, 2, 3, 4, 5, 6}, {1, 6});
  std::unique_ptr<Trace> trace;
  if (traced) trace = std::make_unique<Trace>();
  std::vector<double> all;
  for (int i = 0; i < 2; ++i) {
    optimizer.zero_grad();
    const Tensor loss = model.loss(ids, ids);
    loss.backward();
    optimizer.step({.clip_norm = 1});
    all.push_back(loss.item());
  }
  for (const nn::NamedTensor& each : model.parameters())
    for (const double v : numbers(each.tensor)) all.push_back(v);
  if (traced) {
    const ReadTape tape(*trace);
    CHECK(tape.count("updates") == 2 * model.parameters().size());
    CHECK(tape.at("updates", 0, "optimiser") == "AdamW");
    CHECK(tape.at("tensors", tape.at("updates", 0, "before"), "kind") == "param");
    CHECK(tape.at("updates", 0, "name") ==
          tape.at("tensors", tape.at("updates", 0, "before"), "name"));
  }
  return all;
}

TEST_CASE("a traced step has the same bits") { CHECK(two_steps(true) == two_steps(false)); }

TEST_CASE("a fused attention shows its matrices, forward and back") {
  seed(3);
  const Tensor q = randn({1, 2, 3, 4}, Dtype::f64).requires_grad_();
  const Tensor k = randn({1, 2, 3, 4}, Dtype::f64).requires_grad_();
  const Mask mask = causal_mask();
  {
    Trace inner;
    scaled_dot_product_attention(q, k, k, mask).backward(ones({1, 2, 3, 4}, Dtype::f64));
    const ReadTape tape(inner);
    REQUIRE(tape.all.at("attention").size() == 1);
    const Json entry = tape.all.at("attention").at(0);
    CHECK(entry.at("op") == 0);
    const std::vector<double> p = tape.numbers(entry.at("weights"));
    const std::vector<double> ds = tape.numbers(entry.at("dscores"));
    CHECK(tape.numbers(entry.at("masked")).at(1) == -INFINITY);
    CHECK(std::isfinite(tape.numbers(entry.at("scores")).at(1)));
    for (std::size_t row = 0; row < 6; ++row) {
      // sums of three numbers of at most 1, and of |ds| ≤ 10: a few roundings of f64
      CHECK(std::abs(p[3 * row] + p[3 * row + 1] + p[3 * row + 2] - 1) < 1e-15 * 8);
      CHECK(std::abs(ds[3 * row] + ds[3 * row + 1] + ds[3 * row + 2]) < 1e-15 * 80);
    }
  }
  const FormulaScope as_formula;
  Trace inner;
  scaled_dot_product_attention(q, k, k, mask).backward(ones({1, 2, 3, 4}, Dtype::f64));
  const ReadTape tape(inner);
  REQUIRE(tape.all.at("attention").size() == 1);
  for (const char* matrix : {"scores", "masked", "weights", "out", "dweights", "dscores"})
    CHECK(tape.shape(tape.all.at("attention").at(0).at(matrix)).size() == 4);
}

TEST_CASE("names are text and nothing else") {
  Trace trace({.title = "</script><img src=x onerror=alert(1)>&\xff"});
  trace.labels("<T>", {"</script>", "\x01\"\\", "a\xC3\xA9"});
  const Tensor y = exp(tensor({1.0}));
  const std::string text = trace.json();
  CHECK(text.find_first_of("<>&") == text.npos);
  const ReadTape tape(text);
  CHECK(tape.all.at("meta").at("title") == "</script><img src=x onerror=alert(1)>&\xEF\xBF\xBD");
  CHECK(tape.all.at("labels").at("<T>") == Json{"</script>", "\x01\"\\", "a\xC3\xA9"});
}

TEST_CASE("many numbers are a picture, corners and a histogram") {
  std::vector<double> v(100 * 90);
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<double>(i % 90);
  v[0] = NAN;
  v[1] = INFINITY;
  Trace trace;
  const Tensor y = negative(tensor(v, {100, 90}));
  const ReadTape tape(trace);
  const Json value = tape.value(tape.at("ops", 0, "in").at(0));
  CHECK(value.at("stats").at(0) == 0);   // least
  CHECK(value.at("stats").at(1) == 89);  // largest
  CHECK(value.at("stats").at(5) == 99);  // zeros: one of a hundred is NaN
  CHECK(value.at("stats").at(6) == 1);
  CHECK(value.at("stats").at(7) == 1);
  CHECK(value.at("picture").at("rows") == 24);
  double all = 0;
  for (const Json& bin : value.at("histogram")) all += bin.get<double>();
  CHECK(all == 100 * 90 - 2);
  const std::string picture = ReadTape::decoded(value.at("picture").at("f32"));
  float box = 0;  // columns 3 to 6 of the first box row: ⌊90/24⌋ = 3, ⌊180/24⌋ = 7
  std::memcpy(&box, picture.data() + 4, 4);
  CHECK(box == 4.5f);
  CHECK(value.at("corners").at("columns") == 8);
  CHECK(tape.all.at("meta").at("omitted").at("sampled") == 2);
}

}  // namespace
}  // namespace gradus
