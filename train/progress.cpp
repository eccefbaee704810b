// The sequence \r\033[K erases a terminal line.
#include "gradus/train/progress.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "gradus/engine/base/platform.h"
#include "gradus/train/time_budget.h"

namespace gradus::train {
namespace {

constexpr double kTerminalSeconds = 0.1, kPlainSeconds = 5;
constexpr double kMemorySeconds = 30;  // time constant of the moving average

bool shows_control_characters(std::FILE* out) {
  const char* term = std::getenv("TERM");
  return platform::is_terminal(out) && !std::getenv("NO_COLOR") && term &&
         std::string_view(term) != "dumb";
}

}  // namespace

std::string clock_time(double seconds) {
  const auto s = static_cast<long long>(std::llround(std::clamp(seconds, 0.0, 1e9)));
  char text[48];
  if (s >= 3600)
    std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
  else
    std::snprintf(text, sizeof text, "%lld:%02lld", s / 60, s % 60);
  return text;
}

Progress::Progress(std::int64_t first, std::int64_t total, std::int64_t items_per_step,
                   std::string item, std::FILE* out)
    : last_(first),
      total_(total),
      items_per_step_(items_per_step),
      item_(std::move(item)),
      out_(out),
      terminal_(shows_control_characters(out)),
      last_time_(TimeBudget::system_clock()) {}

Progress::~Progress() {
  if (line_open_) std::fputc('\n', out_);
}

void Progress::show(std::int64_t step, double loss, const std::string& note, bool keep) {
  const double now = TimeBudget::system_clock(), taken = now - last_time_;
  const double forget = std::exp(-taken / kMemorySeconds);
  steps_ = forget * steps_ + static_cast<double>(step - last_);
  seconds_ = forget * seconds_ + taken;
  last_ = step;
  last_time_ = now;
  rate_ = seconds_ > 0 ? steps_ * static_cast<double>(items_per_step_) / seconds_ : 0;
  if (!keep && now - last_shown_ < (terminal_ ? kTerminalSeconds : kPlainSeconds)) return;
  last_shown_ = now;
  const double left = steps_ > 0 ? seconds_ / steps_ * static_cast<double>(total_ - step) : 0;
  const bool many = rate_ >= 1000;
  std::fprintf(out_, "%sstep %lld/%lld  loss %.4f  %.1f%s %ss/s  left %s%s%s%s",
               terminal_ ? "\r\033[K" : "", static_cast<long long>(step),
               static_cast<long long>(total_), loss, many ? rate_ / 1000 : rate_, many ? "k" : "",
               item_.c_str(), clock_time(left).c_str(), note.empty() ? "" : "  ", note.c_str(),
               keep || !terminal_ ? "\n" : "");
  std::fflush(out_);
  line_open_ = terminal_ && !keep;
}

void Progress::clear() {
  if (line_open_) std::fputs("\r\033[K", out_);
  line_open_ = false;
}

}  // namespace gradus::train
