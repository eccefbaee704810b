// Divides the time of a check: how many elements move separately, and on how many threads. Shows
// progress and reports omitted comparisons.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <mutex>
#include <thread>

#include "gradus/check/raw/checked_function.h"
#include "gradus/check/raw/compare.h"

namespace gradus::check {

class TimeBudget {
 public:
  static constexpr double kColumnCalls = 6;  // calls per column of a smooth function
  // Fractions of the time for a first measurement. The remaining time is for repeated measurements,
  // which are more frequent for inputs in which directions found errors.
  static constexpr double kShare = 0.9, kShareOfSuspects = 0.6;

  TimeBudget(std::string name, const RawOptions& options)
      : name_(std::move(name)),
        budget_(options.seconds),
        threads_(options.threads > 0
                     ? options.threads
                     : std::max(1, static_cast<int>(std::thread::hardware_concurrency()))) {}

  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  /// Plans the check. `call` is the duration of one call of forward in seconds.
  void plan(double call, const std::vector<Input>& inputs) {
    const double column = kColumnCalls * call / threads_;
    for (const Input& input : inputs) {
      columns_.push_back(input.differentiable ? input.values.size() : 0);
      elements_ += static_cast<double>(columns_.back());
    }
    limited_ = budget_ > 0 && column * elements_ > kShare * budget_;
    if (limited_) share(static_cast<std::size_t>(budget_ / column));
  }
  bool limited() const { return limited_; }
  /// True if checking everything takes at most five seconds.
  bool affords_all(std::size_t outputs, std::int64_t calls_so_far) const {
    const double pairs = elements_ * static_cast<double>(outputs);
    const double calls = 8 * elements_ + static_cast<double>(outputs);
    const double call = seconds() / static_cast<double>(std::max<std::int64_t>(calls_so_far, 1));
    return !limited_ && pairs <= 2e6 && calls * call <= 5;
  }
  bool over() const { return limited_ && seconds() > budget_; }
  double budget() const { return budget_; }
  std::size_t columns(std::size_t k) const { return columns_[k]; }
  /// Returns the time limit for input k, a share of the remaining time. `suspect` is true if
  /// directions found errors in the input.
  double deadline(std::size_t k, bool suspect) const {
    const double share = suspect ? kShareOfSuspects : kShare;
    double later = 0;
    for (std::size_t i = k; i < columns_.size(); ++i) later += static_cast<double>(columns_[i]);
    const double left = std::max(share * budget_ - seconds(), 0.0);
    return seconds() + left * static_cast<double>(columns_[k]) / std::max(later, 1.0);
  }

  /// Calls work(i, function) for i in [first, last) on multiple threads, each with a separate
  /// function. With a time limit, starts no call after `until` seconds. Returns the first index
  /// that was not processed.
  template <class Work>
  std::size_t run(std::size_t first, std::size_t last, double until, CheckedFunction& function,
                  Work work) const {
    const std::size_t count = last - first;
    const std::size_t some = std::min(static_cast<std::size_t>(threads_), count);
    std::vector<CheckedFunction> others(std::max<std::size_t>(some, 1) - 1, function);
    for (CheckedFunction& s : others) s.counts() = {};
    std::atomic<std::size_t> next{first};
    std::mutex mutex;
    std::exception_ptr error;
    double shown = 0;
    const auto go_on = [&](CheckedFunction& own, bool shows) {
      try {
        while (!limited_ || seconds() <= until) {
          const std::size_t i = next++;
          if (i >= last) return;
          work(i, own);
          if (shows) show(std::min(next - first, count), count, shown);
        }
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
        next = last;
      }
    };
    std::vector<std::thread> threads;
    for (CheckedFunction& s : others) threads.emplace_back([&go_on, &s] { go_on(s, false); });
    go_on(function, true);
    for (std::thread& thread : threads) thread.join();
    if (shown > 0) std::fputs("\r\033[K", stderr);
    for (CheckedFunction& s : others) function.counts().add(s.counts());
    if (error) std::rethrow_exception(error);
    return std::min(next.load(), last);
  }

 private:
  using Clock = std::chrono::steady_clock;

  void show(std::size_t done, std::size_t all, double& last) const {
    const double now = seconds();
    if (done == 0 || now < last + (last == 0 ? 1.0 : 0.25) || !is_terminal(2)) return;
    last = now;
    std::fprintf(stderr, "\r\033[Kchecking %s: %zu of %zu columns, %.0f s left", name_.c_str(),
                 done, all, now / static_cast<double>(done) * static_cast<double>(all - done));
  }

  void share(std::size_t total) {
    std::vector<std::pair<std::size_t, std::size_t>> order;  // pairs (number of elements, input)
    for (std::size_t k = 0; k < columns_.size(); ++k) order.emplace_back(columns_[k], k);
    std::sort(order.begin(), order.end());
    for (std::size_t left = order.size(); const auto& [size, k] : order) {
      columns_[k] = std::min(size, total / left--);
      total -= columns_[k];
    }
  }

  std::string name_;
  double budget_;
  int threads_;
  Clock::time_point begin_ = Clock::now();
  bool limited_ = false;
  double elements_ = 0;  // number of differentiable elements
  std::vector<std::size_t> columns_;
};

inline std::string left_out(const TimeBudget& time, const Input& input, const Numeric& numeric) {
  const auto directions = static_cast<std::size_t>(std::count_if(
      numeric.moves.begin(), numeric.moves.end(), [](const Move& move) { return move.along(); }));
  const std::string budget = number(time.budget(), 3) + " s";
  if (directions == 0)
    throw Abort{Verdict::inconclusive,
                joined("the budget of ", budget, " left no time for ", input.name,
                       ". Increase it, or check only this input")};
  return joined("in ", budget, ", ", numeric.moves.size() - directions, " of ", input.values.size(),
                " elements of ", input.name, " were checked one by one, and all along ", directions,
                " directions");
}

}  // namespace gradus::check
