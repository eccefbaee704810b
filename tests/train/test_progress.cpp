#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>

#include "gradus/tests/support/catch.h"
#include "gradus/train/progress.h"

namespace gradus::testing::test_progress {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old, there_ = true;
    value ? ::setenv(name, value, 1) : ::unsetenv(name);
  }
  ~Variable() { there_ ? ::setenv(name_, old_.c_str(), 1) : ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::string old_;
  bool there_ = false;
};

/// Replaces rates and times: "step 1/10  loss 2.5000  RATE  left TIME".
std::string masked(std::string text) {
  for (std::size_t at = 0; (at = text.find("  left ", at)) != std::string::npos;) {
    const std::size_t rate = text.rfind("  ", at - 1) + 2;
    text.replace(rate, at - rate, "RATE");
    at = rate + 11;
    const std::size_t end = text.find_first_not_of("0123456789:", at);
    text.replace(at, (end == std::string::npos ? text.size() : end) - at, "TIME");
  }
  return text;
}

/// Returns the output of f on a terminal, or "" if no terminal is available.
template <class F>
std::string on_terminal(F f) {
  const int ours = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (ours < 0 || ::grantpt(ours) != 0 || ::unlockpt(ours) != 0) return "";
  std::FILE* theirs = std::fopen(::ptsname(ours), "w");
  if (!theirs) return "";
  f(theirs);
  std::fputs("|", theirs);
  std::fflush(theirs);
  std::string text;
  for (char c = 0; ::read(ours, &c, 1) == 1 && c != '|';)
    if (c != '\r' || text.empty() || text.back() != '\r') text += c;
  std::fclose(theirs);
  ::close(ours);
  for (std::size_t at = 0; (at = text.find("\r\n", at)) != std::string::npos;) text.erase(at, 1);
  return text;
}

const std::string kErase = "\r\033[K";

void show_some(std::FILE* out) {
  train::Progress progress(0, 10, 1, "token", out);
  progress.clear();  // no line to clear
  progress.show(1, 2.5);
  progress.show(2, 2.25, "a note");  // too soon after the last line
  progress.clear();
  progress.clear();
  progress.show(3, 2.125, "a note", true);
}

struct Lines {
  Lines() { REQUIRE(file); }
  ~Lines() { std::fclose(file); }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;
  std::string last() const {
    std::rewind(file);
    std::string line, last;
    for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) {
      line += static_cast<char>(c);
      if (c == '\n') last = std::exchange(line, "");
    }
    return last;
  }
  std::FILE* const file = std::tmpfile();
};

void show_one(std::FILE* out) {
  train::Progress progress(0, 10, 1, "token", out);
  progress.show(1, 2.5, "val 3");
}

}  // namespace

TEST_CASE("on a terminal one line is overwritten, and kept lines remain") {
  const Variable colour("NO_COLOR", nullptr), term("TERM", "xterm");
  const std::string some = on_terminal(show_some);
  if (some.empty()) return;
  CHECK(masked(some) == kErase + "step 1/10  loss 2.5000  RATE  left TIME" + kErase + kErase +
                            "step 3/10  loss 2.1250  RATE  left TIME  a note\n");
  CHECK(masked(on_terminal(show_one)) ==
        kErase + "step 1/10  loss 2.5000  RATE  left TIME  val 3\n");
}

TEST_CASE("a terminal without control characters gets plain lines") {
  const std::string plain = "step 1/10  loss 2.5000  RATE  left TIME  val 3\n";
  const auto shown = [] { return masked(on_terminal(show_one)); };
  {
    const Variable colour("NO_COLOR", nullptr), term("TERM", "xterm");
    if (shown().empty()) return;
  }
  {
    const Variable colour("NO_COLOR", "1"), term("TERM", "xterm");
    CHECK(shown() == plain);
  }
  {
    const Variable colour("NO_COLOR", nullptr), term("TERM", "dumb");
    CHECK(shown() == plain);
  }
  const Variable colour("NO_COLOR", nullptr), term("TERM", nullptr);
  CHECK(shown() == plain);
}

TEST_CASE("rate and remaining time follow the steps and their time") {
  for (const std::int64_t items : {1, 1000}) {
    const double before = now();
    std::int64_t step = 5;
    Lines lines;
    train::Progress progress(5, 1'000'000'000'000, items, "token", lines.file);
    CHECK(progress.items_per_second() == 0);
    const double made = now();
    for (const std::int64_t more : {10, 1, 25}) {
      step += more;
      const double begin = now();
      progress.show(step, 1, "", true);
      const double end = now(), rate = progress.items_per_second();
      char first = 0;
      CHECK(::pread(::fileno(lines.file), &first, 1, 0) == 1);  // the line was flushed
      // The rate weights earlier items by at least e^(−t / 30 s). The factor 0.999 allows for
      // rounding.
      const double kept = 0.999 * std::exp((before - end) / 30);
      const double done = static_cast<double>((step - 5) * items);
      CHECK(rate >= kept * done / (end - before));
      if (begin > made) CHECK(kept * rate <= done / (begin - made));
      const std::string line = lines.last();
      const bool many = rate >= 1000;
      CHECK(line.starts_with("step " + std::to_string(step) + "/1000000000000  loss 1.0000  "));
      CHECK(line.find(many ? "k tokens/s  left " : " tokens/s  left ") != std::string::npos);
      const double shown_rate = std::atof(line.c_str() + line.find("1.0000  ") + 8);
      CHECK(std::abs(shown_rate - (many ? rate / 1000 : rate)) <= 0.0501);
      const double hours = std::atof(line.c_str() + line.find("left ") + 5);
      const double left = 1e12 * static_cast<double>(items) / rate;
      CHECK(std::abs(hours - std::min(left, 1e9) / 3600) <= 1 + 1e-6 * left);
    }
  }
}

TEST_CASE("the remaining time covers the remaining steps only, and is 0 without steps") {
  constexpr std::int64_t kTotal = 1'000'000'000'000;
  Lines lines;
  train::Progress last(kTotal - 9, kTotal, 1, "step", lines.file);
  last.show(kTotal - 4, 1, "", true);
  CHECK(lines.last().find(':') == lines.last().rfind(':'));  // the time has no hours
  train::Progress none(3, 10, 1, "step", lines.file);
  none.show(3, 1, "", true);
  CHECK(none.items_per_second() == 0);
  CHECK(lines.last().find("0.0 steps/s  left 0:00") != std::string::npos);
}

}  // namespace gradus::testing::test_progress
