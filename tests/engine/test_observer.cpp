#include "gradus/engine/observer.h"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "gradus/engine/backward.h"
#include "gradus/engine/base/parallel.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/node.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/reduce.h"
#include "gradus/tests/engine/base/threads.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing::test_observer {
namespace {

using testing::has;
using testing::message_of;
using Lines = std::vector<std::string>;

struct Recorder : Observer {
  explicit Recorder(Lines& to, std::string mark = "") : lines(to), prefix(std::move(mark)) {}
  Lines& lines;
  std::string prefix;

  void note(const std::string& what) { lines.push_back(prefix + what); }
  void on_op_begin(const Op& op, std::span<const Tensor* const> inputs) override {
    note(str_cat("begin ", op.name(), " of ", inputs.size()));
  }
  void on_op_end(const Op& op, std::span<const Tensor* const>, const Tensor& y) override {
    note(str_cat("end ", op.name(), " ", y.shape(), y.requires_grad() ? " recorded" : ""));
  }
  void on_scope_begin(const Scope& scope) override { note("into '" + scope.path() + "'"); }
  void on_scope_end(const Scope& scope) noexcept override { note("out of '" + scope.path() + "'"); }
  void on_backward_begin(const Node& node, const Tensor& dy) override {
    note(str_cat("back ", node.name(), " ", dy.shape()));
  }
  void on_backward_end(const Node& node, const Gradients& dx) override {
    note(str_cat("done ", node.name(), " ", dx.size()));
  }
  void on_leaf_accumulate(const Node& leaf, const Tensor& grad) override {
    note(str_cat(leaf.name(), " has ", grad.item()));
  }
};

/// A parent with at most one child.
struct Box : Scoped {
  explicit Box(std::string type, const Box* own = nullptr) : type(std::move(type)), child(own) {}
  std::string type;
  const Box* child;
  std::string name_of(const Scoped& who) const override { return &who == child ? "inner" : ""; }
  std::string type_name() const override { return type; }
};

Tensor leaf(double value) { return tensor({value}, Dtype::f64).requires_grad_(); }

}  // namespace

TEST_CASE("an observer receives operations and gradients in order") {
  const Tensor x = leaf(3), constant = tensor({2.0}, Dtype::f64);
  Lines lines;
  {
    Recorder recorder(lines);
    const ObserverScope scope(recorder);
    negative(x * constant).backward();
  }
  CHECK(lines == Lines{"begin multiply of 2", "end multiply [1] recorded", "begin negative of 1",
                       "end negative [1] recorded", "back negative [1]", "begin negative of 1",
                       "end negative [1]", "done negative 1", "back multiply [1]",
                       "begin multiply of 2", "end multiply [1]", "done multiply 2",
                       "leaf has -2"});
  negative(x).backward();
  CHECK(lines.size() == 13);  // the recorder is detached
}

TEST_CASE("an observer receives the accumulated gradient of a leaf, not the last part") {
  const Tensor x = leaf(3);
  Lines lines;
  (x * 2.0).backward();
  const Tensor y = x * 5.0;
  {
    Recorder recorder(lines);
    const ObserverScope scope(recorder);
    y.backward();
  }
  CHECK(lines.back() == "leaf has 7");
}

TEST_CASE("observers work under NoGrad") {
  const Tensor x = leaf(3);
  Lines lines;
  Recorder recorder(lines);
  const ObserverScope scope(recorder);
  const NoGrad off;
  exp(x);
  CHECK(lines == Lines{"begin exp of 1", "end exp [1]"});
}

TEST_CASE("several observers are called in the order of their attachment") {
  Lines lines;
  Recorder first(lines, "1 "), second(lines, "2 ");
  const Tensor x = tensor({1.0});
  const ObserverScope outer(first);
  {
    const ObserverScope inner(second);
    exp(x);
  }
  exp(x);
  CHECK(lines == Lines{"1 begin exp of 1", "2 begin exp of 1", "1 end exp [1]", "2 end exp [1]",
                       "1 begin exp of 1", "1 end exp [1]"});
}

TEST_CASE("an observer is attached to a thread at most once") {
  Lines lines;
  Recorder recorder(lines);
  const ObserverScope scope(recorder);
  CHECK_THROWS_AS(ObserverScope(recorder), ValueError);
  exp(tensor({1.0}));
  CHECK(lines.size() == 2);
  Lines others;
  Recorder other(others);
  const ObserverScope inner(other);
  // The recorder is already attached, and another observer was attached after it.
  CHECK_THROWS_AS(ObserverScope(recorder), ValueError);
}

TEST_CASE("an operation that throws has a begin event and no end event") {
  Lines lines;
  {
    Recorder recorder(lines);
    const ObserverScope scope(recorder);
    CHECK_THROWS_AS(sum(tensor({1.0}), {7}), IndexError);
    CHECK_THROWS_AS(tensor({1.0, 2.0}) * tensor({1.0, 2.0, 3.0}), ShapeError);
  }
  for (const std::string& line : lines) CHECK(!has(line, "end"));
}

TEST_CASE("scopes have paths, and a scope that is not a child keeps its caller's path") {
  Lines lines;
  Recorder recorder(lines);
  const ObserverScope observing(recorder);
  const Box inner("Inner"), model("Model", &inner), stranger("Stranger");
  CHECK(current_context() == "");
  {
    const Scope root(model);
    CHECK(root.path() == "");
    CHECK(current_context() == "Model");
    const Scope child(inner);
    CHECK(child.path() == "inner");
    CHECK(child.outer() == &root);
    CHECK(&child.owner() == &inner);
    CHECK(current_context() == "Model inner");
    const Scope other(stranger);
    CHECK(other.path() == "inner");
    const std::string message = message_of<ValueError>([] { fail<ValueError>("wrong"); });
    CHECK(message == "wrong (in Model inner)");
  }
  CHECK(current_context() == "");
  CHECK(lines == Lines{"into ''", "into 'inner'", "into 'inner'", "out of 'inner'",
                       "out of 'inner'", "out of ''"});
}

TEST_CASE("on_op_begin runs before the node exists, and on_op_end runs after") {
  struct Looker : Observer {
    const Node* node = nullptr;
    const Op* at_end = nullptr;
    void on_op_end(const Op& op, std::span<const Tensor* const>, const Tensor& y) override {
      node = y.node().get();
      at_end = &op;
    }
  } looker;
  const ObserverScope scope(looker);
  const Tensor y = exp(leaf(1));
  CHECK(looker.node == y.node().get());
  CHECK(looker.at_end == y.node()->op);
}

TEST_CASE("an observer receives the events of a nested backward pass") {
  const Tensor x = leaf(2);
  Lines lines;
  Recorder recorder(lines);
  const Tensor y = x * 1.0;
  y.register_hook([&](const Tensor&) {
    const GradMode on(true);
    return grad(sum(x * 5.0), x);
  });
  const ObserverScope scope(recorder);
  sum(y).backward();
  CHECK(lines.front() == "begin sum of 1");
  CHECK(lines.back() == "leaf has 5");
}

TEST_CASE("addition reuses a temporary unless an observer reads values") {
  struct Hears final : Observer {
    bool reads;
    explicit Hears(bool r) : reads(r) {}
    bool reads_values() const override { return reads; }
  };
  const Tensor a = tensor({1.0, 2.0});
  const auto in_place = [&] {
    Tensor b = ones({2});
    const Storage* const own = b.storage().get();
    return (a + std::move(b)).storage().get() == own;
  };
  CHECK(in_place());
  Hears reads(true), skips(false);
  const ObserverScope outer(skips);
  CHECK(in_place());
  const ObserverScope inner(reads);
  CHECK_FALSE(in_place());
}

TEST_CASE("an observer receives a gradient before its addition to the leaf") {
  struct Hears final : Observer {
    std::vector<double> values;
    void on_leaf_grad(const Node& leaf, const Tensor& dy) override {
      const Tensor& before = leaf.extra_or_null()->grad;
      values.push_back(dy.item());
      values.push_back(before.defined() ? before.item() : 0);
    }
  } addition_recorder;
  const Tensor x = leaf(2);
  const ObserverScope scope(addition_recorder);
  sum(x * 3.0).backward();
  sum(x * 5.0).backward();
  CHECK(addition_recorder.values == std::vector<double>{3, 0, 5, 3});
}

namespace {

struct Counts : Observer {
  std::atomic<int> begun{0};
  void on_op_begin(const Op&, std::span<const Tensor* const>) override { ++begun; }
};

}  // namespace

TEST_CASE("an observer receives no events of operations inside a parallel loop") {
  for (const int threads : {1, 2}) {
    const tests::Threads team(threads);
    Counts counts;
    const ObserverScope scope(counts);
    const Tensor x = ones({2});
    const int before = counts.begun;
    parallel_for(8, 1, [&](std::int64_t, std::int64_t) { static_cast<void>(x * 2.0); });
    parallel_for(1, 1, [&](std::int64_t, std::int64_t) { static_cast<void>(x * 2.0); });
    CHECK(counts.begun == before);
    static_cast<void>(x * 2.0);
    CHECK(counts.begun == before + 1);
  }
}

TEST_CASE("observer scopes may end in any order") {
  Counts first, second;
  auto a = std::make_unique<ObserverScope>(first);
  auto b = std::make_unique<ObserverScope>(second);
  const Tensor x = ones({2});
  const int before_first = first.begun, before_second = second.begun;
  a.reset();
  static_cast<void>(x * 2.0);
  CHECK(first.begun == before_first);
  CHECK(second.begun == before_second + 1);
  b.reset();
  static_cast<void>(x * 2.0);
  CHECK(second.begun == before_second + 1);
}

TEST_CASE("an observer receives the start, additions and end of a backward pass") {
  struct Walks final : Observer {
    int begun = 0, ended = 0;
    std::vector<double> starts, sums;
    void on_walk_begin(std::span<const Tensor> outputs, bool create_graph) override {
      CHECK(outputs.size() == 1);
      CHECK_FALSE(create_graph);
      ++begun;
    }
    void on_grad_seed(const Node&, const Tensor& dy) override { starts.push_back(dy.item()); }
    void on_grad_accumulate(const Node&, std::size_t, const Tensor& sum) override {
      sums.push_back(sum.item());
    }
    void on_walk_end() noexcept override { ++ended; }
  } walks;
  const ObserverScope scope(walks);
  const Tensor x = leaf(3);
  (x * x).backward();
  CHECK(walks.starts == std::vector<double>{1});
  CHECK(walks.sums == std::vector<double>{3, 6});
  const Tensor y = negative(leaf(3));
  y.register_hook([](const Tensor&) -> Tensor { fail<ValueError>("on purpose"); });
  CHECK_THROWS_AS(y.backward(), ValueError);
  CHECK(walks.begun == 2);
  CHECK(walks.ended == 2);  // includes the pass that threw
}

TEST_CASE("current_context names both the layer and the op whose backward runs") {
  struct ContextReader : Observer {
    std::string context;
    void on_op_begin(const Op&, std::span<const Tensor* const>) override {
      context = current_context();
    }
  } reader;
  const Box layer("Layer");
  const Tensor y = negative(leaf(3));
  const Scope scope(layer);
  const ObserverScope observing(reader);
  y.backward();
  CHECK(has(reader.context, "Layer"));
  CHECK(has(reader.context, "backward of negative"));
}

}  // namespace gradus::testing::test_observer
