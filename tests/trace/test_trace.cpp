// Compares a trace with the engine's own results.
#include "gradus/trace/trace.h"

#include <cmath>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "gradus/engine/backward.h"
#include "gradus/engine/base/random.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/nn/cache.h"
#include "gradus/nn/models/gpt.h"
#include "gradus/nn/sequential.h"
#include "gradus/ops/attention/attention.h"
#include "gradus/ops/checkpoint.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/support/thrown.h"
#include "gradus/tests/trace/tape.h"
#include "gradus/train/optim/optim.h"

namespace gradus::testing::test_trace {
namespace {

using testing::Json;
using testing::ReadTape;

std::vector<double> numbers(const Tensor& x) { return to(x, Dtype::f64).to_vector<double>(); }

TEST_CASE("a trace has each operation with its values and saved tensors") {
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

TEST_CASE("a deposit in a trace is the gradient that backward adds to grad()") {
  Tensor x = tensor({1, 2, 3}).requires_grad_();
  x.set_grad(tensor({100, 100, 100}));
  Trace trace;
  (randn({4, 3}) * x + x).backward(ones({4, 3}));
  const ReadTape tape(trace);
  REQUIRE(tape.count("deposits") == 1);
  CHECK(tape.numbers(tape.at("deposits", 0, "before")) == std::vector<double>{100, 100, 100});
  CHECK(tape.numbers(tape.at("deposits", 0, "after")) == numbers(x.grad()));
}

std::vector<double> two_steps(bool traced) {
  seed(7);
  nn::GPT model(
      {.vocab = 11, .context = 6, .layers = 2, .block = {.width = 8, .heads = 2, .dropout = 0.1}});
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

TEST_CASE("tracing a step does not change its bits") { CHECK(two_steps(true) == two_steps(false)); }

TEST_CASE("fused attention shows its matrices, forward and backward") {
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
      // Sums of three values of at most 1, and of three |ds| ≤ 10, have a few f64 rounding errors.
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

TEST_CASE("names in a trace are escaped") {
  Trace trace({.title = "</script><img src=x onerror=alert(1)>&\xff"});
  trace.labels("<T>", {"</script>", "\x01\"\\", "a\xC3\xA9"});
  const Tensor y = exp(tensor({1.0}));
  const std::string text = trace.json();
  CHECK(text.find_first_of("<>&") == text.npos);
  const ReadTape tape(text);
  CHECK(tape.all.at("meta").at("title") == "</script><img src=x onerror=alert(1)>&\xEF\xBF\xBD");
  CHECK(tape.all.at("labels").at("<T>") == Json{"</script>", "\x01\"\\", "a\xC3\xA9"});
}

TEST_CASE("a large tensor is shown as a picture, corners and a histogram") {
  std::vector<double> v(100 * 90);
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<double>(i % 90);
  v[0] = NAN;
  v[1] = INFINITY;
  Trace trace;
  const Tensor y = negative(tensor(v, {100, 90}));
  const ReadTape tape(trace);
  const Json value = tape.value(tape.at("ops", 0, "in").at(0));
  CHECK(value.at("stats").at(0) == 0);   // min
  CHECK(value.at("stats").at(1) == 89);  // max
  CHECK(value.at("stats").at(5) == 99);  // number of zeros: 100, less one NaN
  CHECK(value.at("stats").at(6) == 1);
  CHECK(value.at("stats").at(7) == 1);
  CHECK(value.at("picture").at("rows") == 24);
  double all = 0;
  for (const Json& bin : value.at("histogram")) all += bin.get<double>();
  CHECK(all == 100 * 90 - 2);
  const std::string picture = ReadTape::decoded(value.at("picture").at("f32"));
  // The second box covers columns 3 to 6 of row 0: ⌊90/24⌋ = 3, ⌊180/24⌋ = 7.
  float box = 0;
  std::memcpy(&box, picture.data() + 4, 4);
  CHECK(box == 4.5f);
  CHECK(value.at("corners").at("columns") == 8);
  CHECK(tape.all.at("meta").at("omitted").at("sampled") == 2);
}

Tensor leaf(const Shape& shape) { return randn(shape).requires_grad_(); }

TEST_CASE("an exception is at the top of a trace, with its shapes and layer") {
  const nn::Linear layer(3, 2);
  Trace trace;
  CHECK(ReadTape(trace).all.at("failure").is_null());
  CHECK_THROWS_AS(layer(randn({5, 4})), ShapeError);
  const ReadTape tape(trace);
  const Json failure = tape.all.at("failure");
  CHECK(failure.at("op") == "linear");
  CHECK(testing::contains(failure.at("message").get<std::string>(), "[5, 4]"));
  CHECK(tape.at("modules", failure.at("module"), "type") == "Linear");
  CHECK(failure.at("stack") >= 0);
  const Tensor y = exp(randn({2}));  // the exception was caught
  CHECK(ReadTape(trace).all.at("failure").is_null());
}

TEST_CASE("a backward that throws ends early in the trace") {
  Trace trace;
  const Tensor x = leaf({2}), y = exp(x);
  y.register_hook([](const Tensor&) -> Tensor { fail<ValueError>("hook: no"); });
  CHECK_THROWS_AS(sum(y).backward(), ValueError);
  const ReadTape failed(trace);
  CHECK(failed.all.at("failure").at("message") == "hook: no");
  sum(exp(x)).backward();
  const ReadTape tape(trace);
  CHECK(tape.count("walks") == 2);
  CHECK(tape.count("deposits") == 1);
  CHECK(tape.at("walks", 1, "within").is_null());
}

TEST_CASE("a trace shows gradients as changed by hooks") {
  Trace trace;
  const Tensor x = leaf({2}), y = exp(x);
  y.register_hook([](const Tensor& dy) { return dy * 3.0; });
  sum(y).backward();
  const ReadTape tape(trace);
  REQUIRE(tape.count("hooks") == 1);
  CHECK(tape.at("hooks", 0, "to") == tape.at("ops", 0, "out"));
  CHECK(tape.numbers(tape.at("hooks", 0, "before")) == std::vector<double>{1, 1});
  CHECK(tape.numbers(tape.at("hooks", 0, "after")) == std::vector<double>{3, 3});
  CHECK(tape.at("visits", 1, "dy") == tape.at("hooks", 0, "after"));
}

TEST_CASE("a recomputed checkpoint is listed within its backward step") {
  Trace trace;
  const Tensor x = leaf({3});
  sum(checkpoint([](const std::vector<Tensor>& in) { return exp(in[0]); }, {x})).backward();
  const ReadTape tape(trace);
  const std::vector<std::size_t> runs = tape.ops("exp");
  REQUIRE(runs.size() == 2);
  CHECK(tape.at("ops", runs[0], "within").is_null());
  const Json visit = tape.at("ops", runs[1], "within");
  CHECK(tape.at("visits", visit.get<std::size_t>(), "name") == "checkpoint");
  REQUIRE(tape.count("walks") == 2);
  CHECK(tape.at("walks", 1, "within") == visit);
  CHECK(tape.count("deposits") == 1);
}

TEST_CASE("with create_graph the operations of backward are listed") {
  Trace trace;
  const Tensor x = leaf({3});
  const Tensor dx = grad(sum(x * x * x), x, {.create_graph = true});
  sum(dx).backward();
  const ReadTape tape(trace);
  REQUIRE(tape.count("walks") == 2);
  CHECK(tape.at("walks", 0, "create_graph") == true);
  std::size_t within = 0;
  for (std::size_t i = 0; i < tape.count("ops"); ++i)
    within += !tape.at("ops", i, "within").is_null();
  CHECK(within > 0);
  CHECK(tape.at("tensors", tape.at("deposits", 0, "after"), "kind") == "grad");
  CHECK(tape.all.at("meta").at("omitted").at("unseen_nodes") == 0);
}

TEST_CASE("during a pause a trace records nothing") {
  Trace trace;
  Tensor y;
  {
    const ScopedPause pause;
    y = exp(leaf({2}));
  }
  y = negative(y);
  CHECK(ReadTape(trace).count("ops") == 1);
}

TEST_CASE("operations on other threads are counted as not recorded") {
  const Tensor x = leaf({3});
  Tensor y;
  Trace trace;
  std::thread([&] { y = sum(exp(x)); }).join();
  y.backward();
  const ReadTape tape(trace);
  CHECK(tape.count("ops") == 0);
  CHECK(tape.count("visits") == 2);
  CHECK(tape.all.at("meta").at("omitted").at("unseen_nodes") == 2);
  CHECK(tape.count("deposits") == 1);
}

TEST_CASE("a trace of decoding with a cache has each token") {
  const NoGrad off;
  const nn::GPT model({.vocab = 7, .context = 8, .layers = 1, .block = {.width = 8, .heads = 2}});
  nn::KVCache cache({.capacity = 8});
  Trace trace;
  for (std::int64_t i = 0; i < 3; ++i) model(tensor(std::vector<std::int64_t>{i}, {1, 1}), &cache);
  const ReadTape tape(trace);
  REQUIRE(tape.all.at("attention").size() == 3);
  for (std::int64_t i = 0; i < 3; ++i) {
    const Json weights = tape.all.at("attention").at(static_cast<std::size_t>(i)).at("weights");
    CHECK(tape.shape(weights) == std::vector<std::int64_t>{1, 2, 1, i + 1});
  }
}

TEST_CASE("writing to a tensor creates another tensor with the same memory") {
  Trace trace;
  Tensor x = ones({2});
  const Tensor y = exp(x);
  x.fill_(2);
  const Tensor z = exp(x);
  const ReadTape tape(trace);
  const Json before = tape.at("ops", 0, "in").at(0), after = tape.at("ops", 1, "in").at(0);
  CHECK(tape.numbers(before) == std::vector<double>{1, 1});
  CHECK(tape.numbers(after) == std::vector<double>{2, 2});
  CHECK(tape.at("tensors", before, "storage") == tape.at("tensors", after, "storage"));
}

TEST_CASE("fifty thousand operations fit into a page") {
  const Tensor x = leaf({8});
  Trace trace;
  Tensor y = x;
  for (int i = 0; i < 25000; ++i) y = y * 1.0001;
  sum(y).backward();
  for (int i = 0; i < 26000; ++i) y = negative(y.detach());
  const std::string text = trace.json();
  CHECK(text.size() <= 8'000'000);
  const ReadTape tape(text);
  CHECK(tape.count("ops") == 50000);
  CHECK(tape.all.at("meta").at("omitted").at("ops_not_recorded") == 1001);
  CHECK(tape.count("visits") == 25001);
}

TEST_CASE("large tensors fit into a page, which counts the omitted values") {
  Trace trace;
  Tensor y = randn({64, 64});
  for (int i = 0; i < 3000; ++i) y = negative(y);  // the recorded values take 48 MB
  const std::string text = trace.json();
  CHECK(text.size() <= 8'000'000);
  const ReadTape tape(text);
  const Json omitted = tape.all.at("meta").at("omitted");
  CHECK(omitted.at("stats_only").get<int>() + omitted.at("no_values").get<int>() == 3001);
  CHECK(!tape.all.at("meta").at("notes").empty());
}

TEST_CASE("of many repeated blocks, the first and the last keep their values") {
  seed(5);
  const nn::GPT model(
      {.vocab = 17, .context = 16, .layers = 6, .block = {.width = 32, .heads = 2}});
  const Tensor ids = tensor(std::vector<std::int64_t>(16, 3), {1, 16});
  for (const bool narrow : {false, true}) {
    Trace trace({.most_bytes = narrow ? 1'800'000u : 40'000'000u});
    model.loss(ids, ids).backward();
    const ReadTape tape(trace);
    CHECK((tape.all.at("meta").at("omitted").at("folded") > 0) == narrow);
    std::size_t whole = 0, bare = 0;
    for (std::size_t i = 0; i < tape.count("ops"); ++i) {
      const Json module = tape.at("ops", i, "module");
      if (module.is_null()) continue;
      const std::string path = tape.at("modules", module.get<std::size_t>(), "path");
      const bool all = !tape.value(tape.at("ops", i, "out")).contains("stats");
      if (path.starts_with("blocks.0.") || path.starts_with("blocks.5.")) CHECK(all);
      if (path.starts_with("blocks.2.")) (all ? whole : bare) += 1;
    }
    CHECK((narrow ? whole : bare) == 0);
    CHECK((narrow ? bare : whole) > 0);
  }
}

TEST_CASE("a page that cannot be written gives a one-line error") {
  Trace trace;
  const Tensor y = exp(ones({2}));
  const testing::Folder folder;
  CHECK(testing::contains(
      testing::message_of<FileError>([&] { trace.write((folder / "none") + "/x.html"); }),
      "No such file or directory"));
  if (std::filesystem::exists("/dev/full"))
    CHECK(testing::contains(testing::message_of<FileError>([&] { trace.write("/dev/full"); }),
                            "cannot write /dev/full: No space left on device"));
  trace.write(folder / "x.html");
  std::string page = testing::read_bytes(folder / "x.html");
  CHECK(testing::contains(page, "<script type=\"application/json\" id=\"tape\""));
  CHECK(testing::contains(page, "Content-Security-Policy"));
  const std::size_t tape = page.find("id=\"tape\"");  // the data after it may contain any text
  page.erase(tape, page.find("</script>", tape) - tape);
  for (std::size_t at = page.find("://"); at != page.npos; at = page.find("://", at + 1))
    CHECK(page.compare(at, 14, "://www.w3.org/") == 0);  // the namespace of SVG
}

}  // namespace
}  // namespace gradus::testing::test_trace
