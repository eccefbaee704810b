#pragma once

#include <cmath>
#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "gradus/engine/apply.h"
#include "gradus/engine/backward.h"
#include "gradus/engine/observer.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/support/numbers.h"
#include "gradus/tests/support/thrown.h"

namespace gradus {

namespace op {

/// y = x, with a backward function from the test.
struct Custom final : Op {
  std::function<Gradients(const Tensor&)> back;
  explicit Custom(std::function<Gradients(const Tensor&)> f) : back(std::move(f)) {}
  const char* name() const override { return "custom"; }
  Tensor forward(const Tensor& x) { return x.clone(); }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override { return back(dy); }
};

/// Sums its inputs and records needs_grad. The gradient of input k is (k + 1) · dy.
struct Many final : Op {
  static inline std::vector<bool> wanted;
  const char* name() const override { return "many"; }
  Tensor forward(std::span<const Tensor> x) {
    Tensor y = x[0].clone();
    count = static_cast<int>(x.size());
    for (std::size_t k = 1; k < x.size(); ++k) y = (y + x[k]).detach();
    return y;
  }
  Gradients backward(const Tensor& dy, const NeedsGrad& needs_grad) override {
    Gradients dx;
    wanted.clear();
    for (int k = 0; k < count; ++k) {
      wanted.push_back(needs_grad(k));
      dx.push_back(dy * static_cast<double>(k + 1));
    }
    return dx;
  }
  int count = 0;
};

struct Nothing final : Op {
  const char* name() const override { return "nothing"; }
  Tensor forward(const Tensor& x) { return x; }
};

}  // namespace op

namespace testing {

inline void expect(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error("failed: " + what);
}

inline bool near(const Numbers& a, const Numbers& b, double tolerance = 1e-12) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(std::abs(a[i] - b[i]) <= tolerance)) return false;
  return true;
}

inline Tensor ids(std::initializer_list<std::int64_t> values, const Shape& shape) {
  return tensor(std::vector<std::int64_t>(values), shape);
}

inline Tensor leaf(std::initializer_list<double> values) {
  return tensor(values, Dtype::f64).requires_grad_();
}

inline Tensor custom(const Tensor& x, std::function<Gradients(const Tensor&)> back) {
  return apply(op::Custom(std::move(back)), x);
}

/// Requires f to throw an E whose message contains `part`.
template <class E>
void expect_error(const std::string& part, const std::function<void()>& f) {
  expect(has(message_of<E>(f), part), "an error message with \"" + part + "\"");
}

struct Seen : Observer {
  std::set<std::string> names;
  void on_op_begin(const Op& op, std::span<const Tensor* const>) override {
    names.insert(op.name());
  }
};

}  // namespace testing
}  // namespace gradus
