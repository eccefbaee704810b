// What a check has time for: how many elements can be looked at one by one, by how many threads,
// and how long it will take.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <mutex>
#include <thread>

#include "gradus/check/raw/compare.h"
#include "gradus/check/raw/subject.h"
#if __has_include(<unistd.h>)
#include <unistd.h>
#endif

namespace gradus::check {

/// A line on the terminal that is written over while work goes on; nothing elsewhere.
class Progress {
 public:
  explicit Progress(std::string name) : name_(std::move(name)) {
#if __has_include(<unistd.h>)
    shown_ = isatty(STDERR_FILENO) == 1;
#endif
  }
  ~Progress() {
    if (last_ > 0) std::fputs("\r\033[K", stderr);
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// At most four times a second, and not in the first one.
  void show(std::size_t done, std::size_t all, double seconds) {
    if (!shown_ || done == 0 || seconds < last_ + (last_ == 0 ? 1.0 : 0.25)) return;
    last_ = seconds;
    const double left = seconds / static_cast<double>(done) * static_cast<double>(all - done);
    std::fprintf(stderr, "\r\033[Kchecking %s: %zu of %zu columns, %.0f s left", name_.c_str(),
                 done, all, left);
  }

 private:
  std::string name_;
  bool shown_ = false;
  double last_ = 0;
};

class Schedule {
 public:
  static constexpr double kColumnCalls = 8;  // of forward, for one column: some steps are repeated
  static constexpr double kShare = 0.6;      // of the budget; the rest is for what is found

  explicit Schedule(const RawOptions& options)
      : budget_(options.seconds),
        threads_(options.threads > 0
                     ? options.threads
                     : std::max(1, static_cast<int>(std::thread::hardware_concurrency()))) {}

  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }
  /// Is there less time than looking at all elements would take? One call has taken `call` seconds.
  void plan(double call, const std::vector<Input>& inputs) {
    const double column = kColumnCalls * call / threads_;
    std::vector<std::size_t> sizes;
    for (const Input& input : inputs)
      sizes.push_back(input.differentiable ? input.values.size() : 0);
    columns_ = sizes;
    std::size_t elements = 0;
    for (const std::size_t n : sizes) elements += n;
    limited_ = budget_ > 0 && column * static_cast<double>(elements) > kShare * budget_;
    if (limited_) share(sizes, static_cast<std::size_t>(kShare * budget_ / column));
  }
  bool limited() const { return limited_; }
  /// Would looking at all elements and outputs take five seconds or less?
  bool affords_all(std::size_t outputs, std::int64_t calls_so_far) const {
    std::size_t elements = 0;
    for (const std::size_t n : columns_) elements += n;
    const double pairs = static_cast<double>(elements) * static_cast<double>(outputs);
    const double calls =
        kColumnCalls * static_cast<double>(elements) + static_cast<double>(outputs);
    const double call = seconds() / static_cast<double>(std::max<std::int64_t>(calls_so_far, 1));
    return !limited_ && pairs <= 2e6 && calls * call <= 5;
  }
  bool over() const { return limited_ && seconds() > budget_; }
  double budget() const { return budget_; }
  /// How many elements of input k there is time for.
  std::size_t columns(std::size_t k) const { return columns_[k]; }

  /// work(i, subject) for i = 0 … count − 1, on several threads where that was asked for; each has
  /// a subject of its own. Returns how many were done: the first ones, until the time is over. What
  /// the rest of the budget is for may be used up by the first `least`.
  template <class Work>
  std::size_t run(const std::string& name, std::size_t least, std::size_t count, Subject& subject,
                  Work work) const {
    const auto some = static_cast<std::size_t>(threads_);
    std::vector<Subject> subjects(std::min(some, std::max<std::size_t>(count, 1)) - 1, subject);
    for (Subject& s : subjects) s.forget_counts();
    std::atomic<std::size_t> next{0};
    std::mutex mutex;
    std::exception_ptr error;
    Progress progress(name);
    const auto go_on = [&](Subject& own, bool shows) {
      try {
        for (;;) {
          if (limited_ && seconds() > (next < least ? 1 : kShare) * budget_) return;
          const std::size_t i = next++;
          if (i >= count) return;
          work(i, own);
          if (shows) progress.show(std::min(next.load(), count), count, seconds());
        }
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
        next = count;
      }
    };
    std::vector<std::thread> threads;
    for (Subject& s : subjects) threads.emplace_back([&go_on, &s] { go_on(s, false); });
    go_on(subject, true);
    for (std::thread& thread : threads) thread.join();
    for (const Subject& s : subjects) subject.add_counts(s);
    if (error) std::rethrow_exception(error);
    return std::min(next.load(), count);
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// Small inputs whole, the others alike: `total` columns among inputs of these sizes.
  void share(const std::vector<std::size_t>& sizes, std::size_t total) {
    std::vector<std::size_t> order(sizes.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return sizes[a] < sizes[b]; });
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::size_t k = order[i];
      columns_[k] = std::min(sizes[k], total / (order.size() - i));
      total -= columns_[k];
    }
  }

  double budget_;
  int threads_;
  Clock::time_point begin_ = Clock::now();
  bool limited_ = false;
  std::vector<std::size_t> columns_;
};

/// The error of one element that each direction is sure to show: it moves an element by 0.6 of its
/// unit or more.
inline double shown_along(const Numeric& numeric, const std::vector<Probe>& probes,
                          const Tolerance& tolerance) {
  double result = 0;
  for (std::size_t m = 0; m < numeric.moves.size() && numeric.moves[m].along(); ++m) {
    double least = std::numeric_limits<double>::max(), allowed = 0;
    for (const double d : numeric.moves[m].direction) least = std::min(least, std::abs(d));
    for (std::size_t p = 0; p < probes.size(); ++p) {
      const Slope& n = numeric.slopes[m][p];
      const double scale = numeric.scale(m, probes[p].dense(), probes, tolerance);
      allowed = std::max(allowed, judge(n.value, n, scale, tolerance).allowed);
    }
    result = std::max(result, allowed / least);
  }
  return result;
}

/// What the time was not enough for, and what that may miss.
inline std::string left_out(const Schedule& schedule, const Input& input, const Numeric& numeric,
                            const std::vector<Probe>& probes, const Goal& goal) {
  const auto directions = static_cast<std::size_t>(std::count_if(
      numeric.moves.begin(), numeric.moves.end(), [](const Move& move) { return move.along(); }));
  const std::string budget = number(schedule.budget(), 3) + " s";
  if (directions == 0)
    throw Stop{Verdict::inconclusive, joined("a budget of ", budget, " left no time for ",
                                             input.name, ": give more, or check it alone")};
  const std::size_t seen = numeric.moves.size() - directions, all = input.values.size();
  const double missed = 1 - static_cast<double>(seen) / static_cast<double>(all);
  return joined(
      "in ", budget, " ", seen, " of ", all, " elements of ", input.name,
      " moved one by one, and all along ", directions,
      " directions. A single wrong element shows in each direction if its error is above ",
      number(shown_along(numeric, probes, goal.tolerance), 2),
      "; a smaller one is missed with a chance of ", number(100 * missed, 3), " %");
}

}  // namespace gradus::check
