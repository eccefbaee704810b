// What a look at the operations of a step says in full, with the calls of each.
#include "gradus/check/graph.h"
#include "gradus/engine/apply.h"
#include "gradus/nn/linear.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/check/recorded.h"
#include "gradus/tests/check/tensor_calls.h"

namespace gradus {

namespace op {

/// x², whose backward adds `more` where `wrong(element)`; it writes down how it is called.
struct Written final : Op {
  static inline tensor_calls::Calls* calls = nullptr;
  explicit Written(std::vector<double> error) : more(std::move(error)) {}
  std::vector<double> more;
  Saved x;
  const char* name() const override { return "written"; }
  Tensor forward(const Tensor& input) {
    x = input;
    if (calls) calls->add("forward", {input.detach()});
    const Tensor t = input.detach();
    return (t * t).detach();
  }
  Gradients backward(const Tensor& dy, const Wanted&) override {
    if (calls) calls->add("backward", {x.value(), dy});
    const Tensor error = kernel::convert(tensor(more, x.shape()), x.dtype());
    return {dy * (2.0 * x.value() + error)};
  }
};

}  // namespace op

namespace tensor_calls {
namespace {

using golden::Page;

Tensor written(const Tensor& x, const std::vector<double>& more) {
  return apply(op::Written(more), x);
}

const std::vector<double> kNone(6, 0.0);

const Tensor kMasked = tensor({{-HUGE_VAL, 1.0, 2.0}, {0.0, 0.5, std::nan("")}}, Dtype::f64);

Tensor leaf(const Tensor& x, Dtype dtype = Dtype::f64) {
  return kernel::convert(x, dtype).requires_grad_();
}

/// Node numbers, and where a call stood, are of this process.
std::string masked(std::string text) {
  for (std::size_t at = 0; (at = text.find("(node ", at)) != text.npos; at += 6)
    text.replace(at + 6, text.find(')', at) - at - 6, "N");
  for (std::size_t at = 0; (at = text.find(", called from ", at)) != text.npos;) {
    const std::size_t end = std::min(text.find(": its derivative", at), text.find(": ", at + 14));
    text.erase(at, end == text.npos ? end : end - at);
  }
  return text;
}

void show_steps(Page& page, const std::string& what, const std::function<Tensor()>& loss,
                const check::GraphOptions& options = {.seconds = 600}) {
  Calls calls;
  op::Written::calls = &calls;
  std::string report;
  try {
    report = check::recorded::rounded(masked(check::graph(loss, options).json()));
  } catch (const Error& error) {
    report = error.what();
  }
  op::Written::calls = nullptr;
  page.line("====== " + what + "\n" + page.once(calls.text()));
  page.line(page.once(report));
}

}  // namespace

TEST_CASE("looks at the operations of a step are golden/check/graphs.txt") {
  Page page;
  const double nan = std::nan("");
  const Tensor x = tensor({{0.75, -1.5, 2.0}, {1.25, 0.5, -3.0}}, Dtype::f64);
  const auto at = [](std::size_t j, double v) {
    std::vector<double> error = kNone;
    error[j] = v;
    return error;
  };
  const auto of = [&](const Tensor& in, const std::vector<double>& error) {
    return [=] { return sum(written(in, error)); };
  };
  show_steps(page, "right", of(leaf(x), kNone));
  show_steps(page, "right, in f32", of(leaf(x, Dtype::f32), kNone));
  show_steps(page, "seed", of(leaf(x), kNone), {.seconds = 600, .seed = 3});
  show_steps(page, "one element", of(leaf(x), at(4, 0.5)));
  show_steps(page, "below rtol", of(leaf(x), at(4, 3e-7)));
  show_steps(page, "above it", of(leaf(x), at(4, 3e-5)));
  show_steps(page, "coarser", of(leaf(x), at(4, 3e-5)), {.seconds = 600, .rtol = 1e-3});
  show_steps(page, "at a zero that moves",
             of(leaf(tensor({{0.0, 1.0, 2.0}, {0.0, 0.5, 3.0}}, Dtype::f64)), at(0, 0.5)));
  show_steps(page, "zeros", of(leaf(zeros({2, 3}, Dtype::f64)), kNone));
  show_steps(page, "infinite", of(leaf(kMasked), kNone));
  show_steps(page, "infinite, wrong", of(leaf(kMasked), at(4, 0.5)));
  show_steps(page, "all wrong", of(leaf(x), std::vector<double>(6, 0.5)));
  show_steps(page, "not a number", of(leaf(x), at(1, nan)));
  show_steps(page, "twice the same kind", [&] {
    const Tensor a = leaf(x), b = leaf(x + 1.0);
    const Tensor right = written(a, kNone);
    return sum(right + written(b, at(0, 0.5)));
  });
  show_steps(page, "another shape", [&] {
    const Tensor right = sum(written(leaf(x), kNone));
    return right + sum(written(leaf(reshape(x, {6})), at(0, 0.5)));
  });
  show_steps(page, "no time", of(leaf(x), kNone), {.seconds = 0});
  show_steps(page, "empty", [] { return sum(written(leaf(zeros({0, 3}, Dtype::f64)), {})); });
  show_steps(page, "no gradient", [&] { return sum(written(x, kNone)); });
  show_steps(page, "no result", [&]() -> Tensor {
    written(leaf(x), kNone);
    return Tensor();
  });
  page.compare("graphs.txt");
}

TEST_CASE("a layer's operation that is wrong is named with it") {
  Page page;
  nn::Linear layer(3, 2);
  for (const nn::NamedTensor& each : layer.parameters()) {
    Tensor p = each.tensor;
    p.detach().fill_(0.5);
  }
  layer.to(Dtype::f64);
  const Tensor x = tensor({{0.75, -1.5, 2.0}, {1.25, 0.5, -3.0}}, Dtype::f64);
  show_steps(page, "a layer", [&] { return sum(layer(written(leaf(x), kNone))); });
  show_steps(page, "wrong before it", [&] {
    return sum(layer(written(leaf(x), {0, 0, 1, 0, 0, 0})));
  });
  page.compare("graph_layers.txt");
}

}  // namespace tensor_calls
}  // namespace gradus
