// `trace_cases CASE PAGE.html` writes the trace page of an unusual program. `trace_cases list`
// lists the cases.
#include <cstdio>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "gradus/engine/backward.h"
#include "gradus/engine/base/random.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/nn/cache.h"
#include "gradus/nn/models/gpt.h"
#include "gradus/ops/checkpoint.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/trace/trace.h"

namespace gradus {
namespace {

Tensor leaf(const Shape& shape) { return randn(shape).requires_grad_(); }

void checkpointed() {
  const Tensor x = leaf({2, 3}), w = leaf({3, 3});
  const auto block = [](const std::vector<Tensor>& in) { return tanh(matmul(in[0], in[1])); };
  sum(square(checkpoint(block, {checkpoint(block, {x, w}), w}))).backward();
}

void created_graph() {
  const Tensor x = leaf({3});
  const Tensor dx = grad(sum(x * x * exp(x)), x, {.create_graph = true});
  sum(dx).backward();
}

void nested() {  // takes a gradient within a backward pass
  const Tensor x = leaf({2}), y = exp(x);
  y.register_hook([](const Tensor& dy) {
    const GradMode on(true);
    const Tensor z = ones({2}).requires_grad_();
    return dy * grad(sum(square(z)), z);
  });
  sum(y).backward();
}

void other_thread() {
  const Tensor x = leaf({3});
  Tensor y;
  std::thread([&] { y = sum(exp(x)); }).join();
  (y * 2.0).backward();
}

void decoded() {
  const NoGrad off;
  const nn::GPT model({.vocab = 7, .context = 8, .layers = 4, .block = {.width = 8, .heads = 2}});
  nn::KVCache cache({.capacity = 8});
  for (std::int64_t i = 0; i < 2; ++i)
    (void)model(tensor(std::vector<std::int64_t>{i}, {1, 1}), &cache);
}

void thrown() { const Tensor y = nn::Linear(3, 2)(randn({5, 4})); }

const std::map<std::string, void (*)()> kCases{{"checkpointed", checkpointed},
                                               {"created_graph", created_graph},
                                               {"nested", nested},
                                               {"other_thread", other_thread},
                                               {"decoded", decoded},
                                               {"thrown", thrown}};

int run(const std::string& name, const std::string& path) {
  Trace trace({.title = name + " </script><img src=x onerror=alert(1)>"});
  trace.labels("S", {"</script>", "<b>", "\xff"});
  try {
    kCases.at(name)();
  } catch (const ShapeError& error) {
    std::printf("%s\n", error.what());
  }
  trace.write(path);
  return 0;
}

}  // namespace
}  // namespace gradus

int main(int count, char** arguments) {
  if (count == 3) return gradus::run(arguments[1], arguments[2]);
  for (const auto& [name, body] : gradus::kCases) std::printf("%s\n", name.c_str());
  return 0;
}
