// Rows of a trace after clear(), after a backward that throws, and around optimizers.
#include <memory>
#include <string>

#include "gradus/engine/apply.h"
#include "gradus/nn/module.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/support/environment.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/trace/tape.h"
#include "gradus/train/optim.h"

namespace gradus {

namespace op {

struct ThrowsAlways final : Op {
  const char* name() const override { return "throws"; }
  Tensor forward(const Tensor& x) { return x.clone(); }
  Gradients backward(const Tensor&, const Wanted&) override { fail<ValueError>("throws: always"); }
};

}  // namespace op

namespace testing {
namespace {

struct Block : nn::Layer<Block> {
  std::function<Tensor(const Tensor&)> f = [](const Tensor& x) { return x * 2.0; };
  Tensor w;  // none
  nn::Members members() override { return {{"w", w}}; }
  Tensor forward(const Tensor& x) const { return f(x); }
};

}  // namespace

TEST_CASE("after a backward that threw the next walk is within none") {
  const NoPrograms quick;
  const Tensor x = zeros({2}).requires_grad_();
  Trace trace;
  CHECK_THROWS_AS(sum(apply(op::ThrowsAlways{}, x)).backward(), ValueError);
  sum(exp(x)).backward();
  const ReadTape tape(trace);
  REQUIRE(tape.count("walks") == 2);
  CHECK(tape.at("walks", 1, "within").is_null());
}

TEST_CASE("a trace that is cleared knows names, and nothing else of before") {
  const NoPrograms quick;
  Block block;
  Tensor w = zeros({2}).requires_grad_();
  optim::SGD optimizer({{"weight", w}}, {.lr = 0.5});
  Trace trace;
  const Tensor y = exp(w);
  sum(y).backward({.keep_graph = true});
  optimizer.step();
  block.f = [&](const Tensor& x) {
    trace.clear();
    return tanh(x);
  };
  block(w);
  y.backward(ones({2}));
  const ReadTape tape(trace);
  CHECK(tape.at("ops", 0, "op") == "tanh");
  CHECK(tape.at("ops", 0, "module").is_null());
  CHECK(tape.at("visits", 0, "op").is_null());  // of what made y
  CHECK(tape.all.at("meta").at("omitted").at("unseen_nodes") == 1);
  const Json leaf = tape.at("deposits", 0, "leaf");
  CHECK(leaf.is_null());
  exp(w);
  const ReadTape then(trace);
  const Json in = then.at("ops", then.count("ops") - 1, "in").at(0);
  CHECK(then.at("tensors", in, "name") == "weight");
  CHECK(then.at("tensors", in, "kind") == "param");
}

TEST_CASE("parameters have the names that an optimiser gives them") {
  const NoPrograms quick;
  Tensor w = zeros({2}).requires_grad_();
  optim::SGD optimizer({{"weight", w}}, {.lr = 0.5});
  Trace trace;
  sum(exp(w)).backward();
  optimizer.step();
  const ReadTape tape(trace);
  CHECK(tape.at("tensors", tape.at("ops", 0, "in").at(0), "name") == "weight");
}

TEST_CASE("packed attention has its matrices in a trace") {
  const NoPrograms quick;
  Trace trace;
  packed_self_attention(ones({1, 2, 6}), 1, causal_mask());
  const ReadTape tape(trace);
  REQUIRE(tape.all.at("attention").size() == 1);
  CHECK(tape.shape(tape.all.at("attention").at(0).at("weights")) ==
        std::vector<std::int64_t>{1, 1, 2, 2});
}

TEST_CASE("a page can be written to a device, and not to a folder") {
  const NoPrograms quick;
  const Folder folder;
  Trace trace;
  if (std::filesystem::exists("/dev/null")) CHECK_NOTHROW(trace.write("/dev/null"));
  CHECK(refusal([&] { trace.write(folder / ""); }) ==
        "cannot write " + (folder / "") + ": Is a directory");
}

TEST_CASE("a trace that is cleared has room for as much as before") {
  const NoPrograms quick;
  Trace trace({.most_bytes = 3000});
  trace.clear();
  CHECK(ReadTape(trace).all.at("meta").at("limits").at("bytes") == 3000);
}

}  // namespace testing
}  // namespace gradus
