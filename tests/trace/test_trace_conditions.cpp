// A trace of what is not a plain forward and backward: errors, threads, graphs of graphs, files
// that cannot be written, and much of everything.
#include <cmath>
#include <filesystem>
#include <string>
#include <thread>

#include "gradus/base/random.h"
#include "gradus/engine/backward.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/models/gpt.h"
#include "gradus/nn/cache.h"
#include "gradus/ops/checkpoint.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/trace/tape.h"

namespace gradus {
namespace {

using testing::Json;
using testing::ReadTape;

Tensor leaf(const Shape& shape) { return randn(shape).requires_grad_(); }

TEST_CASE("what threw is at the top of a trace, with its shapes and its layer") {
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
  const Tensor y = exp(randn({2}));  // it was caught, and the program went on
  CHECK(ReadTape(trace).all.at("failure").is_null());
}

TEST_CASE("a backward that throws is one that ends early") {
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

TEST_CASE("hooks change a gradient before the eyes of a trace") {
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

TEST_CASE("a block that runs again in backward is within its step") {
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

TEST_CASE("a derivative of a derivative: the operations of backward are listed") {
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

TEST_CASE("while a pause lives a trace hears nothing") {
  Trace trace;
  Tensor y;
  {
    const TracePause pause;
    y = exp(leaf({2}));
  }
  y = negative(y);
  CHECK(ReadTape(trace).count("ops") == 1);
}

TEST_CASE("what runs elsewhere is counted as not seen") {
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
  const nn::GPT model({.vocab = 7, .context = 8, .layers = 1, .heads = 2, .width = 8});
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

TEST_CASE("numbers that were written to are another tensor of the same memory") {
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

TEST_CASE("big tensors fit into a page, and it says what is not there") {
  Trace trace;
  Tensor y = randn({64, 64});
  for (int i = 0; i < 3000; ++i) y = negative(y);  // 48 MB
  const std::string text = trace.json();
  CHECK(text.size() <= 8'000'000);
  const ReadTape tape(text);
  const Json omitted = tape.all.at("meta").at("omitted");
  CHECK(omitted.at("stats_only").get<int>() + omitted.at("no_values").get<int>() == 3001);
  CHECK(!tape.all.at("meta").at("notes").empty());
}

TEST_CASE("of blocks that repeat the first and the last keep their numbers where there are many") {
  seed(5);
  const nn::GPT model({.vocab = 17, .context = 16, .layers = 6, .heads = 2, .width = 32});
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

TEST_CASE("a page that cannot be written is one line") {
  Trace trace;
  const Tensor y = exp(ones({2}));
  const testing::Folder folder;
  CHECK(testing::contains(testing::message_of([&] { trace.write((folder / "none") + "/x.html"); }),
                          "No such file or directory"));
  if (std::filesystem::exists("/dev/full"))
    CHECK(testing::contains(testing::message_of([&] { trace.write("/dev/full"); }),
                            "cannot write /dev/full: No space left on device"));
  trace.write(folder / "x.html");
  std::string page = testing::read_bytes(folder / "x.html");
  CHECK(testing::contains(page, "<script type=\"application/json\" id=\"tape\""));
  CHECK(testing::contains(page, "Content-Security-Policy"));
  const std::size_t tape = page.find("id=\"tape\"");  // which may show any text of any program
  page.erase(tape, page.find("</script>", tape) - tape);
  for (std::size_t at = page.find("://"); at != page.npos; at = page.find("://", at + 1))
    CHECK(page.compare(at, 14, "://www.w3.org/") == 0);  // the name of SVG, which is not loaded
}

}  // namespace
}  // namespace gradus
