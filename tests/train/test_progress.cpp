// The progress line: rate and remaining time within bounds of the test's own clock, and every
// character sent to a terminal.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <string>

#include "gradus/tests/support/catch.h"
#include "gradus/train/progress.h"

namespace gradus::testing {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// A variable of the environment, as it was again at the end.
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

/// The text without rates and times: "step 1/10  loss 2.5000  RATE  left TIME".
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

/// What f sends to a terminal; "" where the system gives none.
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
  Progress progress(0, 10, 1, "token", out);
  progress.clear();  // there is no line yet
  progress.show(1, 2.5);
  progress.show(2, 2.25, "a note");  // too soon
  progress.clear();
  progress.clear();
  progress.show(3, 2.125, "a note", true);
}

void show_one(std::FILE* out) {
  Progress progress(0, 10, 1, "token", out);
  progress.show(1, 2.5, "val 3");
}

}  // namespace

TEST_CASE("on a terminal one line is overwritten, and lasting lines stay") {
  const Variable colour("NO_COLOR", nullptr), term("TERM", "xterm");
  const std::string some = on_terminal(show_some);
  if (some.empty()) return;  // a system without terminals
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
  std::FILE* file = std::tmpfile();
  REQUIRE(file);
  for (const std::int64_t items : {1, 1000}) {
    const double before = now();
    Progress progress(5, 1'000'000'000'000, items, "token", file);
    CHECK(progress.items_per_second() == 0);
    const double made = now();
    std::int64_t step = 5;
    for (const std::int64_t more : {10, 1, 25}) {
      step += more;
      const double begin = now();
      progress.show(step, 1, "", true);
      const double end = now();
      // What came first counts e^(−t / 30 s) as much; a thousandth is for rounding.
      const double done = static_cast<double>(step - 5), rate = progress.items_per_second();
      const double kept = 0.999 * std::exp((before - end) / 30);
      CHECK(rate >= kept * done * static_cast<double>(items) / (end - before));
      if (begin > made) CHECK(kept * rate <= done * static_cast<double>(items) / (begin - made));
      std::rewind(file);
      std::string line;
      for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) {
        if (c == '\n' && line.find(" left ") == std::string::npos) line.clear();
        line += static_cast<char>(c);
      }
      const std::string want = "step " + std::to_string(step) + "/1000000000000  loss 1.0000  ";
      const std::size_t at = line.rfind(want);
      REQUIRE(at != std::string::npos);
      const std::string rest = line.substr(at + want.size());
      const std::size_t number = rest.find_first_not_of("0123456789."),
                        left_at = rest.find("  left ");
      const bool many = rate >= 1000;
      const double said = std::atof(rest.c_str());
      CHECK(rest.substr(number, left_at - number) == (many ? "k tokens/s" : " tokens/s"));
      const std::string time = rest.substr(left_at + 7);
      const bool has_hours = time.find(':') != time.rfind(':');
      const double hours = has_hours ? std::atof(time.c_str()) : 0;
      CHECK(std::abs(said - (many ? rate / 1000 : rate)) <= 0.0501);
      const double left = 1e12 * static_cast<double>(items) / rate;  // of 1e12 − step steps, nearly
      CHECK(std::abs(hours - std::min(left, 1e9) / 3600) <= 1 + 1e-6 * left);
    }
  }
  std::fclose(file);
}

TEST_CASE("the remaining time covers the remaining steps only") {
  std::FILE* file = std::tmpfile();
  REQUIRE(file);
  {
    constexpr std::int64_t kTotal = 1'000'000'000'000;
    Progress progress(kTotal - 9, kTotal, 1, "step", file);
    progress.show(kTotal - 4, 1, "", true);  // four steps of a few microseconds are left
  }
  std::rewind(file);
  char line[200] = {};
  REQUIRE(std::fgets(line, sizeof line, file));
  CHECK(std::string(line).find(':') == std::string(line).rfind(':'));  // no hours
  std::fclose(file);
}

TEST_CASE("without steps, neither rate nor remaining time is shown") {
  std::FILE* file = std::tmpfile();
  REQUIRE(file);
  {
    Progress progress(3, 10, 1, "step", file);
    progress.show(3, 1, "", true);
    CHECK(progress.items_per_second() == 0);
  }
  std::rewind(file);
  char line[200] = {};
  REQUIRE(std::fgets(line, sizeof line, file));
  CHECK(std::string(line) == "step 3/10  loss 1.0000  0.0 steps/s  left 0:00\n");
  std::fclose(file);
}

namespace {

/// Lines that a Progress has written to a file so far, each as it is there at once.
class Lines {
 public:
  Lines() : file(std::tmpfile()) { REQUIRE(file); }
  ~Lines() { std::fclose(file); }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;
  /// What came since the last call: without fflush(), nothing.
  std::string more() {
    char text[400];
    const ssize_t n = ::pread(::fileno(file), text, sizeof text, at_);
    REQUIRE(n >= 0);
    at_ += n;
    return {text, static_cast<std::size_t>(n)};
  }
  std::FILE* const file;

 private:
  off_t at_ = 0;
};

void wait(double seconds) {
  for (const double end = now() + seconds; now() < end;)
    ::usleep(static_cast<useconds_t>(1e6 * std::max(0.0, end - now())));
}

}  // namespace

TEST_CASE("earlier steps and seconds decay by e^(-t / 30 s) in the rate") {
  Lines lines;
  constexpr std::int64_t kMany = 1'000'000'000;
  const double t0 = now();
  Progress progress(0, 10 * kMany, 1, "token", lines.file);
  const double t1 = now();
  progress.show(kMany, 1);  // many steps at once, then one
  const double t2 = now();
  wait(0.1);
  const double t3 = now();
  progress.show(kMany + 1, 1);
  const double t4 = now();
  const auto kept = [](double seconds) { return std::exp(-seconds / 30) * 1e9; };
  CHECK(progress.items_per_second() <= 1.000001 * kept(t3 - t2) / (t3 - t2));
  CHECK(progress.items_per_second() >= 0.999999 * kept(t4 - t1) / (t4 - t0));
  progress.show(3 * kMany, 1);  // now the earlier seconds weigh, and the steps are new
  const double t5 = now();
  const double steps = 2e9 - 1 + kept(t5 - t1), seconds = (t4 - t0) + (t5 - t4);
  CHECK(progress.items_per_second() >= 0.999999 * steps / seconds);
}

TEST_CASE("earlier seconds count less the longer ago they were") {
  Lines lines;
  const double t0 = now();
  Progress progress(0, 1000, 1, "token", lines.file);
  wait(0.1);
  const double begin = now();
  progress.show(0, 1);  // time without steps
  const double t1 = now();
  wait(0.1);
  const double t2 = now();
  progress.show(100, 1);
  const double t3 = now();
  const double seconds = (begin - t0) * std::exp(-(t2 - t1) / 30) + (t3 - begin);
  CHECK(progress.items_per_second() >= 0.999999 * 100 / seconds);
}

TEST_CASE("rates from a thousand on are shown in thousands, and each line is flushed") {
  Lines lines;
  const double begin = now();
  Progress progress(0, 1'000'000'000, 1, "token", lines.file);
  wait(0.01);
  const auto step = static_cast<std::int64_t>(1001 * (now() - begin)) + 2;
  do {  // each call counts some more time, and no step
    progress.show(step, 1, "", true);
    const double rate = progress.items_per_second();
    char said[40];
    if (rate >= 1000)
      std::snprintf(said, sizeof said, "  %.1fk tokens/s", rate / 1000);
    else
      std::snprintf(said, sizeof said, "  %.1f tokens/s", rate);
    REQUIRE(lines.more().find(said) != std::string::npos);
  } while (progress.items_per_second() >= 998);
}

TEST_CASE("a single step gives a remaining time, and only terminals get ten lines a second") {
  Lines lines;
  {
    const double begin = now();
    Progress progress(0, 1'000'000'000'000, 1, "step", lines.file);
    progress.show(1, 1);
    const std::string line = lines.more();
    CHECK(line.find(':') != line.rfind(':'));  // hours
    wait(0.11);
    progress.show(2, 1);  // too soon for a file
    if (now() - begin < 5) CHECK(lines.more().empty());
  }
  const Variable colour("NO_COLOR", nullptr), term("TERM", "xterm");
  const std::string shown = on_terminal([](std::FILE* out) {
    Progress progress(0, 10, 1, "token", out);
    progress.show(1, 1);
    wait(0.11);
    progress.show(2, 1);
  });
  if (shown.empty()) return;  // a system without terminals
  CHECK(masked(shown) == kErase + "step 1/10  loss 1.0000  RATE  left TIME" + kErase +
                             "step 2/10  loss 1.0000  RATE  left TIME\n");
}

}  // namespace gradus::testing
