// From which size on a Jacobian is sampled, and what a budget leaves out: calls, notes, findings.
#include <chrono>

#include "gradus/tests/check/recorded.h"

namespace gradus::check::recorded {
namespace {

using golden::Page;

/// y_i = Σ_j x_j² / 2^(i mod 3) of so many outputs and elements; the gradient of element `wrong`
/// is off.
Functions sums(std::size_t outputs, std::size_t wrong) {
  const auto weight = [](std::size_t i) { return std::ldexp(1.0, -static_cast<int>(i % 3)); };
  return {[=](const Arguments& in) {
            double sum = 0;
            for (const double v : in[0]) sum += v * v;
            Values y(outputs);
            for (std::size_t i = 0; i < outputs; ++i) y[i] = weight(i) * sum;
            return y;
          },
          [=](const Arguments& in, const Values& dy) {
            double sum = 0;
            for (std::size_t i = 0; i < dy.size(); ++i) sum += weight(i) * dy[i];
            Values dx = in[0];
            for (double& v : dx) v *= 2 * sum;
            if (wrong < dx.size()) dx[wrong] += 0.5 * sum;
            return Arguments{dx};
          }};
}

Input numbered(std::size_t elements) {
  Values x(elements);
  for (std::size_t j = 0; j < elements; ++j) x[j] = 1 + 0.5 * static_cast<double>(j) / 1024;
  return {"x", {}, x};
}

void show_sizes(Page& page, std::size_t outputs, std::size_t elements, const RawOptions& options) {
  const Report r = check_vjp("sums", sums(outputs, SIZE_MAX), {numbered(elements)}, options);
  page.line(outputs, "outputs", elements, "elements:", to_string(r.verdict), r.counts.forward,
            "and", r.counts.vjp, "calls,", r.inputs[0].looked_at, "looked at");
  for (const std::string& note : r.notes) page.line("  ", note);
}

/// forward is slow twice: while it is timed.
Functions slow_at_first(std::size_t wrong, std::chrono::milliseconds wait) {
  Functions f = sums(2, wrong);
  f.forward = [quick = f.forward, wait, calls = 0](const Arguments& in) mutable {
    const auto end = std::chrono::steady_clock::now() + wait;
    while (++calls <= 2 && std::chrono::steady_clock::now() < end) --calls;
    return quick(in);
  };
  return f;
}

}  // namespace

TEST_CASE("Jacobians are whole up to 256 outputs and 2048 elements") {
  Page page;
  for (const std::size_t outputs : {255U, 256U, 257U}) show_sizes(page, outputs, 2, {});
  RawOptions few;
  few.rows = 2;
  few.columns = 3;
  few.projections = 1;
  for (const std::size_t outputs : {2U, 3U, 256U, 257U}) show_sizes(page, outputs, 5, few);
  page.compare("sizes.txt");
}

TEST_CASE("Jacobians are whole up to 2048 elements, those that do not move among them") {
  Page page;
  RawOptions few;
  few.columns = 3;
  few.projections = 1;
  show_sizes(page, 1, 2049, few);
  for (const std::size_t others : {2043U, 2044U}) {
    Subject s{"sums", {numbered(5), {"mask", {}, Values(others, 1.0), false}}, sums(2, 3)};
    s.functions.vjp = [right = s.functions.vjp](const Arguments& in, const Values& dy) {
      return Arguments{right({in[0]}, dy)[0], {}};
    };
    show(page, std::to_string(others) + " others", s, few);
  }
  page.compare("elements.txt");
}

TEST_CASE("wrong elements of large inputs, in a sample and in all of them") {
  Page page;
  RawOptions few;
  few.mode = Mode::projections;
  few.rows = 2;
  few.columns = 3;
  for (const std::size_t wrong : {0U, 7U, 19U}) {
    Subject s{"sums", {numbered(20)}, sums(4, wrong)};
    show(page, "wrong at " + std::to_string(wrong), s, few);
    few.findings = 1 + wrong % 3;
  }
  page.compare("large.txt");
}

TEST_CASE("what a budget pays for is measured, and the rest is said") {
  using namespace std::chrono_literals;
  for (const std::size_t wrong : {std::size_t{SIZE_MAX}, std::size_t{23}}) {
    RawOptions options;
    options.seconds = 0.5;
    Functions f;
    f = slow_at_first(wrong, 4ms);
    const Report r = check_vjp("sums", f, {numbered(40)}, options);  // 40 columns take 0.96 s
    const InputSummary& x = r.inputs[0];
    INFO(r.text());
    CHECK((x.looked_at >= 1 && x.looked_at <= 20));
    CHECK(x.compared == (x.looked_at + 3) * 5);
    CHECK((r.verdict == Verdict::fail) == (wrong == 23));
    const std::string note =
        joined("in 0.5 s ", x.looked_at,
               " of 40 elements of x moved one by one, and all along 3 directions. "
               "A single wrong element shows in each direction if its error is above ");
    const auto said = std::count_if(r.notes.begin(), r.notes.end(),
                                    [&](const std::string& n) { return n.rfind(note, 0) == 0; });
    CHECK(said == 1);
    if (wrong != 23) {
      CHECK(r.counts.forward == 2 + 6 * (x.looked_at + 3));
      continue;
    }
    REQUIRE(!r.findings.empty());
    CHECK(r.findings[0].at == Shape{23});
  }
}

TEST_CASE("a budget that is over at once leaves no time, and says so") {
  Page page;
  RawOptions options;
  options.seconds = 1e-9;
  show(page, "over", {"sums", {numbered(3)}, sums(2, SIZE_MAX)}, options);
  show(page, "wrong", {"sums", {numbered(3)}, sums(2, 1)}, options);
  page.compare("no_time.txt");
}

}  // namespace gradus::check::recorded
