#include "gradus/tests/check/faulty_tensor_ops.h"
#include "gradus/engine/apply.h"
#include "gradus/engine/node.h"
#include "gradus/ops/members.h"

namespace gradus {
namespace op {

struct OddLinear final : Op {
  int fault = 0;
  Saved x, w;
  const char* name() const override { return "odd_linear"; }
  Tensor forward(const Tensor& in, const Tensor& weight) {
    x = fault == 1 ? Saved(weight) : Saved(in);
    w = weight;
    return matmul(in.detach(), transpose(weight.detach()));
  }
  Gradients backward(const Tensor& dy, const NeedsGrad& needs_grad) override {
    const Tensor dx = needs_grad(0) ? matmul(dy, w.value()) : Tensor();
    Tensor dw = matmul(transpose(dy), x.value());
    if (fault == 2 && !needs_grad(0)) dw = dw * 0.5;             // as if dw and dx shared one sum
    if (fault == 3) return {dx, needs_grad(0) ? dw : Tensor()};  // checks the wrong input
    if (fault == 4) return {needs_grad(1) ? dx : Tensor(), dw};
    return {dx, dw};
  }
};

/// y = x[from : from + 2]. Backward adds dy at other positions.
struct OddSlice final : Op {
  std::int64_t from = 1, back = 0, step = 1;
  bool whole = false;
  const char* name() const override { return "odd_slice"; }
  Tensor forward(const Tensor& x) { return slice(x.detach(), 0, from, from + 2).clone(); }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    if (whole) return {cat({dy, dy}, 0)};
    return {Gradient::slice(dy, 0, back, step)};
  }
};

/// y = x[rows]. Backward adds dy to other rows.
struct OddRows final : Op {
  Tensor rows, back;
  const char* name() const override { return "odd_rows"; }
  Tensor forward(const Tensor& x) { return index_select(x.detach(), 0, rows); }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    return {Gradient::rows(dy, back)};
  }
};

/// y = eˣ. Depending on `fault`, saves x instead of y, overwrites the saved tensor, or detaches it.
struct OddExp final : Op {
  int fault = 0;
  Saved kept;
  const char* name() const override { return "odd_exp"; }
  Tensor forward(const Tensor& x) {
    Tensor y = exp(x.detach());
    kept = fault == 0 ? x : y;
    if (fault == 1) {
      Tensor same = y.detach();
      same.fill_(1);
      return exp(x.detach());
    }
    return y;
  }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    if (fault == 2) return {dy * kept.value().detach()};  // loses the second derivative
    return {dy * kept.value()};
  }
};

struct OddRelu final : Op {
  int fault = 0;
  Saved x;
  const char* name() const override { return "odd_relu"; }
  Tensor forward(const Tensor& in) {
    x = in;
    return relu(in.detach());
  }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    const Tensor in = x.value().detach();
    const Tensor positive = greater(fault == 1 ? dy : in, 0.0).to(dy.dtype());
    if (fault == 0) return {dy * 1.0};
    if (fault == 2) return {dy * (1.0 - positive)};
    return {dy * positive};
  }
};

}  // namespace op

namespace faulty_tensor_ops {
namespace {

Host of(const std::string& name, const Function& f, const Tensors& inputs) {
  return {name, f, {}, inputs};
}

void add_linears(std::vector<FaultyOp>& all) {
  const char* const names[] = {"", "weight saved for x", "dw halved when alone", "dw checks x",
                               "dx checks w"};
  for (const int fault : {1, 2, 3, 4}) {
    const auto f = [fault](const Tensors& in) {
      op::OddLinear odd;
      odd.fault = fault;
      return apply(std::move(odd), in[0], in[1]);
    };
    const Host host = of("linear", f, {values({3, 4}), values({3, 4}, 1)});
    all.push_back({std::string("an operation: ") + names[fault],
                   host,
                   {},
                   fault == 1 ? "" : "WANTS",
                   fault == 4 ? 0U : 1U});
  }
}

void add_parts(std::vector<FaultyOp>& all) {
  const auto slices = [&](const std::string& what, std::int64_t back, std::int64_t step, bool whole,
                          const std::string& cause) {
    const auto f = [=](const Tensors& in) {
      op::OddSlice odd;
      odd.back = back, odd.step = step, odd.whole = whole;
      return apply(std::move(odd), in[0]);
    };
    all.push_back({"an operation: " + what, of("slice", f, {values({4, 3})}), {}, cause});
  };
  slices("a slice one too early", 0, 1, false, "OFF BY ONE");
  slices("a slice one too late", 2, 1, false, "OFF BY ONE");
  slices("a slice with a step", 1, 2, false, "WRONG CHOICE");
  slices("a slice that fills all", 1, 1, true, "");
  const auto rows = [&](const std::string& what, const Tensor& back, const std::string& cause) {
    const auto f = [back](const Tensors& in) {
      op::OddRows odd;
      odd.rows = indices({2, 0, 3});
      odd.back = back;
      return apply(std::move(odd), in[0]);
    };
    all.push_back({"an operation: " + what, of("rows", f, {values({4, 3})}), {}, cause});
  };
  rows("rows in their own order", indices({0, 1, 2}), "WRONG CHOICE");
  rows("the inverse permutation's rows", indices({1, 3, 0}), "WRONG CHOICE");
  rows("all to one row", indices({0, 0, 0}), "");
}

void add_saved(std::vector<FaultyOp>& all) {
  const char* const exps[] = {"x saved for y", "saved, then written to", "y detached in backward"};
  const char* const causes[] = {"LOCAL DERIVATIVE", "THROWS", "NO GRADIENT"};
  for (const int fault : {0, 1, 2}) {
    const auto f = [fault](const Tensors& in) {
      op::OddExp odd;
      odd.fault = fault;
      return apply(std::move(odd), in[0]);
    };
    all.push_back({std::string("an operation: ") + exps[fault],
                   of("exp", f, {values({2, 3})}),
                   {},
                   causes[fault],
                   0,
                   fault == 2});
  }
  const char* const masks[] = {"no mask", "the mask of dy", "the inverted mask"};
  const char* const names[] = {"UPSTREAM ONLY", "NOT LINEAR", "LOCAL DERIVATIVE"};
  for (const int fault : {0, 1, 2}) {
    const auto f = [fault](const Tensors& in) {
      op::OddRelu odd;
      odd.fault = fault;
      return apply(std::move(odd), in[0]);
    };
    all.push_back({std::string("an operation: ") + masks[fault],
                   of("relu", f, {values({3, 4})}),
                   {},
                   names[fault]});
  }
}

}  // namespace

std::vector<FaultyOp> faulty_operation() {
  std::vector<FaultyOp> all;
  add_linears(all);
  add_parts(all);
  add_saved(all);
  return all;
}

}  // namespace faulty_tensor_ops
}  // namespace gradus
