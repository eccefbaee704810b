// Gradients that are right as they stand and break in another layout, or where they are added: each
// is caught, named, and nothing else is said of it.
#include <functional>
#include <string>
#include <vector>

#include "gradus/ops/attention/attention.h"
#include "gradus/ops/dropout.h"
#include "gradus/ops/matmul.h"
#include "gradus/ops/normalization.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/ops/softmax.h"
#include "gradus/tests/check/conditions.h"

namespace gradus::conditions {

TEST_CASE("conditions: what is right passes all of them, and they are counted") {
  const auto passes = [](const std::string& name, const check::Function& f, const Tensors& in) {
    const Report report = check::gradients(name, f, in);
    INFO(report);
    CHECK(report);
    CHECK(report.counts.conditions > 12);
    Options bare;
    bare.conditions = false;
    const Report few = check::gradients(name, f, in, bare);
    CHECK(few);
    CHECK(few.counts.conditions == 0);
  };
  passes("softmax", [](const Tensors& in) { return softmax(in[0]); }, {values({3, 5})});
  passes("layer_norm", [](const Tensors& in) { return layer_norm(in[0], in[1], in[2]); },
         {values({2, 5}), values({5}, 1), values({5}, 2)});
  passes("matmul", [](const Tensors& in) { return matmul(in[0], in[1]); },
         {values({3, 3}), values({3, 3}, 1)});
  passes("attention",
         [](const Tensors& in) { return scaled_dot_product_attention(in[0], in[1], in[2]); },
         {values({1, 2, 3, 2}), values({1, 2, 3, 2}, 1), values({1, 2, 3, 2}, 2)});
  passes("dropout", [](const Tensors& in) { return dropout(in[0], 0.5); }, {values({4, 5})});
  passes("a view of its input", [](const Tensors& in) { return transpose(in[0], 0, 1); },
         {values({3, 4})});
  passes("itself", [](const Tensors& in) { return in[0]; }, {values({3})});
  passes("one number", [](const Tensors& in) { return exp(in[0]); }, {values({})});
}

TEST_CASE("conditions: dy read as if it were row-major") {
  const Report report = square_with(
      [](const Tensors& x, const Tensor& dy) { return Tensors{2.0 * x[0] * careless(dy)}; });
  caught(report, "UPSTREAM LAYOUT");
  CHECK(has(report.text(), "slice of a larger one"));
}

TEST_CASE("conditions: dy of one repeated number, as sum() hands back") {
  const Report report = square_with([](const Tensors& x, const Tensor& dy) {
    const bool zero_stride = dy.strides() == Strides{0, 0};
    return Tensors{2.0 * x[0] * (zero_stride ? dy * 0.5 : dy)};
  });
  caught(report, "UPSTREAM LAYOUT");
  CHECK(has(report.text(), "as sum() gives"));
}

TEST_CASE("conditions: dy with a row or a column repeated") {
  const Report report = square_with([](const Tensors& x, const Tensor& dy) {
    return Tensors{2.0 * x[0] * (dy.strides() == Strides{0, 1} ? dy * 0.5 : dy)};
  });
  caught(report, "UPSTREAM LAYOUT");
  CHECK(has(report.text(), "repeated along axis 0"));
}

TEST_CASE("conditions: inputs read as if they were row-major") {
  const auto wrong_for = [](const std::function<bool(const Tensor&)>& layout) {
    return square_with([layout](const Tensors& x, const Tensor& dy) {
      return Tensors{(layout(x[0]) ? 3.0 : 2.0) * x[0] * dy};
    });
  };
  caught(wrong_for([](const Tensor& x) { return x.size(0) > 1 && x.strides()[0] == 1; }), "LAYOUT");
  caught(wrong_for([](const Tensor& x) { return x.size(1) > 1 && x.strides()[1] == 2; }), "LAYOUT");
  caught(wrong_for([](const Tensor& x) { return x.offset() > 0; }), "LAYOUT");
  caught(wrong_for([](const Tensor& x) { return x.size(0) > 1 && x.strides()[0] == 0; }), "LAYOUT");
}

TEST_CASE("conditions: a forward that reads its input as if it were row-major") {
  const Report report = check::vjp(
      "square",
      [](const Tensors& in) {
        const Tensor x = careless(in[0]);
        return x * x;
      },
      [](const Tensors& x, const Tensor& dy) { return Tensors{2.0 * x[0] * dy}; },
      {values({3, 4})});
  caught(report, "LAYOUT");
  CHECK(has(report.text(), "out["));
}

TEST_CASE("conditions: dy with other strides") {
  const auto wrong_for = [](const Strides& strides) {
    return square_with([strides](const Tensors& x, const Tensor& dy) {
      return Tensors{2.0 * x[0] * (dy.strides() == strides ? dy * 0.5 : dy)};
    });
  };
  const Report transposed = wrong_for({1, 3}), strided = wrong_for({8, 2});
  caught(transposed, "UPSTREAM LAYOUT");
  CHECK(has(transposed.findings[0].note, "for a transposed upstream gradient"));
  caught(strided, "UPSTREAM LAYOUT");
  CHECK(has(strided.findings[0].note, "of every second element in memory"));
}

TEST_CASE("conditions: what throws for other strides is found, and what it says") {
  const Report report = square_with([](const Tensors& x, const Tensor& dy) {
    require(dy.is_contiguous(), "this kernel wants rows");
    return Tensors{2.0 * x[0] * dy};
  });
  caught(report, "UPSTREAM LAYOUT");
  CHECK(has(report.text(), "it throws: this kernel wants rows"));
}

TEST_CASE("conditions: memory beside a slice is not written to") {
  const auto beside = [](const Tensor& t) {  // the number before the first one
    if (t.offset() > 0) const_cast<double*>(t.data<double>())[-1] = 1;
  };
  caught(square_with([&](const Tensors& x, const Tensor& dy) {
           beside(x[0]);
           return Tensors{2.0 * x[0] * dy};
         }),
         "WRITES OUTSIDE");
  caught(square_with([&](const Tensors& x, const Tensor& dy) {
           beside(dy);
           return Tensors{2.0 * x[0] * dy};
         }),
         "WRITES OUTSIDE");
}

TEST_CASE("conditions: a buffer that is handed out again") {
  Tensor kept;
  const Report report = square_with([&kept](const Tensors& x, const Tensor& dy) {
    if (!kept.defined() || kept.shape() != dy.shape()) kept = Tensor::empty_like(dy);
    kept.copy_(2.0 * x[0] * dy);
    return Tensors{kept};
  });
  INFO(report);
  CHECK(report.verdict == Verdict::fail);
  CHECK(report.inputs[0].wrong == 0);
  CHECK(report.inputs[0].cause.name == "ACCUMULATION");
}

TEST_CASE("conditions: an operation that adds to .grad by itself") {
  Tensor* leaf = nullptr;
  const auto f = [&leaf](const Tensors& in) {
    static thread_local Tensor last;
    last = in[0];
    leaf = &last;
    const Tensor y = in[0] * in[0];
    if (y.requires_grad())
      y.register_hook([&leaf](const Tensor& dy) {
        if (leaf->grad().defined()) leaf->set_grad(Tensor());
        return dy;
      });
    return y;
  };
  caught(check::gradients("square", f, {values({3})}), "ACCUMULATION");
}

TEST_CASE("conditions: a function may refuse what is no leaf, or one tensor for two inputs") {
  const auto strict = [](const Tensors& in) {
    for (const Tensor& x : in) require(x.is_leaf(), "leaves only");
    require(in[0].node() != in[1].node() || !in[0].node(), "two tensors, please");
    return in[0] * in[1];
  };
  const Report report = check::gradients("strict", strict, {values({3}), values({3}, 1)});
  INFO(report);
  CHECK(report);
}

}  // namespace gradus::conditions
