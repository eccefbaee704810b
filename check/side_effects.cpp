// Tests that results are reproducible and linear in dy, that neither recording nor the content of
// fresh memory changes them, and how much memory backward takes.
#include <string>

#include "gradus/check/condition.h"
#include "gradus/engine/base/memory.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/arithmetic.h"

namespace gradus::check {
namespace {

/// RAII guard: the process fills fresh memory with NaN.
class Poison {
 public:
  Poison() : before_(memory::set_poison(true)) {}
  ~Poison() { memory::set_poison(before_); }
  Poison(const Poison&) = delete;
  Poison& operator=(const Poison&) = delete;

 private:
  bool before_;
};

/// Runs f twice. If counters, caches or private random generators change the result, all other
/// comparisons are meaningless.
void run_again(Trial& t) {
  t.same("in a second run",
         {"NOT DETERMINISTIC", "the same inputs give different results in different runs",
          "fix the random seed, keep no state between calls, and look for uninitialized memory"},
         [&] { return t.f.run(t.x, t.dy); });
}

/// A function that branches on recording evaluates a different model than it trains.
void run_unrecorded(Trial& t) {
  t.same("under NoGrad",
         {"TWO FORWARDS", "forward gives another result if nothing is recorded",
          "both must compute the same; only the saved tensors may depend on recording"},
         [&] {
           const NoGrad off;
           return Outcome{t.f.call(t.x), {}};
         });
}

/// Fresh memory often contains zeros, which hide elements that are never written.
void run_in_poisoned_memory(Trial& t) {
  t.same("with fresh memory filled with NaN",
         {"NEVER WRITTEN", "some results are uninitialized memory",
          "do the loops reach every element? Tensor::empty is uninitialized: call fill_(0) where "
          "sums begin and where the gradient is 0"},
         [&] {
           const Poison poison;
           return t.f.run(t.x, t.dy);
         });
}

/// Compares the bytes that backward allocates at a time, its results included, with the option.
void memory_of_backward(Trial& t) {
  if (t.f.options.backward_bytes < 0) return;
  ++t.report.counts.conditions;
  const GradMode on(true);
  const Tensors in = t.f.leaves(t.x);
  const Tensor y = t.f.call(in);
  memory::reset_peak();
  const std::int64_t before = memory::usage().live_bytes;
  const Tensors dx = t.f.gradients(y, in, t.dy);
  const std::int64_t bytes = memory::usage().peak_bytes - before;
  if (bytes <= t.f.options.backward_bytes) return;
  t.add(0,
        {"BACKWARD MEMORY", "backward allocates more than its limit",
         "look for copies, and for buffers that are released only at the end"},
        str_cat("backward allocates ", bytes, " bytes at a time; backward_bytes allows ",
                t.f.options.backward_bytes));
}

/// backward(a + b) must equal backward(a) + backward(b). Clipping, abs or rounding of dy violates
/// this.
void sum_of_upstreams(Trial& t) {
  const Tensor other = other_numbers(t.dy, t.f.options.seed + 101);
  const Tensors dx = t.f.run(t.x, other).dx;
  t.equal("for a sum of two upstream gradients",
          {"NOT LINEAR", "the gradient of a sum is not the sum of the gradients",
           "look for abs, max, clamp, a square, or a constant applied to dy"},
          [&] {
            return Outcome{{}, t.f.run(t.x, t.dy + other).dx};
          },
          {{}, for_each_defined(dx, [&](std::size_t k) { return dx[k] + t.base.dx[k]; })});
}

/// Other ops may have saved the output, so backward must not change it.
void output_is_left_alone(Trial& t) {
  const GradMode on(true);
  const Tensors in = t.f.leaves(t.x);
  const Tensor y = t.f.call(in);
  const Tensor before = kernel::copy(y);
  t.equal("after backward, in the output of forward",
          {"WRITES TO ITS OUTPUT", "backward changes y, which other nodes may have saved",
           "write to a clone() or to a separate buffer"},
          [&] {
            t.f.gradients(y, in, t.dy);
            return Outcome{y.detach(), {}};
          },
          {before, {}});
}

std::string error_of(const Trial& t, const Tensors& in, bool record) {
  const GradMode mode(record);
  try {
    static_cast<void>(t.f.call(in));
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

/// f must reject inputs both with and without recording.
void refused_inputs(Trial& t) {
  const Cause cause = {"ERRORS", "invalid inputs are accepted, or the error depends on recording",
                       "check shapes and dtypes first, whether recording is on or not"};
  for (std::size_t i = 0; i < t.f.options.refused.size(); ++i) {
    ++t.report.counts.conditions;
    const Tensors& in = t.f.options.refused[i];
    const std::string recorded = error_of(t, in, true), plain = error_of(t, in, false);
    if (recorded == plain && !plain.empty()) continue;
    t.add(0, cause,
          str_cat("invalid inputs ", i, ": ") +
              (recorded == plain ? "nothing is thrown"
                                 : "the error is '" + recorded + "' with recording, but '" + plain +
                                       "' under NoGrad"));
  }
}

}  // namespace

void check_side_effects(Trial& trial) {
  run_again(trial);
  run_unrecorded(trial);
  run_in_poisoned_memory(trial);
  sum_of_upstreams(trial);
  memory_of_backward(trial);
  output_is_left_alone(trial);
  refused_inputs(trial);
}

}  // namespace gradus::check
