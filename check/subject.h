// What is under test: a function of tensors, where it is checked, and the gradients that the graph
// gives there.
#pragma once

#include <string>
#include <vector>

#include "gradus/base/thread_state.h"
#include "gradus/check/gradients.h"

namespace gradus::check {

/// What f gave, and the gradients by its inputs: zeros where it does not depend on one, undefined
/// where none is wanted.
struct Answer {
  Tensor y;
  Tensors dx;
};

using Flags = std::vector<bool>;  // one for each input

class Subject {
 public:
  /// Runs f once, so that what it throws, or returns by mistake, is seen as it is.
  Subject(std::string name, Function f, const Tensors& inputs, const Options& options);

  /// The same function at other inputs.
  Subject at(const Tensors& other) const { return {name, f_, other, options_elsewhere()}; }

  /// f with frozen randomness, recorded if the caller records.
  Tensor call(const Tensors& in) const;

  /// The same numbers, in the same layout, as leaves where `wanted`.
  static Tensors leaves(const Tensors& x, const Flags& wanted);
  Tensors leaves(const Tensors& x) const { return leaves(x, wanted()); }

  /// What the graph of y says, which is kept; `in` are the leaves that y was made from.
  Tensors gradients(const Tensor& y, const Tensors& in, const Tensor& dy) const;

  /// f and its gradients for dy, from the start.
  Answer answer(const Tensors& x, const Tensor& dy, const Flags& wanted) const;
  Answer answer(const Tensors& x, const Tensor& dy) const { return answer(x, dy, wanted()); }

  const Flags& wanted() const { return options.differentiable; }

  std::string name;
  Options options;   // names and differentiable filled in
  Tensors inputs;    // f64 where floating-point, contiguous, outside of the graph
  bool f32 = false;  // shall f run in f32 too?
  Tensor output;     // f of the inputs

 private:
  void complete(const Tensors& given);
  Options options_elsewhere() const;
  Function f_;
};

/// The numbers of any tensor, row-major.
std::vector<double> numbers(const Tensor& x);
std::vector<std::int64_t> sizes_of(const Tensor& x);
std::int64_t count_of_all(const Tensors& x);  // elements

/// While it lives, kernels and products run on this thread alone: for a few numbers a second thread
/// costs more than it gives.
class Serial {
 public:
  explicit Serial(bool on) : before_(thread_state.parallel) {
    thread_state.parallel = before_ || on;
  }
  ~Serial() { thread_state.parallel = before_; }
  Serial(const Serial&) = delete;
  Serial& operator=(const Serial&) = delete;

 private:
  bool before_;
};

/// The whole check. `call` is what the user called: "gradients", "vjp" …
Report run(const Subject& subject, const std::string& call);

}  // namespace gradus::check
