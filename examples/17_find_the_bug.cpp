// Lesson 17: find the bug: six backward passes, five of them wrong.
//
//   finite differences   ∂f/∂x_i ≈ (f(x + h e_i) − f(x − h e_i)) / 2h
//   check::vjp           compares a backward pass with them, and names a likely cause

#include "gradus/examples/apps/support/lesson.h"
#include "gradus/gradus.h"

using namespace gradus;
using check::Tensors;
using examples::expect;

namespace {

struct Suspect {
  const char *name, *line;  // the function, and its backward pass as a formula
  check::Function forward;
  check::Vjp backward;
  Tensors inputs;
  std::string cause;  // expected cause; "" if correct
};

Tensor softmax_of(const Tensors& in) { return softmax(in[0]); }
Tensor matmul_of(const Tensors& in) { return matmul(in[0], in[1]); }
Tensor mean_of(const Tensors& in) { return mean(in[0], {-1}); }
Tensor embedding_of(const Tensors& in) { return embedding(in[0], in[1]); }

std::vector<Suspect> suspects() {
  seed(6);
  const Tensor x = randn({3, 4}), a = randn({3, 3}), b = randn({3, 3}), W = randn({5, 2});
  return {{"softmax",
           "dx = y (dy − Σ y dy)",
           softmax_of,
           [](const Tensors& in, const Tensor& dy) -> Tensors {
             const Tensor y = softmax(in[0]);
             return {y * (dy - sum(y * dy, {-1}, true))};
           },
           {x},
           ""},
          {"softmax",
           "dx = y dy",
           softmax_of,
           [](const Tensors& in, const Tensor& dy) -> Tensors { return {softmax(in[0]) * dy}; },
           {x},
           "MISSING TERM"},
          {"tanh",
           "dx = dy (y² − 1)",
           [](const Tensors& in) { return tanh(in[0]); },
           [](const Tensors& in, const Tensor& dy) -> Tensors {
             return {dy * (square(tanh(in[0])) - 1.0)};
           },
           {x},
           "SIGN"},
          {"mean",
           "dx = dy",
           mean_of,
           [](const Tensors& in, const Tensor& dy) -> Tensors {
             return {expand(unsqueeze(dy, -1), in[0].shape())};
           },
           {x},
           "SCALE"},
          {"matmul",
           "da = dy b,  db = aᵀ dy",
           matmul_of,
           [](const Tensors& in, const Tensor& dy) -> Tensors {
             return {matmul(dy, in[1]), matmul(transpose(in[0]), dy)};
           },
           {a, b},
           "OPERAND TRANSPOSED"},
          {"embedding",
           "dW[id] = dy",
           embedding_of,
           [](const Tensors& in, const Tensor& dy) -> Tensors {
             Tensor dW = zeros(in[0].shape());
             const std::vector<std::int64_t> ids = in[1].to_vector<std::int64_t>();
             for (std::size_t t = 0; t < ids.size(); ++t)
               dW[ids[t]].copy_(dy[static_cast<std::int64_t>(t)]);
             return {dW, {}};
           },
           {W, indices({1, 4, 1})},
           "PARTIAL SUM"}};
}

void find_the_bug() {
  bool first = true;
  for (const Suspect& each : suspects()) {
    const check::Report report = check::vjp(each.name, each.forward, each.backward, each.inputs);
    std::string cause;
    for (const auto& input : report.inputs)
      if (cause.empty()) cause = input.cause.name;
    std::printf("%s: %s\n    %s%s\n", each.name, each.line,
                report ? "correct" : "wrong: ", cause.c_str());
    if (!report && first) std::printf("\n%s\n", report.text().c_str());
    first = first && static_cast<bool>(report);
    expect(static_cast<bool>(report) == each.cause.empty(), "the checker decides correctly");
    expect(cause == each.cause, "the checker names the cause");
  }
}

}  // namespace

int main() {
  set_default_dtype(Dtype::f64);
  find_the_bug();
}
