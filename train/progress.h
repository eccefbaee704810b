// The progress line of a training run.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace gradus::train {

/// On a terminal it is rewritten, at most ten times per second; elsewhere it is a plain line every
/// few seconds, without control characters. NO_COLOR and TERM=dumb count as no terminal. Rate and
/// time left are averages over about the last half minute.
class Progress {
 public:
  /// Steps run from `first` to `total`; `items_per_step`, each an `item`, for the rate.
  Progress(std::int64_t first, std::int64_t total, std::int64_t items_per_step,
           std::string item = "token", std::FILE* out = stderr);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `step` steps are made; `note` ends the line ("val 1.93"). `keep`: the line is not rewritten.
  void show(std::int64_t step, double loss, const std::string& note = "", bool keep = false);
  void aim_at(std::int64_t total) { total_ = total; }
  void clear();  // removes the line, before other output on a terminal
  double items_per_second() const { return rate_; }

 private:
  std::int64_t last_, total_, items_per_step_;
  std::string item_;
  std::FILE* out_;
  bool terminal_;
  double last_time_, last_shown_ = 0;  // seconds of the steady clock
  double steps_ = 0, seconds_ = 0;     // their quotient is the rate
  double rate_ = 0;
  bool line_open_ = false;
};

/// 0:42, 12:07, 3:05:10
std::string clock_time(double seconds);

}  // namespace gradus::train
