// Checks that every Op class with a backward has a sample. Also checks that each needs_grad(i)
// returns both true and false while the oracle runs the samples.
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gradus/engine/grad_mode.h"
#include "gradus/engine/node.h"
#include "gradus/engine/observer.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/operations.h"
#include "gradus/tests/support/oracle.h"
#include "gradus/tests/support/registry_run.h"

namespace gradus::testing::test_coverage {
namespace {

struct Names : Observer {
  std::set<std::string> forward, backward;
  void on_op_end(const Op& op, std::span<const Tensor* const>, const Tensor&) override {
    forward.insert(op.name());
  }
  void on_backward_end(const Node& node, const Gradients&) override {
    backward.insert(node.name());
  }
};

struct Asked {
  std::string op;
  int input;
  bool wanted, recorded;
  bool operator<(const Asked& other) const {
    return std::tie(op, input, wanted, recorded) <
           std::tie(other.op, other.input, other.wanted, other.recorded);
  }
};

struct Branches : Observer {
  std::set<Asked> taken;
  void on_backward_begin(const Node& node, const Tensor&) override {
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      taken.insert({node.name(), static_cast<int>(i), bool(node.inputs[i]), GradMode::enabled()});
  }
};

}  // namespace

TEST_CASE("registry: the parser finds an op in a source") {
  std::istringstream source(
      "struct Down final : Op {\n"
      "  const char* name() const override { return low ? \"floor\" : \"trunc\"; }\n"
      "  Gradients backward(const Tensor&, const NeedsGrad& needs_grad) override {\n"
      "    return {needs_grad(0) ? a : b, needs_grad(2) ? a : b};\n"
      "  }\n"
      "};\n"
      "struct Equal final : Op {\n"
      "  const char* name() const override { return \"equal\"; }\n"
      "};\n");
  const std::vector<Operation> found = operations(source, "x.cpp");
  REQUIRE(found.size() == 2);
  CHECK(found[0].type == "Down in x.cpp");
  CHECK(found[0].names == std::vector<std::string>{"floor", "trunc"});
  CHECK(found[0].differentiable);
  CHECK(found[0].needs_grad_calls == std::set<int>{0, 2});
  CHECK(!found[1].differentiable);
}

TEST_CASE("registry: the parser applies a base template to derived ops") {
  std::istringstream source(
      "template <class Self>\n"
      "struct Step : Unary<Self> {\n"
      "  Gradients backward(const Tensor& dy, const NeedsGrad& needs_grad) override { return "
      "{needs_grad(0)}; "
      "}\n"
      "};\n"
      "struct Floor final : Step<Floor> {\n"
      "  const char* name() const override { return \"floor\"; }\n"
      "};\n");
  const std::vector<Operation> found = operations(source, "x.cpp");
  REQUIRE(found.size() == 1);
  CHECK(found[0].type == "Floor in x.cpp");
  CHECK(found[0].differentiable);
  CHECK(found[0].needs_grad_calls == std::set<int>{0});
}

/// Returns the name of the op that `function` records.
std::string recorded_as(const std::string& function) {
  static const std::map<std::string, std::string> others = {
      {"batch_norm", "layer_norm"}, {"contiguous", "clone"}, {"select", "slice"},
      {"transpose", "permute"},     {"tril", "masked_fill"}, {"triu", "masked_fill"}};
  const auto at = others.find(function);
  return at == others.end() ? function : at->second;
}

TEST_CASE("registry: each sample runs the op that it names") {
  for (const Sample& sample : all_samples()) {
    INFO(sample.op << ": " << sample.what);
    Names reached;
    const ObserverScope scope(reached);
    run(sample);
    CHECK(reached.forward.count(recorded_as(sample.op)) == 1);
  }
}

TEST_CASE("registry: every op with a backward has a sample") {
  Names reached;
  {
    const ObserverScope scope(reached);
    for (const Sample& sample : all_samples()) run(sample);
    const FormulaScope formula;
    for (const Sample& sample : all_samples()) run(sample);
  }
  std::size_t count = 0;
  for (const Operation& op : all_operations()) {
    if (!op.differentiable) continue;
    INFO(op.type);
    CHECK(!op.names.empty());
    for (const std::string& name : op.names) {
      CAPTURE(name);
      CHECK(reached.forward.count(name) == 1);
      CHECK(reached.backward.count(name) == 1);
      ++count;
    }
  }
  CHECK(count >= 50);
}

TEST_CASE("registry: every needs_grad(i) of a backward is true and false under the oracle",
          "[once]") {
  Branches branches;
  {
    const ObserverScope scope(branches);
    for (const Sample& sample : all_samples()) REQUIRE(run_oracle(sample) == "");
  }
  std::size_t count = 0;
  for (const Operation& op : all_operations())
    for (const std::string& name : op.names)
      for (const int input : op.needs_grad_calls)
        for (const bool wanted : {false, true})
          for (const bool recorded : {false, true}) {
            if (name == "rms_norm" && input == 2) continue;  // has no bias
            CAPTURE(op.type, name, input, wanted, recorded);
            CHECK(branches.taken.count({name, input, wanted, recorded}) == 1);
            ++count;
          }
  CHECK(count >= 50);
}

}  // namespace gradus::testing::test_coverage
