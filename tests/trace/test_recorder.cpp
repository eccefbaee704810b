// Tests the properties of every trace on small programs.
#include "gradus/trace/recorder.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "gradus/engine/backward.h"
#include "gradus/engine/base/parallel.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/nn/module.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/attention/attention.h"
#include "gradus/ops/checkpoint.h"
#include "gradus/ops/create.h"
#include "gradus/ops/matmul.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/environment.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/trace/tape.h"
#include "gradus/trace/watch.h"
#include "gradus/train/optim/optim.h"

namespace gradus::testing::test_recorder {
namespace {

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

/// One output is an input of another output, and receives two initial gradients.
void outputs(Trace&) {
  const Tensor x = quarters({2}).requires_grad_(), y = x * x, z = y * y;
  backward({z, y, y}, {ones({2}), ones({2}), quarters({2})});
}

void second_derivative(Trace&) {
  const Tensor x = tensor({0.5, -2}).requires_grad_();
  const Tensor dx = grad(sum(x * x * x), x, {.create_graph = true});
  sum(dx * x).backward();
}

/// Computes attention with a formula, then with one op. The trace shows only the first example.
void attentions(Trace&) {
  const Tensor q = zeros({2, 1, 2, 2}).requires_grad_(), v = quarters({2, 1, 2, 2});
  {
    const FormulaScope as_formula;
    scaled_dot_product_attention(q, v, v, causal_mask()).backward(ones({2, 1, 2, 2}));
  }
  scaled_dot_product_attention(q, v, v, causal_mask()).backward(ones({2, 1, 2, 2}));
}

/// Calls ops that are not recorded: in other threads, pauses and parallel loops, and before
/// clear().
void elsewhere(Trace& trace) {
  const Tensor x = quarters({2}).requires_grad_();
  Tensor y;
  std::thread([&] { y = x * x; }).join();
  sum(y).backward();
  {
    const ScopedPause pause;
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

struct Silent : nn::Layer<Silent> {
  nn::Members members() override { return {}; }
  Tensor forward(const Tensor& x) const { return x; }
};
/// A caught exception must not be reported as a failure after the next op.
void caught(Trace& trace, const std::function<void()>& next, std::string& out) {
  try {
    exp(quarters({3})) + quarters({2});
  } catch (const ShapeError&) {
  }
  out += ReadTape(trace).all.at("failure").is_null() ? "nothing, " : "a failure, ";
  next();
  out += ReadTape(trace).all.at("failure").is_null() ? "nothing\n" : "a failure\n";
}

struct Program {
  const char* name;
  void (*run)(Trace&);
};
const Program kPrograms[] = {{"steps", steps},           {"pieces", pieces},
                             {"outputs", outputs},       {"second derivative", second_derivative},
                             {"attentions", attentions}, {"elsewhere", elsewhere},
                             {"failure", failure},       {"failed hook", failed_hook}};

ReadTape trace_of(void (*program)(Trace&), TraceOptions options = {}) {
  Trace trace(options);
  program(trace);
  return ReadTape(trace);
}

struct Column {
  const char *table, *name, *target;
};
const Column kColumns[] = {{"tensors", "shape", "shapes"},
                           {"tensors", "values", "values"},
                           {"tensors", "strides", "shapes"},
                           {"ops", "in", "tensors"},
                           {"ops", "out", "tensors"},
                           {"ops", "module", "modules"},
                           {"ops", "stack", "stacks"},
                           {"ops", "saved", "tensors"},
                           {"ops", "within", "visits"},
                           {"modules", "parent", "modules"},
                           {"walks", "outputs", "tensors"},
                           {"walks", "seeds", "tensors"},
                           {"walks", "within", "visits"},
                           {"visits", "op", "ops"},
                           {"visits", "walk", "walks"},
                           {"visits", "dy", "tensors"},
                           {"ledger", "visit", "visits"},
                           {"ledger", "to", "tensors"},
                           {"ledger", "contribution", "tensors"},
                           {"ledger", "before", "tensors"},
                           {"ledger", "after", "tensors"},
                           {"hooks", "to", "tensors"},
                           {"hooks", "walk", "walks"},
                           {"hooks", "before", "tensors"},
                           {"hooks", "after", "tensors"},
                           {"deposits", "leaf", "tensors"},
                           {"deposits", "walk", "walks"},
                           {"deposits", "arrived", "tensors"},
                           {"deposits", "before", "tensors"},
                           {"deposits", "after", "tensors"},
                           {"updates", "before", "tensors"},
                           {"updates", "after", "tensors"},
                           {"updates", "grad", "tensors"}};

std::size_t rows_in(const ReadTape& tape, const std::string& name) {
  const Json& table = tape.all.at(name);
  return table.is_array() ? table.size() : table.at("rows").size();
}

/// True if each id is below `rows`. `cell` is an id, a list of ids, or null.
bool points_inside(const Json& cell, std::size_t rows) {
  if (cell.is_null()) return true;
  if (cell.is_array())
    return std::all_of(cell.begin(), cell.end(),
                       [&](const Json& each) { return points_inside(each, rows); });
  return cell.get<std::size_t>() < rows;
}

TEST_CASE("every id in a trace points to a row") {
  const NoPrograms quick;
  for (const Program& program : kPrograms) {
    const ReadTape tape = trace_of(program.run);
    for (const Column& column : kColumns)
      for (std::size_t i = 0; i < tape.count(column.table); ++i) {
        INFO(program.name << ": " << column.table << " " << i << ", " << column.name);
        const Json cell = tape.at(column.table, i, column.name);
        CHECK(points_inside(cell, rows_in(tape, column.target)));
      }
  }
}

std::vector<double> sum_down(const std::vector<double>& x, std::size_t n) {
  std::vector<double> out(n);
  for (std::size_t i = 0; i < x.size(); ++i) out[i % n] += x[i];
  return out;
}

/// Compares sums up to the f32 rounding of a few values below 8.
bool equal_sums(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](double x, double y) { return std::abs(x - y) <= 8 * 0x1p-23; });
}

/// Checks that before + contribution = after.
void check_sum(const ReadTape& tape, std::size_t i) {
  const Json before = tape.at("ledger", i, "before"), part = tape.at("ledger", i, "part");
  const std::vector<double> given = tape.numbers(tape.at("ledger", i, "contribution")),
                            after = tape.numbers(tape.at("ledger", i, "after"));
  std::vector<double> sum(after.size());
  if (!before.is_null()) sum = tape.numbers(before);
  const std::vector<std::int64_t> shape = tape.shape(tape.at("ledger", i, "to"));
  if (part.is_null()) {
    const std::vector<double> whole = sum_down(given, sum.size());
    for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += whole[k];
  } else if (part.at(0) == "rows") {
    const std::vector<double> rows = tape.numbers(part.at(1));
    const std::size_t width = given.size() / rows.size();
    for (std::size_t k = 0; k < given.size(); ++k)
      sum[static_cast<std::size_t>(rows[k / width]) * width + k % width] += given[k];
  } else {
    REQUIRE(shape.size() == 2);  // all slices here are of matrices
    const auto axis = part.at(0).get<std::size_t>(), start = part.at(1).get<std::size_t>();
    const auto columns = static_cast<std::size_t>(shape[1]);
    const std::size_t taken =
        axis == 0 ? columns : given.size() / static_cast<std::size_t>(shape[0]);
    for (std::size_t k = 0; k < given.size(); ++k)
      sum[axis == 0 ? start * columns + k : k / taken * columns + start + k % taken] += given[k];
  }
  CHECK(equal_sums(sum, after));
}

TEST_CASE("each gradient in a trace is the sum of its contributions") {
  const NoPrograms quick;
  for (const Program& program : kPrograms) {
    INFO(program.name);
    const ReadTape tape = trace_of(program.run);
    std::map<std::pair<Json, Json>, Json> last;  // (backward pass, tensor) → sum
    for (std::size_t i = 0; i < tape.count("ledger"); ++i) {
      INFO("ledger " << i);
      const Json visit = tape.at("ledger", i, "visit"), to = tape.at("ledger", i, "to");
      const Json walk = tape.at("visits", visit.get<std::size_t>(), "walk");
      const int k = tape.at("ledger", i, "k"), of = tape.at("ledger", i, "of");
      CHECK((1 <= k && k <= of));
      const auto before = last.find({walk, to});
      if (before != last.end()) CHECK(tape.at("ledger", i, "before") == before->second);
      last[{walk, to}] = tape.at("ledger", i, "after");
      check_sum(tape, i);
    }
    for (std::size_t i = 0; i < tape.count("deposits"); ++i) {
      const auto sum = last.find({tape.at("deposits", i, "walk"), tape.at("deposits", i, "leaf")});
      const Json arrived = tape.at("deposits", i, "arrived"),
                 before = tape.at("deposits", i, "before");
      if (sum != last.end()) CHECK(arrived == sum->second);
      std::vector<double> total = tape.numbers(arrived);
      for (std::size_t k = 0; k < total.size() && !before.is_null(); ++k)
        total[k] += tape.numbers(before)[k];
      CHECK(equal_sums(tape.numbers(tape.at("deposits", i, "after")), total));
    }
  }
}

TEST_CASE("a trace lists operations up to its limit and counts the others") {
  const NoPrograms quick;
  const ReadTape all = trace_of(steps), few = trace_of(steps, {.most_ops = 5});
  CHECK(few.count("ops") == 5);
  CHECK(few.all.at("meta").at("omitted").at("ops_not_recorded") == all.count("ops") - 5);
}

TEST_CASE("every tensor of a trace has its values or is counted as omitted") {
  const NoPrograms quick;
  for (const std::size_t most : {0u, 400u, 3'000u, 40'000u, 1'000'000u}) {
    CAPTURE(most);
    Trace trace({.most_bytes = most});
    Tensor y = zeros({});
    for (const std::int64_t n : {4, 8192, 16, 4096, 64, 1024, 65, 256, 257}) y = exp(zeros({n}));
    const ReadTape tape(trace);
    std::size_t none = 0, stats = 0;
    for (std::size_t i = 0; i < tape.count("tensors"); ++i) {
      if (tape.at("tensors", i, "values").is_null())
        ++none;
      else if (const Json value = tape.value(i);
               value.contains("stats") && !value.contains("picture"))
        ++stats;
    }
    const Json omitted = tape.all.at("meta").at("omitted");
    CHECK(omitted.at("no_values") == none);
    CHECK(omitted.at("stats_only") == stats);
    CHECK(tape.all.at("meta").at("notes").empty() ==
          (none + stats + omitted.at("sampled").get<std::size_t>() == 0));
  }
}

TEST_CASE("attention matrices of a long sequence are counted and not computed") {
  const NoPrograms quick;
  const Tensor longer = zeros({1, 1, 1025, 1}).requires_grad_();
  Trace trace;
  scaled_dot_product_attention(longer, longer, longer).backward(ones({1, 1, 1025, 1}));
  const ReadTape tape(trace);
  CHECK(tape.all.at("meta").at("omitted").at("large_attention") == 1);
  CHECK(tape.all.at("attention").empty());
}

TEST_CASE("a caught exception is the failure of a trace until another operation begins") {
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

struct Block : nn::Layer<Block> {
  std::function<Tensor(const Tensor&)> f = [](const Tensor& x) { return x * 2.0; };
  Tensor w;  // an undefined tensor
  nn::Members members() override { return {{"w", w}}; }
  Tensor forward(const Tensor& x) const { return f(x); }
};

}  // namespace

TEST_CASE("a cleared trace keeps names and nothing else") {
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
  CHECK(tape.at("visits", 0, "op").is_null());  // clear() removed the op of y
  CHECK(tape.all.at("meta").at("omitted").at("unseen_nodes") == 1);
  CHECK(tape.at("tensors", tape.at("deposits", 0, "leaf"), "name") == "weight");
  exp(w);
  const ReadTape then(trace);
  const Json in = then.at("ops", then.count("ops") - 1, "in").at(0);
  CHECK(then.at("tensors", in, "name") == "weight");
  CHECK(then.at("tensors", in, "kind") == "param");
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

TEST_CASE("a page can be written to a device but not to a directory") {
  const NoPrograms quick;
  const Folder folder;
  Trace trace;
  if (std::filesystem::exists("/dev/null")) CHECK_NOTHROW(trace.write("/dev/null"));
  CHECK(refusal([&] { trace.write(folder / ""); }) ==
        "cannot write " + (folder / "") + ": Is a directory");
}

TEST_CASE("a cleared trace keeps its limit of bytes") {
  const NoPrograms quick;
  Trace trace({.most_bytes = 3000});
  trace.clear();
  CHECK(ReadTape(trace).all.at("meta").at("limits").at("bytes") == 3000);
}

TEST_CASE("recorders may end in any order") {
  auto first = std::make_unique<trace::Recorder>(TraceOptions{});
  auto second = std::make_unique<trace::Recorder>(TraceOptions{});
  first.reset();
  CHECK_THROWS_AS(matmul(ones({2, 3}), ones({2, 3})), ShapeError);
  second.reset();
  CHECK_THROWS_AS(matmul(ones({2, 3}), ones({2, 3})), ShapeError);
}

TEST_CASE("watches may end in any order") {
  auto first = std::make_unique<trace::Watch>();
  auto second = std::make_unique<trace::Watch>();
  first.reset();
  CHECK(trace::Watch::current() == second.get());
  static_cast<void>(ones({2}) * 2.0);
  CHECK(second->events().size() == 1);
  second.reset();
  CHECK(trace::Watch::current() == nullptr);
}

}  // namespace gradus::testing::test_recorder
