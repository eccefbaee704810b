// Prints the progress of a training run.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace gradus::train {

/// On a terminal, a line that is rewritten up to ten times per second. Otherwise (also with
/// NO_COLOR or TERM=dumb), a new line every few seconds. Rates are averaged over half a minute.
class Progress {
 public:
  /// Steps run from `first` to `total`, each with `items_per_step` items.
  Progress(std::int64_t first, std::int64_t total, std::int64_t items_per_step,
           std::string item = "token", std::FILE* out = stderr);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Shows a step. `note` is appended to the line ("val 1.93"). If `keep`, the line is not
  /// rewritten later.
  void show(std::int64_t step, double loss, const std::string& note = "", bool keep = false);
  void aim_at(std::int64_t total) { total_ = total; }
  void clear();  // removes the line before other output
  double items_per_second() const { return rate_; }

 private:
  std::int64_t last_, total_, items_per_step_;
  std::string item_;
  std::FILE* out_;
  bool terminal_;
  double last_time_, last_shown_ = 0;  // steady clock
  double steps_ = 0, seconds_ = 0;     // rate = steps_ / seconds_
  double rate_ = 0;
  bool line_open_ = false;
};

/// Formats a duration: 0:42, 12:07, 3:05:10.
std::string clock_time(double seconds);

}  // namespace gradus::train
