// Checks of functions of tensors whose every call is written down: how the tensors lie, what is
// recorded, and in which mode; and the whole report.
#pragma once

#include <memory>
#include <string>

#include "gradus/base/memory.h"
#include "gradus/check/gradients.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/node.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/create.h"
#include "gradus/tests/check/recorded.h"

namespace gradus::tensor_calls {

using check::Tensors;

inline const Tensor kX = tensor({{0.75, -1.5, 2.0}, {1.25, 0.5, -3.0}}, Dtype::f64);
inline const Tensor kW = tensor({1.5, -0.75, 2.5}, Dtype::f64);

/// "f64 [3,4] by [4,1] from 2 leaf", of one tensor.
inline std::string described(const Tensor& x) {
  if (!x.defined()) return "none";
  std::string text = str_cat(x.dtype(), " ", x.shape());
  if (x.numel() == 0) return text;
  bool usual = true;
  std::int64_t step = 1;
  for (int axis = x.rank(); axis-- > 0; step *= x.size(axis))
    usual = usual && (x.strides()[axis] == step || x.size(axis) == 1);
  if (!usual) {
    text += " by";
    for (int axis = 0; axis < x.rank(); ++axis) text += " " + std::to_string(x.strides()[axis]);
  }
  if (x.offset() > 0) text += " from " + std::to_string(x.offset());
  if (x.requires_grad()) text += x.is_leaf() ? " leaf" : " inner";
  return text;
}

inline std::string total(const Tensor& x) {
  if (!x.defined()) return "-";
  double sum = 0;
  for (const double v : kernel::convert(x, Dtype::f64).to_vector<double>()) sum += v;
  return golden::shown(std::abs(sum) < 1e-9 ? 0 : sum, 4);  // else it is rounding
}

/// Is fresh memory NaN?
inline bool poisoned() {
  const bool before = memory::set_poison(false);
  memory::set_poison(before);
  return before;
}

/// Calls in order; one line for those that look alike, with the sums of the first and of the last.
class Calls {
 public:
  void add(const std::string& who, const Tensors& in) {
    std::string line = who, sums;
    for (const Tensor& x : in) {
      line += ", " + described(x);
      sums += " " + total(x);
    }
    line += std::string(GradMode::enabled() ? " recorded" : "") + (poisoned() ? " poisoned" : "");
    if (line != line_) end();
    if (count_++ == 0) first_ = sums;
    last_ = sums;
    line_ = line;
  }
  std::string text() {
    end();
    return std::exchange(text_, "");
  }

 private:
  void end() {
    if (count_ > 0)
      text_ += line_ + ": " + std::to_string(count_) + "x" + first_ +
               (last_ == first_ ? "" : " …" + last_) + "\n";
    count_ = 0;
  }
  std::string text_, line_, first_, last_;
  int count_ = 0;
};

/// Runs `check`, which is given the calls to add to, and writes both down.
template <class Check>
void show(golden::Page& page, const std::string& what, Check check) {
  Calls calls;
  std::string report;
  try {
    const check::Report found = check(calls);
    report = check::recorded::rounded(found.json());
  } catch (const std::exception& error) {
    report = std::string("refused: ") + error.what();
  }
  page.line("====== " + what + "\n" + page.once(calls.text()));
  page.line(page.once(report));
}

inline check::Function with_calls(const check::Function& f, Calls& calls) {
  return [f, &calls](const Tensors& in) {
    calls.add("f", in);
    return f(in);
  };
}

inline check::Vjp with_calls(const check::Vjp& f, Calls& calls) {
  return [f, &calls](const Tensors& in, const Tensor& dy) {
    Tensors all = in;
    all.push_back(dy);
    calls.add("vjp", all);
    return f(in, dy);
  };
}

}  // namespace gradus::tensor_calls
