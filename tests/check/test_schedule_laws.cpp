// Deadlines and shares against the clock itself, read before and after; who works; what a budget
// that runs out changes in the verdicts.
#include <atomic>
#include <chrono>

#include "gradus/check/raw/vjp_check.h"
#include "gradus/tests/support/catch.h"

namespace gradus::check {
namespace {

using Clock = std::chrono::steady_clock;

Schedule schedule_of(double seconds, int threads) {
  RawOptions options;
  options.seconds = seconds;
  options.threads = threads;
  return {"f", options};
}

std::vector<Input> inputs_of(const std::vector<std::size_t>& sizes) {
  std::vector<Input> inputs;
  for (const std::size_t n : sizes) inputs.push_back({"x", {}, Values(n, 1.0)});
  return inputs;
}

void wait_until(const Schedule& s, double seconds) {
  while (s.seconds() < seconds) continue;
}

/// Does it afford all, where that takes `wanted` seconds? Asked again until the clock stood as good
/// as still meanwhile.
bool affords(double wanted, bool counted) {
  for (int attempt = 0; attempt < 1000; ++attempt) {
    Schedule s = schedule_of(0, 1);
    wait_until(s, 1e-3);
    const double begin = s.seconds();
    const std::size_t elements = counted ? 100'000 : static_cast<std::size_t>(wanted / (8 * begin));
    s.plan(1, inputs_of({elements}));
    const double calls = 8 * static_cast<double>(elements) + 1;
    const double now = s.seconds();
    const bool result = s.affords_all(1, counted ? std::llround(calls * now / wanted) : 0);
    if (s.seconds() < 1.02 * (counted ? now : begin)) return result;
  }
  FAIL("the clock jumps");
  return false;
}

/// Σ x² of all inputs, slow while it is timed; at its n-th call beside the inputs it waits until
/// so much of the budget is over. The gradients of the first input are wrong where this says so.
struct Timed {
  double call, budget;
  int nth;  // 0: never
  std::vector<bool> wrong;
  std::vector<std::size_t> sizes;
  double until = 1.1;  // of the budget

  Report report(const RawOptions& more = {}) const {
    RawOptions options = more;
    options.seconds = budget;
    options.beside = false;
    std::vector<Input> inputs = inputs_of(sizes);
    for (Input& input : inputs)
      for (std::size_t j = 0; j < input.values.size(); ++j)
        input.values[j] = 1 + 0.125 * static_cast<double>(j % 8);
    Arguments at;
    for (const Input& input : inputs) at.push_back(input.values);
    const auto begin = Clock::now();
    const auto forward = [t = *this, at, begin, timed = 0, moved = 0](const Arguments& in) mutable {
      const auto now = Clock::now();
      const auto wait = [](auto from, double seconds) {
        while (std::chrono::duration<double>(Clock::now() - from).count() < seconds) continue;
      };
      if (++timed <= 2) wait(now, t.call);
      std::size_t apart = 0;
      double sum = 0;
      for (std::size_t k = 0; k < in.size(); ++k)
        for (std::size_t j = 0; j < in[k].size(); ++j) {
          apart += in[k][j] != at[k][j] ? 1 : 0;
          sum += in[k][j] * in[k][j];
        }
      if (apart == 1 && ++moved == t.nth) wait(begin, t.until * t.budget);
      return Values{sum};
    };
    const auto vjp = [w = wrong](const Arguments& in, const Values& dy) {
      Arguments dx = in;
      for (std::size_t k = 0; k < dx.size(); ++k)
        for (std::size_t j = 0; j < dx[k].size(); ++j)
          dx[k][j] *= (k == 0 && j < w.size() && w[j] ? 3 : 2) * dy[0];
      return dx;
    };
    return check_vjp("sums", {forward, vjp}, inputs, options);
  }
};

bool notes(const Report& r, const std::string& words) {
  return std::any_of(r.notes.begin(), r.notes.end(),
                     [&](const std::string& note) { return note.find(words) != note.npos; });
}

}  // namespace

TEST_CASE("five seconds are afforded, for eight calls an element and one an output") {
  CHECK(affords(4.75, true));
  CHECK_FALSE(affords(5.25, true));
  CHECK(affords(4, false));  // no call so far counts as one
  CHECK_FALSE(affords(6, false));
}

TEST_CASE("a budget that is just enough does not limit") {
  for (const double call : {9.0, 9.001}) {
    Schedule s = schedule_of(60, 1);  // of which 54 are for columns of six calls
    s.plan(call, inputs_of({1}));
    CHECK(s.limited() == (call > 9));
  }
}

TEST_CASE("a deadline divides what is left of its share, and of nothing gives nothing") {
  const double budget = 0.02, own[] = {4, 2, 10}, later[] = {16, 12, 10};
  Schedule s = schedule_of(budget, 1);
  s.plan(budget / 96, inputs_of({4, 2, 10}));
  REQUIRE((s.limited() && s.columns(2) == 10));
  for (const double until : {0.25 * budget, 0.5 * budget, 1.5 * budget}) {
    wait_until(s, until);
    for (std::size_t k = 0; k < 3; ++k)
      for (const double share : {0.9, 0.6}) {
        // The clock is read twice: for what is left, and for when that begins.
        const auto part = [&](double now) {
          return std::max(share * budget - now, 0.0) * own[k] / later[k];
        };
        const double before = s.seconds(), got = s.deadline(k, share < 0.9), after = s.seconds();
        CHECK((got >= before + part(after) - 1e-12 && got <= after + part(before) + 1e-12));
      }
  }
}

TEST_CASE("as many subjects as threads work at once, and no more than there is work") {
  struct Counted {
    std::shared_ptr<std::atomic<int>> copies = std::make_shared<std::atomic<int>>(0);
    Counted() = default;
    Counted(const Counted& other) : copies(other.copies) { ++*copies; }
    Values operator()(const Arguments& in) const { return in[0]; }
  };
  const Counted f;
  Subject subject({f, [](const Arguments&, const Values& dy) { return Arguments{dy}; }},
                  {{"x", {2}, {1, 2}}});
  for (const int threads : {1, 2, 4})
    for (const std::size_t first : {0U, 5U})
      for (const std::size_t count : {0U, 1U, 2U, 3U, 9U}) {
        const int before = *f.copies;
        schedule_of(0, threads).run(first, first + count, 0, subject, [](std::size_t, Subject&) {});
        const int some = std::max(std::min(threads, static_cast<int>(count)), 1);
        CAPTURE(threads, first, count);
        CHECK(*f.copies - before == some - 1);
      }
  // Each piece waits for the others: one thread alone would not come to an end.
  std::atomic<int> begun{0};
  const auto limit = Clock::now() + std::chrono::seconds(20);
  schedule_of(0, 3).run(0, 3, 0, subject, [&](std::size_t, Subject&) {
    ++begun;
    while (begun < 3 && Clock::now() < limit) std::this_thread::yield();
  });
  CHECK(Clock::now() < limit);
}

TEST_CASE("what is left out is told in three digits, by the worst of the directions") {
  const Slope good{.value = 2, .noise = 1e-12}, bad{.value = 2, .noise = 1e-4};
  const std::vector<Probe> probes{{{1.5}, 0}};
  const Schedule s = schedule_of(1.23456, 1);
  const Numeric n{{{0}, {1}, {{}, Values(7, 1.0)}, {{}, Values(7, 1.0)}},
                  {{good}, {good}, {bad}, {good}}};
  const std::string text = left_out(s, {"x", {7}, Values(7, 1.0)}, n, probes, {});
  CHECK(text.find("in 1.23 s 2 of 7 elements of x") == 0);
  CHECK(text.find("missed with a chance of 71.4 %") != std::string::npos);
  CHECK(shown_along(n, probes, {}) > 1e-3);
}

TEST_CASE("an input that there was time for is not said to be left out, and another is") {
  const Report r = Timed{1e-3, 0.25, 0, {}, {2, 40}}.report();  // 42 columns take 0.252 s
  INFO(r.text());
  CHECK((r && r.inputs[0].looked_at == 2 && r.inputs[1].looked_at < 40));
  CHECK(r.notes.size() == 1);
  CHECK(notes(r, " of 40 elements of x moved one by one"));
}

TEST_CASE("where time is over after the first element, that one is judged, and the rest is said") {
  const Report r = Timed{5e-4, 0.12, 1, {true, true}, {2, 40}}.report();
  INFO(r.text());
  CHECK((r.verdict == Verdict::fail && r.inputs[0].looked_at == 1 && r.inputs[0].wrong == 1));
  CHECK(notes(r, "in 0.12 s 1 of 2 elements of x moved one by one"));
  REQUIRE(r.findings.size() > 1);
  CHECK(r.findings[0].verdict == Verdict::fail);
  CHECK(r.findings[0].at == Shape{0});
  for (std::size_t i = 1; i < r.findings.size(); ++i)
    CHECK(r.findings[i].verdict == Verdict::inconclusive);
}

TEST_CASE("where time is over and one element is wrong, what is right stays right") {
  const Report r = Timed{5e-4, 0.12, 7, {true, false}, {2, 40}}.report();
  INFO(r.text());
  CHECK((r.inputs[0].looked_at == 2 && r.inputs[0].wrong == 1 && r.inputs[0].unseen == 0));
}

TEST_CASE("where directions found something wrong, elements are given less of the budget") {
  Timed timed{5e-4, 0.12, 1, {}, {42}, 0.75};  // waits past 0.6 of it, and not past 0.9
  const auto begin = Clock::now();
  const Report right = timed.report();
  const std::chrono::duration<double> taken = Clock::now() - begin;
  CHECK(right);
  if (taken.count() < 0.88 * timed.budget) CHECK(right.inputs[0].looked_at > 1);
  timed.wrong = std::vector<bool>(42, true);
  CHECK(timed.report().inputs[0].looked_at == 1);
}

TEST_CASE("rows are sampled under a budget, however few there are") {
  RawOptions few;
  few.rows = 0;
  CHECK(Timed{1e-3, 0.25, 0, {}, {42}}.report(few));
}

TEST_CASE("no number of threads stands for all that there are, and takes no more time than one") {
  Schedule s = schedule_of(1, 0);
  s.plan(0.1, inputs_of({1}));
  CHECK_FALSE(s.limited());
}

}  // namespace gradus::check
