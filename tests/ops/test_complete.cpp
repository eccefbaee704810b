// Checks that each public function and layer has samples, mistakes, and a documented convention at
// kinks.
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "gradus/engine/base/random.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/mistakes.h"
#include "gradus/tests/support/registry_run.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing::test_complete {
namespace {

using Names = std::set<std::string>;

std::string contents(const std::string& path) {
  std::ifstream file(std::filesystem::path(GRADUS_SOURCE_DIR) / path);
  REQUIRE(file);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

Names matches(const std::string& source, const char* pattern) {
  const std::regex regex(pattern, std::regex::ECMAScript | std::regex::multiline);
  Names found;
  for (std::sregex_iterator at(source.begin(), source.end(), regex), end; at != end; ++at)
    found.insert((*at)[1]);
  return found;
}

/// Returns the functions that return tensors, except operators.
Names functions_in(const std::string& header) {
  return matches(header, R"re(^(?:inline )?(?:Tensor|AttentionOutput|SortResult|ValueAnd\w+|)re"
                         R"re(std::vector<Tensor>) (\w+)\()re");
}

/// Leaves out create.h, because its functions return leaves.
Names public_functions() {
  Names found;
  for (const std::string& header :
       matches(contents("ops/ops.h") + contents("ops/arithmetic.h"),
               R"re(#include "gradus/((?:ops|engine/broadcast)[\w/]*\.h)")re"))
    found.merge(functions_in(contents(header)));
  return found;
}

/// Returns the layers of nn/ and the models that have a forward, including those of the
/// applications.
Names public_layers() {
  Names found;
  for (const std::string header :
       {"examples/apps/listen/listener.h", "examples/apps/recommend/recommender.h"})
    for (const std::string& name : matches(contents(header), R"(^class (\w+) : public nn::Layer<)"))
      found.insert("examples::" + name);
  for (const std::string component : {"nn/", "nn/extras/", "nn/models/"})
    for (const auto& entry : std::filesystem::directory_iterator(
             std::filesystem::path(GRADUS_SOURCE_DIR) / component)) {
      if (entry.path().extension() != ".h") continue;
      const std::string source = contents(component + entry.path().filename().string());
      for (const std::string& name : matches(source, R"(^class (\w+) : public Layer<)"))
        if (source.find(" forward(") != std::string::npos) found.insert("nn::" + name);
    }
  return found;
}

const std::vector<std::int64_t> kPlaces = {0, 3};

std::map<std::string, std::function<Tensor(const Tensor&)>> without_gradient() {
  using T = const Tensor&;
  return {
      {"equal", [](T x) { return equal(x, x); }},
      {"not_equal", [](T x) { return not_equal(x, 0.5); }},
      {"less", [](T x) { return less(x, x); }},
      {"less_equal", [](T x) { return less_equal(x, 0.5); }},
      {"greater", [](T x) { return greater(x, x); }},
      {"greater_equal", [](T x) { return greater_equal(x, 0.5); }},
      {"logical_and", [](T x) { return logical_and(x > 0, x > 1); }},
      {"logical_or", [](T x) { return logical_or(x > 0, x > 1); }},
      {"logical_xor", [](T x) { return logical_xor(x > 0, x > 1); }},
      {"logical_not", [](T x) { return logical_not(x > 0); }},
      {"isfinite", [](T x) { return isfinite(x); }},
      {"isnan", [](T x) { return isnan(x); }},
      {"all", [](T x) { return all(x > 0, 0); }},
      {"any", [](T x) { return any(x > 0, 0); }},
      {"one_hot", [](T x) { return one_hot(argmax(x, 0), 5); }},
      {"argmax", [](T x) { return argmax(x, 0); }},
      {"argmin", [](T x) { return argmin(x, 0); }},
      {"argsort", [](T x) { return argsort(x); }},
      {"multinomial", [](T x) { return multinomial(square(x), 2); }},
      {"position_distances", [](T) { return position_distances(kPlaces, kPlaces); }},
      {"alibi_slopes", [](T) { return alibi_slopes(3); }},
      {"alibi_bias", [](T) { return alibi_bias(3, kPlaces, kPlaces); }},
      {"orthogonal_projection", [](T) { return orthogonal_projection(3, 2, Generator(7).next()); }},
      {"unpack",
       [](T x) {
         return unpack(pack(reshape(to(x.detach(), Dtype::f32), {1, -1}), Precision::bf16));
       }},
      {"relative_buckets", [](T) { return relative_buckets(kPlaces, kPlaces); }},
  };
}

/// Functions with a kink, a tie, a gradient that stops by definition, or masked inputs. Their
/// samples without finite differences test the convention.
const Names kWithConvention = {"relu",
                               "leaky_relu",
                               "elu",
                               "abs",
                               "clamp",
                               "floor",
                               "round",
                               "sign",
                               "pow",
                               "maximum",
                               "max",
                               "minimum",
                               "min",
                               "norm",
                               "sort",
                               "topk",
                               "embedding",
                               "l1_loss",
                               "huber_loss",
                               "nn::Embedding",
                               "scaled_dot_product_attention",
                               "attention_entropy",
                               "linear_attention",
                               "performer_attention"};

Names sampled(bool (*which)(const Sample&)) {
  Names found;
  for (const Sample& sample : all_samples())
    if (which(sample)) found.insert(function_of(sample));
  return found;
}

Names without(Names a, const Names& b) {
  for (const std::string& name : b) a.erase(name);
  return a;
}

Names differentiable_functions() {
  Names all = public_functions();
  for (const auto& [name, f] : without_gradient()) all.erase(name);
  all.merge(public_layers());
  return all;
}

}  // namespace

TEST_CASE("registry: declarations are found in a header") {
  CHECK(functions_in("Tensor relu(const Tensor& x);\n"
                     "inline Tensor twice(const Tensor& x) { return x + x; }\n"
                     "Tensor operator/(double c, const Tensor& x);\n"
                     "struct SortResult {\n  Tensor values(int);\n};\n"
                     "SortResult sort(const Tensor& x);\n"
                     "bool all(const Tensor& x);\n") == Names{"relu", "twice", "sort"});
  CHECK(public_functions().size() >= 100);
  CHECK(public_layers().count("nn::MultiHeadAttention") == 1);
  CHECK(public_layers().count("nn::ModuleList") == 0);
}

TEST_CASE("registry: each public function and layer has samples") {
  const Names have = sampled([](const Sample&) { return true; });
  CHECK(without(differentiable_functions(), have) == Names{});
  CHECK(without(have, differentiable_functions()) == Names{});
}

TEST_CASE("registry: functions without gradient return tensors that require none") {
  const Names all = public_functions();
  const Tensor x = values({3, 5}).requires_grad_();
  for (const auto& [name, f] : without_gradient()) {
    INFO(name);
    CHECK(all.count(name) == 1);
    CHECK(!f(x).requires_grad());
  }
}

TEST_CASE("registry: each public function and layer has second derivatives") {
  const Names have = sampled([](const Sample& sample) { return sample.second; });
  CHECK(without(differentiable_functions(), have) == Names{});
}

TEST_CASE("registry: functions with kinks and ties have a documented convention") {
  CHECK(sampled([](const Sample& sample) { return !sample.differences; }) == kWithConvention);
}

TEST_CASE("registry: each public function and layer rejects mistakes and reports the reason") {
  Names have;
  for (const Mistake& mistake : all_mistakes()) {
    INFO(mistake.function);
    have.insert(mistake.function);
    const std::string recording = message_of<Error>(mistake.make);
    for (const std::string& noun : mistake.nouns) {
      CHECK(has(recording, noun));
      if (noun == "undefined" && !mistake.function.starts_with("nn::"))
        CHECK_THROWS_AS(mistake.make(), ValueError);
      if (noun == "f32" || noun == "f64" || noun == "i64")
        CHECK_THROWS_AS(mistake.make(), DtypeError);
    }
    const NoGrad quiet;
    CHECK(message_of<Error>(mistake.make) == recording);
  }
  CHECK(without(differentiable_functions(), have) == Names{});
  CHECK(without(have, differentiable_functions()) == Names{});
}

}  // namespace gradus::testing::test_complete
