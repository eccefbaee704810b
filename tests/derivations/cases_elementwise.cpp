// Cases of elementwise ops, and of ops that move no element.
#include "gradus/engine/accumulate.h"
#include "gradus/engine/base/random.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/derivations/trial.h"

namespace gradus::derivations {
namespace {

using In = const Given&;

template <class F>
Case unary(const char* name, F f, const char* x = "x_i") {
  return {name, std::string("i:7,5,6 ") + x, [f](In in) { return f(in("x")); }};
}

#define GRADUS_UNARY(name, x) \
  unary(                      \
      #name, [](const Tensor& input) { return name(input); }, x)

std::vector<Case> of_one() {
  return {
      GRADUS_UNARY(exp, "x_i"),
      GRADUS_UNARY(expm1, "x_i"),
      GRADUS_UNARY(log, "x_i>0"),
      GRADUS_UNARY(log1p, "x_i>0"),
      GRADUS_UNARY(sin, "x_i"),
      GRADUS_UNARY(cos, "x_i"),
      GRADUS_UNARY(tanh, "x_i"),
      GRADUS_UNARY(sigmoid, "x_i"),
      GRADUS_UNARY(erf, "x_i"),
      GRADUS_UNARY(square, "x_i"),
      GRADUS_UNARY(sqrt, "x_i>0"),
      GRADUS_UNARY(rsqrt, "x_i>0"),
      GRADUS_UNARY(reciprocal, "x_i"),
      GRADUS_UNARY(abs, "x_i"),
      GRADUS_UNARY(floor, "x_i"),
      GRADUS_UNARY(round, "x_i"),
      GRADUS_UNARY(sign, "x_i"),
      GRADUS_UNARY(relu, "x_i"),
      GRADUS_UNARY(softplus, "x_i"),
      GRADUS_UNARY(silu, "x_i"),
      GRADUS_UNARY(clone, "x_i"),
      unary("negative", [](const Tensor& x) { return -x; }),
      unary("gelu_erf", [](const Tensor& x) { return gelu(x); }),
      unary("gelu", [](const Tensor& x) { return gelu(x, Gelu::tanh); }),
      unary("to", [](const Tensor& x) { return to(x, Dtype::f32); }),
  };
}

/// Sets z to dropout's mask for x, drawn from the same seed.
void draw_mask(Given& given) {
  seed(3);
  given.tensors["z"] =
      dropout(ones(given("x").shape(), Dtype::f64), given.number("p")) * (1 - given.number("p"));
}

std::vector<Case> with_numbers() {
  return {
      {"pow", "x_i>0 c=2.5", [](In in) { return pow(in("x"), in.number("c")); }},
      {"clamp", "i:7,9,6 x_i low=-0.8 high=0.9",
       [](In in) { return clamp(in("x"), in.number("low"), in.number("high")); }},
      {"leaky_relu", "i:7,5,6 x_i a=0.1",
       [](In in) { return leaky_relu(in("x"), in.number("a")); }},
      {"elu", "i:7,5,6 x_i a=1.3", [](In in) { return elu(in("x"), in.number("a")); }},
      {"scale", "x_i c=2.5", [](In in) { return in("x") * in.number("c"); }},
      {"shift", "x_i c=2.5", [](In in) { return in("x") + in.number("c"); }},
      {"dropout", "i:9,7,8 x_i p=0.4",
       [](In in) {
         seed(3);
         return dropout(in("x"), in.number("p"));
       },
       "", draw_mask},
  };
}

std::vector<Case> of_two() {
  return {
      {"add", "a_ij b_j", [](In in) { return in("a") + in("b"); }},
      {"subtract", "a_ij b_j", [](In in) { return in("a") - in("b"); }},
      {"multiply", "a_ij b_j", [](In in) { return in("a") * in("b"); }},
      {"divide", "a_ij b_j", [](In in) { return in("a") / in("b"); }},
      {"power", "x_ij>0 e_j", [](In in) { return pow(in("x"), in("e")); }},
      {"maximum", "a_ij b_ij", [](In in) { return maximum(in("a"), in("b")); }},
      {"minimum", "a_ij b_ij", [](In in) { return minimum(in("a"), in("b")); }},
      {"swiglu", "g_i x_i", [](In in) { return swiglu(in("g"), in("x")); }},
      {"where", "a_ij b_j c_ij?", [](In in) { return where(in("c"), in("a"), in("b")); }},
      {"masked_fill", "x_ij m_ij? value=1.5",
       [](In in) { return masked_fill(in("x"), in("m"), in.number("value")); }},
      {"checkpoint", "x_i",
       [](In in) { return checkpoint([](const Tensor& x) { return square(tanh(x)); }, in("x")); }},
      {"accumulate", "a_i b_i",
       [](In in) {
         Tensor sum = in("a");
         accumulate(sum, sum.shape(), sum.dtype(), in("b"), true);
         return sum;
       }},
  };
}

}  // namespace

std::vector<Case> elementwise_cases() {
  std::vector<Case> all = of_one();
  for (const auto family : {with_numbers, of_two})
    for (Case& each : family()) all.push_back(std::move(each));
  return all;
}

}  // namespace gradus::derivations
