// The conditions under which gradients break that are right otherwise. Differences are measured
// once, at the inputs as they stand; each condition then compares a gradient with a gradient, for a
// forward and a backward pass or two.
//
// A condition is a function that says in its comment why users' gradients break there, and
// runs the subject under it: layout.cpp, accumulation.cpp, manners.cpp, precision.cpp.
#pragma once

#include <functional>
#include <string>

#include "gradus/check/adapter.h"

namespace gradus::check {

/// One place at which the subject is run: inputs and an upstream gradient, with the answer that
/// all others are compared with.
class Trial {
 public:
  Trial(const Subject& subject, const Rows& rows, Report& report, Tensors x, Tensor dy);

  using Run = std::function<Answer()>;

  /// Does `run` give what the subject gives here? If not, a finding: "with `what` …". What it
  /// throws is a finding too. Returns false there.
  bool same(const std::string& what, const core::Cause& cause, const Run& run);
  /// The same with another expectation.
  bool equal(const std::string& what, const core::Cause& cause, const Run& run,
             const Answer& expected);
  void add(std::size_t input, const core::Cause& cause, const std::string& note);

  Answer answer(const Tensors& in, const Tensor& upstream) const {
    return subject.answer(in, upstream);
  }
  /// The same report, another place.
  Trial elsewhere(Tensors at, Tensor upstream) const {
    return {subject, rows, report, std::move(at), std::move(upstream)};
  }

  /// How far the gradients here move when the inputs move in their 30th bit, for each input; last
  /// that of y. Tells how much of a rounding arrives in the result.
  const std::vector<double>& sensitivity();

  const Subject& subject;
  const Rows& rows;
  Report& report;
  const Tensors x;
  const Tensor dy;
  const Answer base;

 private:
  /// What two ways to compute the same may differ by; k = x.size(): y.
  double allowed(std::size_t k, double largest);
  bool compare(const std::string& what, const core::Cause& cause, std::size_t k,
               const Tensor& found, const Tensor& expected);
  std::vector<double> sensitivity_;
};

/// Random numbers in ±[1.5, 2.5), of like's shape and dtype.
Tensor other_numbers(const Tensor& like, std::uint64_t seed = 77);

/// Each number moved by up to 5/4 of its `share`, one way or the other.
Tensors nudged(const Tensors& x, const Flags& wanted, double share, std::uint64_t seed = 11);

/// The change of the inputs by which sensitivity() is measured.
inline constexpr double kNudge = 0x1p-30;

/// f's gradients by roundings of the inputs are of this size: |dy| |y| / |x|.
double size_of_terms(const Tensor& dy, const Tensor& y, const Tensor& x);

/// Runs the conditions and adds what they find.
void check_conditions(const Subject& subject, const Rows& rows, Report& report);

void check_layouts(Trial& trial);       // strided, offset, repeated, transposed
void check_accumulation(Trial& trial);  // dirty .grad, twice, f(x, x), fan-out, subsets of inputs
void check_manners(Trial& trial);       // fresh memory, sums of upstream gradients, errors
void check_precision(Trial& trial);     // f32

}  // namespace gradus::check
