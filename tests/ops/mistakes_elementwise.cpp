#include <string>
#include <utility>

#include <cmath>

#include "gradus/ops/activation.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/logic.h"
#include "gradus/ops/members.h"
#include "gradus/tests/support/mistakes.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing {
namespace {

using One = Tensor (*)(const Tensor&);
using Two = Tensor (*)(const Tensor&, const Tensor&);

Tensor int_values() { return indices({1, 2, 3}); }

void add_functions(Mistakes& all) {
  const std::pair<const char*, One> functions[] = {
      {"square", square},
      {"exp", exp},
      {"expm1", expm1},
      {"log", log},
      {"log1p", log1p},
      {"sqrt", sqrt},
      {"rsqrt", rsqrt},
      {"reciprocal", reciprocal},
      {"sin", sin},
      {"cos", cos},
      {"tanh", tanh},
      {"sigmoid", sigmoid},
      {"erf", erf},
      {"abs", abs},
      {"floor", floor},
      {"round", round},
      {"sign", sign},
      {"relu", relu},
      {"softplus", softplus},
      {"silu", silu},
      {"leaky_relu", [](const Tensor& x) { return leaky_relu(x); }},
      {"elu", [](const Tensor& x) { return elu(x); }},
      {"gelu", [](const Tensor& x) { return gelu(x); }},
      {"glu", [](const Tensor& x) { return glu(x); }},
      {"pow", [](const Tensor& x) { return pow(x, 2); }},
  };
  for (const auto& [name, f] : functions) {
    const bool takes_i64 = std::string(name) == "abs" || std::string(name) == "clamp";
    if (std::string(name) != "glu" && !takes_i64)
      all.push_back({name, {"f32", "f64", "i64"}, [f = f] { f(int_values()); }});
    all.push_back({name, {"undefined"}, [f = f] { f(Tensor()); }});
  }
}

void add_pairs(Mistakes& all) {
  const std::pair<const char*, Two> functions[] = {
      {"add", add},
      {"subtract", subtract},
      {"multiply", multiply},
      {"divide", divide},
      {"maximum", maximum},
      {"minimum", minimum},
      {"pow", [](const Tensor& a, const Tensor& b) { return pow(a, b); }},
      {"swiglu", swiglu},
  };
  for (const auto& [name, f] : functions) {
    if (std::string(name) != "swiglu")
      all.push_back({name, {"[3, 5]", "[2]"}, [f = f] { f(values({3, 5}), values({2})); }});
    all.push_back({name, {"[3]", "f64"}, [f = f] { f(values({3}), values({3}).to(Dtype::f32)); }});
    all.push_back({name, {"undefined"}, [f = f] { f(values({3}), Tensor()); }});
  }
}

void add_others(Mistakes& all) {
  all.push_back({"scale", {"i64", "0.5"}, [] { scale(int_values(), 0.5); }});
  all.push_back({"shift", {"i64", "0.5"}, [] { shift(int_values(), 0.5); }});
  all.push_back({"clamp", {"clamp", "i64", "0.5"}, [] { clamp(int_values(), 0.5, 2); }});
  all.push_back({"abs", {"f32", "f64"}, [] { abs(int_values() > 0); }});
  all.push_back({"negative", {"f32", "f64"}, [] { negative(int_values() > 0); }});
  all.push_back({"swiglu", {"[3, 5]", "[2]"}, [] { swiglu(values({3, 5}), values({2})); }});
  all.push_back({"clamp", {"clamp", "-1", "1"}, [] { clamp(values({3}), 1, -1); }});
  all.push_back({"glu", {"glu", "[2, 3]", "1"}, [] { glu(values({2, 3})); }});
  all.push_back({"sum_to", {"sum_to", "[2, 3]", "[2, 1, 3]"}, [] {
                   sum_to(values({2, 3}), {2, 1, 3});
                 }});
  all.push_back({"sum_to", {"sum_to", "[2, 3]", "[2]"}, [] { sum_to(values({2, 3}), {2}); }});
  all.push_back({"sum_to", {"[1, 3]", "[2, 3]"}, [] { sum_to(values({1, 3}), {2, 3}); }});
  all.push_back({"clamp", {"clamp", "nan"}, [] { clamp(values({3}), std::nan(""), 1); }});
  all.push_back({"glu", {"glu", "2"}, [] { glu(values({2, 2}), 2); }});
  all.push_back({"to", {"to", "undefined"}, [] { to(Tensor(), Dtype::f32); }});
  all.push_back(
      {"where", {"where", "[3]", "bool"}, [] { where(values({3}), values({3}), values({3})); }});
  all.push_back({"where", {"where", "undefined"}, [] { where(values({3}) > 0, Tensor(), 1.0); }});
  all.push_back({"where", {"where", "[3]", "f64"}, [] {
                   where(values({3}) > 0, values({3}), values({3}).to(Dtype::f32));
                 }});
  all.push_back({"masked_fill", {"masked_fill", "undefined"}, [] {
                   masked_fill(Tensor(), values({3}) > 0, 0);
                 }});
  all.push_back(
      {"where", {"where", "[3]", "[2]"}, [] { where(values({3}) > 0, values({3}), values({2})); }});
  all.push_back({"masked_fill", {"masked_fill", "[3]", "bool"}, [] {
                   masked_fill(values({3}), values({3}), 0);
                 }});
  all.push_back({"masked_fill", {"masked_fill", "[2, 3]", "[3]"}, [] {
                   masked_fill(values({3}), values({2, 3}) > 0, 0);
                 }});
}

}  // namespace

Mistakes elementwise_mistakes() {
  Mistakes all;
  add_functions(all);
  add_pairs(all);
  add_others(all);
  return all;
}

}  // namespace gradus::testing
