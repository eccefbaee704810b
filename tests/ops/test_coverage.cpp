// No operation without a sample: every Op class of ops/ that has a backward is reached, both ways,
// and every branch on who wants a gradient is taken while the results are held against the oracle.
#include <cctype>
#include <compare>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "gradus/engine/grad_mode.h"
#include "gradus/engine/node.h"
#include "gradus/engine/observer.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/oracle.h"
#include "gradus/tests/support/registry_run.h"

namespace gradus::testing {
namespace {

struct Names : Observer {
  std::set<std::string> forward, backward;
  void op_end(const Op& op, std::span<const Tensor* const>, const Tensor&) override {
    forward.insert(op.name());
  }
  void backward_end(const Node& node, const Gradients&) override { backward.insert(node.name()); }
};

/// Who wanted a gradient in the backward of an op, and was the walk recorded?
struct Asked {
  std::string op;
  int input;
  bool wanted, recorded;
  auto operator<=>(const Asked&) const = default;
};

struct Branches : Observer {
  std::set<Asked> taken;
  void backward_begin(const Node& node, const Tensor&) override {
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      taken.insert({node.name(), static_cast<int>(i), bool(node.inputs[i]), GradMode::enabled()});
  }
};

/// What stands between quotes in a line.
std::vector<std::string> between_quotes(const std::string& line) {
  std::vector<std::string> found;
  std::size_t open = line.find('"');
  while (open != std::string::npos) {
    const std::size_t close = line.find('"', open + 1);
    if (close == std::string::npos) break;
    found.push_back(line.substr(open + 1, close - open - 1));
    open = line.find('"', close + 1);
  }
  return found;
}

struct Operation {
  std::string type;                // "Softmax", and the file
  std::vector<std::string> names;  // what its name() may return
  bool differentiable = false;     // has a backward
  std::set<int> asks = {};         // inputs i of which it asks wants(i)
};

/// The classes derived from Op in a source, found by how the tree is written: from
/// `struct X final : Op {` to `};` at the same place, with name() on a line of its own. A template
/// is no operation: what it says holds for those that are derived from it.
std::vector<Operation> operations(std::istream& source, const std::string& file) {
  std::vector<Operation> found;
  std::map<std::string, Operation> skeletons;  // by name
  bool inside = false;
  std::string before, skeleton;
  for (std::string line; std::getline(source, line); before = line) {
    if (line.rfind("struct ", 0) == 0 && line.find(" : ") != std::string::npos) {
      const std::string name = line.substr(7, line.find(' ', 7) - 7);
      const std::string base = line.substr(line.find(" : ") + 3);
      found.push_back({name + " in " + file, {}, false, {}});
      if (const auto at = skeletons.find(base.substr(0, base.find('<'))); at != skeletons.end()) {
        found.back().differentiable = at->second.differentiable;
        found.back().asks = at->second.asks;
      }
      skeleton = before.rfind("template ", 0) == 0 ? name : "";
      inside = true;
    }
    if (line == "};" && inside && !skeleton.empty()) {
      skeletons[skeleton] = found.back();
      found.pop_back();
    }
    if (line == "};") inside = false;
    if (!inside) continue;
    if (line.find(" name() const override") != std::string::npos)
      for (std::string& name : between_quotes(line)) found.back().names.push_back(std::move(name));
    if (line.find("Gradients backward(") != std::string::npos) found.back().differentiable = true;
    for (std::size_t at = line.find("wants("); at != std::string::npos;
         at = line.find("wants(", at + 1))
      if (std::isdigit(static_cast<unsigned char>(line[at + 6])))
        found.back().asks.insert(line[at + 6] - '0');
  }
  return found;
}

std::vector<Operation> all_operations() {
  std::vector<Operation> all;
  const std::filesystem::path ops = std::filesystem::path(GRADUS_SOURCE_DIR) / "ops";
  for (const auto& entry : std::filesystem::directory_iterator(ops)) {
    if (entry.path().extension() != ".cpp") continue;
    std::ifstream source(entry.path());
    for (Operation& op : operations(source, entry.path().filename().string()))
      all.push_back(std::move(op));
  }
  return all;
}

}  // namespace

TEST_CASE("registry: an op is found in a source") {
  std::istringstream source(
      "struct Down final : Op {\n"
      "  const char* name() const override { return low ? \"floor\" : \"trunc\"; }\n"
      "  Gradients backward(const Tensor&, const Wanted& wants) override {\n"
      "    return {wants(0) ? a : b, wants(2) ? a : b};\n"
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
  CHECK(found[0].asks == std::set<int>{0, 2});
  CHECK(!found[1].differentiable);
}

TEST_CASE("registry: what a template says holds for the ops that are derived from it") {
  std::istringstream source(
      "template <class Self>\n"
      "struct Step : Unary<Self> {\n"
      "  Gradients backward(const Tensor& dy, const Wanted& wants) override { return {wants(0)}; "
      "}\n"
      "};\n"
      "struct Floor final : Step<Floor> {\n"
      "  const char* name() const override { return \"floor\"; }\n"
      "};\n");
  const std::vector<Operation> found = operations(source, "x.cpp");
  REQUIRE(found.size() == 1);
  CHECK(found[0].type == "Floor in x.cpp");
  CHECK(found[0].differentiable);
  CHECK(found[0].asks == std::set<int>{0});
}

TEST_CASE("registry: a sample reaches the op that it names") {
  for (const Sample& sample : all_samples()) {
    INFO(sample.op << ": " << sample.what);
    Names reached;
    const ObserverScope scope(reached);
    run(sample);
    CHECK(reached.forward.count(sample.op) == 1);
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
  CHECK(count >= 50);  // the scan does find them
}

TEST_CASE("registry: every wants(i) of a backward was true and false under the oracle") {
  Branches branches;
  {
    const ObserverScope scope(branches);
    for (const Sample& sample : all_samples()) REQUIRE(run_oracle(sample) == "");
  }
  std::size_t count = 0;
  for (const Operation& op : all_operations())
    for (const std::string& name : op.names)
      for (const int input : op.asks)
        for (const bool wanted : {false, true})
          for (const bool recorded : {false, true}) {
            if (name == "rms_norm" && input == 2) continue;  // no bias: layer_norm's input
            CAPTURE(op.type, name, input, wanted, recorded);
            CHECK(branches.taken.count({name, input, wanted, recorded}) == 1);
            ++count;
          }
  CHECK(count >= 100);
}

}  // namespace gradus::testing
