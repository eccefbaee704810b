// What a trace holds of whole small programs, against tests/golden/trace/tapes.txt: every row of
// every table. The numbers are halves and quarters, exact in any order of their sums.
#include "gradus/trace/recorder.h"

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "gradus/base/parallel.h"
#include "gradus/base/thread_state.h"
#include "gradus/engine/backward.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/nn/module.h"
#include "gradus/ops/attention/attention.h"
#include "gradus/ops/checkpoint.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/io/golden.h"
#include "gradus/tests/trace/tape_text.h"
#include "gradus/train/optim.h"

namespace gradus::testing {
namespace {

/// -1, -¾, … in a shape.
Tensor quarters(const Shape& shape) {
  std::vector<float> numbers(static_cast<std::size_t>(numel(shape)));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 9) / 4 - 1;
  return tensor(numbers, shape);
}

struct Scaled : nn::Layer<Scaled> {
  Tensor w = nn::parameter(quarters({2}));
  nn::Members members() override { return {{"w", w}}; }
  Tensor forward(const Tensor& x) const { return x * w; }
};
struct Small : nn::Layer<Small> {
  Scaled up, down;
  Tensor bias = nn::parameter(quarters({2}));
  nn::Members members() override { return {{"up", up}, {"down", down}, {"bias", bias}}; }
  Tensor forward(const Tensor& x) const {
    const Tensor y = relu(down(up(x))) + bias;
    return y + up(x);
  }
};

void steps(Trace& trace) {
  Small model;
  optim::SGD optimizer(model.parameters(), {.lr = 0.5});
  trace.labels("T", {"a", "b"});
  for (int i = 0; i < 2; ++i) {
    if (i == 1) optimizer.zero_grad();
    sum(square(model(quarters({3, 2})))).backward();
    optimizer.step();
  }
}

void pieces(Trace&) {
  const Tensor table = quarters({4, 2}).requires_grad_(), x = quarters({4, 2}).requires_grad_();
  const Tensor rows = embedding(table, indices({2, 0, 2}));
  rows.register_hook([](const Tensor& dy) { return dy * 2.0; });
  const Tensor part = slice(x, 0, 1, 3), one = select(x, 1, 1);
  sum(rows).backward();
  const Tensor squares = sum(part * part);
  (squares + sum(one)).backward();
  sum(checkpoint([](const std::vector<Tensor>& in) { return in[0] * in[0]; }, {x})).backward();
}

/// An output that another goes back to, too; and one that is given its gradient twice.
void outputs(Trace&) {
  const Tensor x = quarters({2}).requires_grad_(), y = x * x, z = y * y;
  backward({z, y, y}, {ones({2}), ones({2}), quarters({2})});
}

void second_derivative(Trace&) {
  const Tensor x = tensor({0.5, -2}).requires_grad_();
  const Tensor dx = grad(sum(x * x * x), x, {.create_graph = true});
  sum(dx * x).backward();
}

/// Forward and backward of a formula, then of one operation; of two examples the first is shown.
void attentions(Trace&) {
  const Tensor q = zeros({2, 1, 2, 2}).requires_grad_(), v = quarters({2, 1, 2, 2});
  {
    const FormulaScope as_formula;
    scaled_dot_product_attention(q, v, v, causal_mask()).backward(ones({2, 1, 2, 2}));
  }
  scaled_dot_product_attention(q, v, v, causal_mask()).backward(ones({2, 1, 2, 2}));
}

/// What is no part of the step: elsewhere, in pauses, inside a loop of several threads, and before.
void elsewhere(Trace& trace) {
  const Tensor x = quarters({2}).requires_grad_();
  Tensor y;
  std::thread([&] { y = x * x; }).join();
  sum(y).backward();
  {
    const TracePause pause;
    exp(x);
  }
  parallel_for(2, 1, [&](std::int64_t, std::int64_t) { const Tensor z = x + x; });
  Small model;
  model(quarters({1, 2}));
  trace.labels("S", {"kept"});
  trace.clear();
  {
    const NoGrad off;
    model(quarters({1, 2}));
  }
  const Tensor counted = indices({1, 2});
  counted + counted;
  tensor({1.0, 2.0}, Dtype::f64) * 2.0;
  transpose(quarters({2, 3}), 0, 1) * 1.5;
}

void failure(Trace&) {
  const Small model;
  try {
    model(quarters({2}));
    model(quarters({3, 3}));
  } catch (const ShapeError&) {
  }
}

void failed_hook(Trace&) {
  const Tensor x = quarters({2}).requires_grad_(), y = x * x;
  y.register_hook([](const Tensor&) -> Tensor { fail<ValueError>("hook: no"); });
  try {
    sum(y).backward();
  } catch (const ValueError&) {
  }
  sum(x * x).backward();
}

/// All that a trace can hear, of tensors of its own.
void everything() {
  Small model;
  optim::SGD optimizer(model.parameters(), {.lr = 0.5});
  const Tensor y = model(quarters({1, 2}));
  y.register_hook([](const Tensor& dy) { return dy * 2.0; });
  sum(y).backward();
  optimizer.step();
  const Tensor x = quarters({2}).requires_grad_();
  sum(grad(sum(x * x), x, {.create_graph = true})).backward();
  try {
    model(quarters({3, 3}));
  } catch (const ShapeError&) {
  }
}

void unheard(Trace&) {
  {
    const TracePause pause;
    everything();
  }
  thread_state.parallel = true;
  everything();
  thread_state.parallel = false;
  exp(zeros({1}));
}

/// A layer that does nothing, and one that is told when it runs.
struct Silent : nn::Layer<Silent> {
  nn::Members members() override { return {}; }
  Tensor forward(const Tensor& x) const { return x; }
};
struct Telling : nn::Layer<Telling> {
  std::function<void()> tell;
  nn::Members members() override { return {}; }
  Tensor forward(const Tensor& x) const {
    tell();
    return x * x;
  }
};

/// What was caught is no failure any more once anything else has begun.
void caught(Trace& trace, const std::function<void()>& next, std::string& out) {
  try {
    exp(quarters({3})) + quarters({2});
  } catch (const ShapeError&) {
  }
  out += ReadTape(trace).all.at("failure").is_null() ? "nothing, " : "a failure, ";
  next();
  out += ReadTape(trace).all.at("failure").is_null() ? "nothing\n" : "a failure\n";
}

std::string text_of(const char* name, void (*program)(Trace&), TraceOptions options = {}) {
  options.title = name;
  Trace trace(options);
  program(trace);
  return tape_text(trace.json()) + "\n";
}

TEST_CASE("tapes of small programs are those of golden/trace/tapes.txt") {
  const NoPrograms quick;
  check_golden("trace/tapes.txt",
               text_of("steps", steps) + text_of("pieces", pieces) + text_of("outputs", outputs) +
                   text_of("second derivative", second_derivative) +
                   text_of("attentions", attentions) + text_of("elsewhere", elsewhere) +
                   text_of("failure", failure) + text_of("failed hook", failed_hook) +
                   text_of("unheard", unheard) +
                   text_of("five operations", steps, {.most_ops = 5}));
}

TEST_CASE("the matrices of attention over a long sequence are counted, once, and not computed") {
  const NoPrograms quick;
  const Tensor longer = zeros({1, 1, 1025, 1}).requires_grad_();
  Trace trace;
  scaled_dot_product_attention(longer, longer, longer).backward(ones({1, 1, 1025, 1}));
  const ReadTape tape(trace);
  CHECK(tape.all.at("meta").at("omitted").at("large_attention") == 1);
  CHECK(tape.all.at("attention").empty());
}

TEST_CASE("what is caught is a failure until something else begins") {
  const NoPrograms quick;
  const Tensor x = quarters({2}).requires_grad_(), y = x * x;
  std::string out;
  Trace trace;
  caught(
      trace, [] {}, out);
  caught(
      trace, [] { exp(zeros({1})); }, out);
  caught(
      trace, [] { Silent()(zeros({1})); }, out);
  caught(
      trace, [&] { y.backward(ones({2})); }, out);
  CHECK(out ==
        "a failure, a failure\na failure, nothing\na failure, nothing\na failure, nothing\n");
}

TEST_CASE("a trace that begins inside a layer or a backward: golden/trace/begun_inside.txt") {
  const NoPrograms quick;
  std::string out;
  {
    std::unique_ptr<Trace> trace;
    Telling layer;
    layer.tell = [] {};
    layer(quarters({2}));  // a first call has an observer of its own
    layer.tell = [&] { trace = std::make_unique<Trace>(TraceOptions{.title = "in a layer"}); };
    const Tensor y = layer(quarters({2}).requires_grad_());
    layer.tell = [] {};
    sum(layer(y)).backward();
    out += tape_text(trace->json()) + "\n";
  }
  const Tensor x = quarters({2}).requires_grad_(), inner = x * x, outer = inner * x;
  std::unique_ptr<Trace> trace;
  inner.register_hook([&](const Tensor& dy) {
    trace = std::make_unique<Trace>(TraceOptions{.title = "in a backward"});
    return dy * 2.0;
  });
  sum(outer).backward();
  sum(x * x).backward();
  check_golden("trace/begun_inside.txt", out + tape_text(trace->json()));
}

TEST_CASE("a trace around another hears the same, and is not told what threw inside it") {
  const NoPrograms quick;
  Trace outer({.title = "failure"});
  std::string inner_text;
  {
    Trace inner({.title = "failure"});
    failure(inner);
    inner_text = tape_text(inner.json());
  }
  const std::size_t begin = inner_text.find("failure {"), end = inner_text.find('\n', begin);
  REQUIRE(begin != inner_text.npos);
  CHECK(tape_text(outer.json()) == inner_text.replace(begin, end - begin, "failure null"));
  CHECK_THROWS_AS(Small()(quarters({3, 3})), ShapeError);
  CHECK(contains(tape_text(outer.json()), "failure {"));  // now it is the innermost again
}

}  // namespace
}  // namespace gradus::testing
