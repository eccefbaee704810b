// From tensors to the numbers that check/raw compares, and back.
#pragma once

#include "gradus/check/raw/vjp_check.h"
#include "gradus/check/subject.h"

namespace gradus::check {

/// The rows of the Jacobian that were asked for, added up: the upstream gradient in which each has
/// its weight, and for each input |J|ᵀ|dy|, the size of what a gradient for it is added up from.
struct Rows {
  core::Values dy;
  core::Arguments sizes;
};

/// A function of tensors as check/raw wants it: one of numbers, and a vector-Jacobian product.
class Adapter {
 public:
  explicit Adapter(const Subject& subject) : subject_(subject) {}

  Report compare();
  const Rows& rows() const { return rows_; }

 private:
  core::Options settings() const;
  std::vector<core::Input> raw_inputs() const;
  Tensors tensors(const core::Arguments& values) const;
  core::Values forward(const core::Arguments& values);
  core::Arguments vjp(const core::Arguments& values, const core::Values& dy);
  core::Arguments ask(const core::Values& dy);
  void add_row(const core::Values& dy, const core::Arguments& dx);

  const Subject& subject_;
  Rows rows_;
  std::int64_t forwards_ = 0;

  /// The graph of the last inputs that a gradient was asked at: the check asks often at the same.
  struct {
    core::Arguments values;
    Tensors in;
    std::vector<std::uint32_t> versions;  // of the inputs' storage
    Tensor y;
  } recorded_;
};

}  // namespace gradus::check
