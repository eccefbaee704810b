// A recorder that is told events one by one: what it leaves out, and what belongs to what.
#include <functional>
#include <memory>
#include <string>

#include "gradus/base/thread_state.h"
#include "gradus/engine/apply.h"
#include "gradus/nn/module.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/io/golden.h"
#include "gradus/tests/trace/tape_text.h"
#include "gradus/trace/recorder.h"

namespace gradus {

namespace op {

/// Called as the fused attention is, with a result of any shape and one matrix inside.
struct ShownAttention final : Op {
  Tensor result;
  const char* name() const override { return "attention"; }
  Tensor forward(const Tensor&) { return result.clone(); }
  Gradients backward(const Tensor&, const Wanted&) override { return {Gradient()}; }
  std::vector<std::pair<const char*, Tensor>> inside(const Tensor& dy) const override {
    return {{dy.defined() ? "dweights" : "weights", ones({2, 2})}};
  }
};

}  // namespace op

namespace testing {
namespace {

using trace::Recorder;

struct Layer : nn::Layer<Layer> {
  Tensor w = nn::parameter(ones({2}));
  nn::Members members() override { return {{"w", w}}; }
  Tensor forward(const Tensor& x) const { return x * w; }
};

/// Everything that a recorder can be told of.
struct Events {
  Layer layer;
  Tensor x = tensor({1, 2}).requires_grad_(), y = x * layer.w, dy = tensor({3, 4});
  Tensor one = exp(x), changed = tensor({5, 6});
  const std::string name = "w";
  Update update{"SGD", name, layer.w, 0.5};
  Gradients dx = {changed, dy};
  std::vector<const Tensor*> inputs = {&x, &layer.w}, others = {&one};
  const Op& op = *y.node()->op;
  std::unique_ptr<Scope> scope;

  /// In an order in which they can come.
  std::vector<std::function<void(Recorder&)>> all() {
    return {[&](Recorder& r) { r.scope_begin(*scope); },
            [&](Recorder& r) { r.op_begin(op, inputs); },
            [&](Recorder& r) { r.saved(x); },
            [&](Recorder& r) { r.op_end(op, inputs, y); },
            [&](Recorder& r) { r.scope_end(*scope); },
            [&](Recorder& r) { r.walk_begin(std::span(&y, 1), false); },
            [&](Recorder& r) { r.seeded(*y.node(), dy); },
            [&](Recorder& r) { r.hooked(*y.node(), dy, changed); },
            [&](Recorder& r) { r.backward_begin(*y.node(), changed); },
            [&](Recorder& r) { r.backward_end(*y.node(), dx); },
            [&](Recorder& r) { r.added(*y.node(), 0, changed); },
            [&](Recorder& r) { r.added(*y.node(), 1, dy); },
            [&](Recorder& r) { r.arrived(*x.node(), changed); },
            [&](Recorder& r) { r.accumulated(*x.node(), changed); },
            [&](Recorder& r) { r.walk_end(); },
            [&](Recorder& r) { r.update_begin(update); },
            [&](Recorder& r) { r.update_end(update); }};
  }
};

/// The tape of a recorder that is told all events, and each of them around every one, unheard.
std::string told(Events& events, const std::function<void(const std::function<void()>&)>& unheard) {
  Recorder recorder({.title = "t"});
  const auto all = events.all();
  const auto noise = [&] {
    const ScopedValue<double> other_rate(events.update.rate, 9);
    std::swap(events.dx[0], events.dx[1]);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i == all.size() - 1) recorder.heard("unheard: no failure");
      all[i](recorder);
    }
    std::swap(events.dx[0], events.dx[1]);
  };
  for (const auto& event : all) {
    unheard(noise);
    event(recorder);
  }
  unheard(noise);
  return tape_text(recorder.json());
}

std::string json_of(Recorder& recorder) { return tape_text(recorder.json()); }

}  // namespace

TEST_CASE("a recorder leaves out what it is told in a pause and inside a loop of several threads") {
  const NoPrograms quick;
  Events events;
  events.scope = std::make_unique<Scope>(events.layer);
  const std::string wanted = told(events, [](const auto&) {});
  CHECK(contains(wanted, "multiply"));
  CHECK(told(events, [](const auto& noise) {
          const TracePause pause;
          noise();
        }) == wanted);
  CHECK(told(events, [](const auto& noise) {
          const ScopedValue<bool> parallel(thread_state.parallel, true);
          noise();
        }) == wanted);
}

TEST_CASE("ends, gradients and sums of what began before a recorder are nothing to it") {
  const NoPrograms quick;
  Events events;
  events.scope = std::make_unique<Scope>(events.layer);
  Recorder recorder({});
  const std::string empty = json_of(recorder);
  const auto all = events.all();
  for (const std::size_t i : {2, 4, 6, 7, 8, 9, 10, 11, 14, 16}) all[i](recorder);
  CHECK(json_of(recorder) == empty);
  recorder.walk_begin(std::span(&events.y, 1), false);
  const std::string walk = json_of(recorder);
  for (const std::size_t i : {9, 10, 11}) all[i](recorder);  // of a backward that it did not hear
  CHECK(json_of(recorder) == walk);
  recorder.backward_begin(*events.one.node(), events.dy);
  recorder.backward_end(*events.one.node(), {events.dy});
  recorder.added(*events.one.node(), 0, events.dy);
  const std::string one = json_of(recorder);
  CHECK(ReadTape(recorder.json()).count("ledger") == 1);
  recorder.added(*events.y.node(), 1, events.dy);
  CHECK(json_of(recorder) == one);
  recorder.walk_end();
  recorder.added(*events.one.node(), 0, events.dy);
  CHECK(json_of(recorder) == one);
}

TEST_CASE("an operation inside another, and after one that threw, has its own inputs") {
  const NoPrograms quick;
  Events events;
  Recorder recorder({});
  const Tensor inner = exp(events.dy.requires_grad_());
  recorder.op_begin(events.op, events.inputs);
  recorder.saved(events.x);
  recorder.op_begin(events.op, events.others);
  recorder.op_end(events.op, events.others, inner);
  recorder.op_end(events.op, events.inputs, events.y);
  recorder.op_begin(events.op, events.inputs);  // throws
  recorder.op_begin(events.op, events.others);
  recorder.op_end(events.op, events.others, inner);
  recorder.op_end(events.op, events.inputs, events.y);  // of nothing that is known to run
  recorder.op_end(events.op, events.inputs, events.y);
  const ReadTape tape(recorder.json());
  // row 0 was exp, which ran with its input
  CHECK(tape.at("ops", 1, "in").size() == 1);
  CHECK(tape.at("ops", 2, "in").size() == 2);
  CHECK(tape.at("ops", 2, "saved") == Json::array({tape.at("ops", 2, "in").at(0)}));
  CHECK(tape.at("ops", 3, "in") == tape.at("ops", 1, "in"));
  CHECK(tape.at("ops", 4, "in").size() == 2);
  CHECK(tape.at("ops", 5, "in").empty());
  recorder.walk_begin(std::span(&events.y, 1), false);
  recorder.backward_begin(*events.y.node(), events.dy);
  CHECK(ReadTape(recorder.json()).at("visits", 0, "op") == 5);  // the latest that made it
}

TEST_CASE("a backward is something that began, also where no operation runs in it") {
  const NoPrograms quick;
  Events events;
  Recorder recorder({});
  recorder.walk_begin(std::span(&events.y, 1), false);
  recorder.heard("exp: no");
  CHECK_FALSE(ReadTape(recorder.json()).all.at("failure").is_null());
  recorder.backward_begin(*events.y.node(), events.dy);
  CHECK(ReadTape(recorder.json()).all.at("failure").is_null());
}

TEST_CASE("an update has the numbers before it, and lists nothing that runs in it") {
  const NoPrograms quick;
  Events events;
  Tensor w = tensor({1.0}).requires_grad_();
  const Update update{"SGD", events.name, w, 0.5};
  Recorder recorder({});
  const auto fill = [&](double value) { w.detach().fill_(value); };
  recorder.update_begin(update);  // throws
  fill(2);
  recorder.update_begin(update);
  exp(w.detach());
  fill(3);
  recorder.update_end(update);
  recorder.update_end(update);  // of one that it did not hear begin
  const ReadTape tape(recorder.json());
  CHECK(tape.count("ops") == 0);
  REQUIRE(tape.count("updates") == 1);
  const Json before = tape.at("updates", 0, "before"), after = tape.at("updates", 0, "after");
  CHECK(tape.numbers(before) == std::vector<double>{2});
  CHECK(tape.numbers(after) == std::vector<double>{3});
  for (const Json& row : {before, after}) {
    CHECK(tape.at("tensors", row, "name") == "w");
    CHECK(tape.at("tensors", row, "kind") == "param");
  }
  exp(w);
  CHECK(ReadTape(recorder.json()).count("ops") == 1);
}

TEST_CASE("matrices are shown of attention on up to 1024 queries, and of any shape") {
  const NoPrograms quick;
  const auto shown = [](const Shape& shape) {
    const Tensor x = tensor({1.0}).requires_grad_();
    Recorder recorder({});
    op::ShownAttention op;
    op.result = zeros(shape);
    apply(std::move(op), x).backward(zeros(shape));
    const Json all = ReadTape(recorder.json()).all;
    std::string out = all.at("meta").at("omitted").at("large_attention").dump();
    for (const Json& each : all.at("attention"))
      for (const char* name : {"weights", "dweights"})
        if (each.contains(name)) out += std::string(" ") + name;
    return out;
  };
  CHECK(shown({1024, 1}) == "0 weights dweights");
  CHECK(shown({1025, 1}) == "1");
  CHECK(shown({2, 1025, 1}) == "1");
  CHECK(shown({1025, 2, 1}) == "0 weights dweights");
  CHECK(shown({1025}) == "0 weights dweights");
  CHECK(shown({}) == "0 weights dweights");
}

}  // namespace testing
}  // namespace gradus
