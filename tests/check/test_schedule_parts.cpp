// What there is time for, by plain arithmetic; who does which work; and the line on a terminal.
#include <fcntl.h>
#include <unistd.h>

#include <set>

#include "gradus/check/raw/report.h"
#include "gradus/check/raw/schedule.h"
#include "gradus/tests/check/golden.h"

namespace gradus::check {
namespace {

using golden::Page;

std::vector<Input> inputs_of(const std::vector<std::size_t>& sizes) {
  std::vector<Input> inputs;
  for (const std::size_t n : sizes) inputs.push_back({"x", {}, Values(n, 1.0), n != 13});
  return inputs;
}

Schedule planned(double seconds, int threads, double call, const std::vector<std::size_t>& sizes) {
  RawOptions options;
  options.seconds = seconds;
  options.threads = threads;
  Schedule schedule("f", options);
  schedule.plan(call, inputs_of(sizes));
  return schedule;
}

Subject some_subject() {
  return {{[](const Arguments& in) { return in[0]; },
           [](const Arguments&, const Values& dy) { return Arguments{dy}; }},
          {{"x", {2}, {1, 2}}}};
}

/// What f writes to a terminal that is its standard error (and output); empty where there is none.
template <class F>
std::string on_a_terminal(F f) {
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
  if (master < 0 || ::grantpt(master) != 0 || ::unlockpt(master) != 0) return "";
  const int slave = ::open(::ptsname(master), O_RDWR | O_NOCTTY);
  if (slave < 0) return "";
  std::fflush(stderr);
  const int before = ::dup(STDERR_FILENO);
  ::dup2(slave, STDERR_FILENO);
  std::string text;
  f([&] {
    std::fflush(stderr);
    std::array<char, 4096> part{};
    const auto count = ::read(master, part.data(), part.size());
    text += (count > 0 ? std::string(part.data(), static_cast<std::size_t>(count)) : "") + "|";
  });
  ::dup2(before, STDERR_FILENO);
  for (const int file : {before, slave, master}) ::close(file);
  return text;
}

}  // namespace

TEST_CASE("columns that a budget pays for are golden/check/budgets.txt") {
  Page page;
  for (const double seconds : {0.0, 1.0, 10.0, 100.0})
    for (const int threads : {1, 4})
      for (const double call : {1e-3, 0.03125})
        for (const std::vector<std::size_t>& sizes :
             {std::vector<std::size_t>{40}, {13, 100}, {100, 5, 40}, {7, 7, 300}, {160}, {1}}) {
          const Schedule s = planned(seconds, threads, call, sizes);
          std::vector<std::size_t> columns;
          for (std::size_t k = 0; k < sizes.size(); ++k) columns.push_back(s.columns(k));
          page.line(seconds, threads, call, sizes, s.limited(), s.budget(), columns, s.over());
        }
  page.compare("budgets.txt");
}

TEST_CASE("what time is left is divided by the elements that are left") {
  const Schedule s = planned(1e6, 1, 1e5, {4, 2, 10});  // 600000 a column: one
  REQUIRE(s.limited());
  CHECK((s.columns(0) == 0 && s.columns(1) == 0 && s.columns(2) == 1));
  const Schedule t = planned(1e6, 1, 1e4, {4, 2, 10});  // 16
  REQUIRE(t.limited());
  CHECK((t.columns(0) == 4 && t.columns(1) == 2 && t.columns(2) == 10));
  for (std::size_t k = 0; k < 3; ++k)
    for (const bool suspect : {false, true}) {
      const double left[] = {16, 12, 10}, own[] = {4, 2, 10};
      const double share = suspect ? 0.6 : 0.9;
      CHECK(t.deadline(k, suspect) == Approx(share * 1e6 * own[k] / left[k]).epsilon(1e-4));
    }
  const Schedule late = planned(1e-9, 1, 1, {4, 2});
  CHECK((late.over() && late.deadline(1, false) >= 0 && late.deadline(1, false) < 60));
  CHECK(s.deadline(0, false) < 60);
  CHECK(s.deadline(2, false) == Approx(0.9e6).epsilon(1e-4));
}

TEST_CASE("all is looked at where pairs and seconds are few") {
  const Schedule s = planned(0, 1, 1, {1500, 500, 13});
  while (s.seconds() < 1e-3) continue;
  const std::int64_t quick = 1'000'000'000'000;
  CHECK(s.affords_all(1000, quick));
  CHECK_FALSE(s.affords_all(1001, quick));
  CHECK_FALSE(s.affords_all(1000, 1));  // 17000 calls of a millisecond
  CHECK_FALSE(s.affords_all(1, 1));     // 16001
  CHECK_FALSE(s.affords_all(1, 0));
  CHECK_FALSE(s.affords_all(1, -5));
  CHECK_FALSE(planned(0, 1, 1, {1}).affords_all(2'000'001, quick));
  CHECK_FALSE(planned(1, 1, 1, {40}).affords_all(1, quick));  // limited
  const Schedule few = planned(0, 1, 1, {1});
  while (few.seconds() < 1e-3) continue;
  CHECK_FALSE(few.affords_all(10'000, 1));  // 10008 calls
}

TEST_CASE("each piece of work is done once, in order by one thread, and counted") {
  for (const int threads : {1, 2, 3})
    for (const auto& [first, last] : {std::pair<std::size_t, std::size_t>{0, 0}, {0, 1}, {2, 9}}) {
      const Schedule s = planned(0, threads, 1, {2});
      Subject subject = some_subject();
      subject.measure_output();
      std::mutex mutex;
      std::vector<std::size_t> done;
      const std::size_t next = s.run(first, last, -1, subject, [&](std::size_t i, Subject& own) {
        own.column_of(0, {0}, {}, {});
        const std::lock_guard lock(mutex);
        done.push_back(i);
      });
      CAPTURE(threads, first, last);
      CHECK(next == last);
      std::vector<std::size_t> all;
      for (std::size_t i = first; i < last; ++i) all.push_back(i);
      if (threads > 1) std::sort(done.begin(), done.end());
      CHECK(done == all);
      CHECK(subject.counts().forward == 2 + 6 * std::ssize(all));
    }
  const Schedule limited = planned(1e6, 1, 1e6, {4});
  Subject subject = some_subject();
  CHECK(limited.run(0, 3, -1, subject, [](std::size_t, Subject&) {}) == 0);
  CHECK(limited.run(0, 3, 1e6, subject, [](std::size_t, Subject&) {}) == 3);
  int calls = 0;
  CHECK_THROWS_AS(limited.run(0, 9, 1e6, subject,
                              [&](std::size_t i, Subject&) {
                                ++calls;
                                if (i == 2) throw Stop{Verdict::fail, "third"};
                              }),
                  Stop);
  CHECK(calls == 3);
}

TEST_CASE("what a budget left out, and what that may miss, is golden/check/left_out.txt") {
  Page page;
  const Slope good{.value = 2, .noise = 1e-12}, rough{.value = -1, .change = 1e-3, .noise = 1e-9};
  const std::vector<Probe> probes{{{1.5}, 0}, {{1, 2}}};
  const Schedule s = planned(2, 1, 1, {4});
  for (const auto& [one, two] : {std::pair{good, good}, {good, rough}, {rough, rough}}) {
    Numeric n{{{0}, {{}, {0.6, -0.9, 1, 2}}, {{}, {-0.25, 3, 1, 1}}},
              {{rough, rough}, {one, two}, {two, one}}};
    page.line(shown_along(n, probes, {}), left_out(s, {"x", {4}, {1, 2, 3, 4}}, n, probes, {}));
    n.moves.resize(2);
    n.slopes.resize(2);
    page.line(shown_along(n, probes, {}), left_out(s, {"x", {4}, {1, 2, 3, 4}}, n, probes, {}));
    n.moves.resize(1);
    n.slopes.resize(1);
    page.line(shown_along(n, probes, {}));
    try {
      page.line(left_out(s, {"x", {4}, {1, 2, 3, 4}}, n, probes, {}));
    } catch (const Stop& stop) {
      page.line(to_string(stop.verdict), stop.note);
    }
  }
  page.compare("left_out.txt");
}

TEST_CASE("progress is a line on a terminal that is written over") {
  const std::string text = on_a_terminal([](auto flush) {
    {
      Progress progress("soft");
      for (const double seconds : {0.5, 0.99, 1.0, 1.2, 1.25, 1.26, 4.0}) {
        progress.show(2, 10, seconds);
        flush();
      }
      progress.show(0, 10, 9);
      flush();
      progress.show(10, 10, 20);
      flush();
    }
    flush();
    { Progress("never shown"); }
    flush();
  });
  if (text.empty()) return;  // no terminal can be had here
  const std::string line = "\r\033[Kchecking soft: 2 of 10 columns, ";
  CHECK(text == "||" + line + "4 s left||" + line + "5 s left||" + line + "16 s left||" +
                    "\r\033[Kchecking soft: 10 of 10 columns, 0 s left|\r\033[K||");
}

TEST_CASE("work of more than a second shows how many columns are done") {
  const Schedule s = planned(0, 1, 1, {2});
  Subject subject = some_subject();
  const std::string text = on_a_terminal([&](auto flush) {
    s.run(2, 5, 0, subject, [&](std::size_t i, Subject&) {
      while (i == 2 && s.seconds() <= 1.0)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    });
    flush();
  });
  if (!text.empty()) CHECK(text.find("\r\033[Kchecking f: 1 of 3 columns, ") == 0);
}

TEST_CASE("a report is in colour on a terminal, and nowhere else") {
  if (std::getenv("NO_COLOR") != nullptr) return;
  Report report;
  report.name = "f";
  const std::string text = on_a_terminal([&](auto flush) {
    std::cerr << report << std::flush;
    flush();
  });
  std::ostringstream plain;
  plain << report;
  CHECK(plain.str() == report.text());
  if (!text.empty()) CHECK(text.find("GRADCHECK \033[1;32mPASS\033[0m  f") == 0);
}

TEST_CASE("the streams of a terminal get colours, others none, and none does with NO_COLOR") {
  if (std::getenv("NO_COLOR") != nullptr) return;
  std::vector<bool> coloured;
  const std::string text = on_a_terminal([&](auto flush) {
    std::fflush(stdout);
    const int before = ::dup(STDOUT_FILENO);
    ::dup2(STDERR_FILENO, STDOUT_FILENO);
    std::ostringstream file;
    coloured = {in_colour(std::cout), in_colour(std::cerr), in_colour(file)};
    ::setenv("NO_COLOR", "", 1);
    coloured.push_back(in_colour(std::cout) || in_colour(std::cerr));
    ::unsetenv("NO_COLOR");
    ::dup2(before, STDOUT_FILENO);
    ::close(before);
    flush();
  });
  if (!text.empty()) CHECK(coloured == std::vector<bool>{true, true, false, false});
}

}  // namespace gradus::check
