#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "gradus/tests/check/faulty_ops.h"
#include "gradus/tests/check/faulty_tensor_ops.h"
#include "gradus/tests/check/tensor_cases.h"
#include "gradus/tests/support/catch.h"

namespace gradus::raw_cases {
namespace {

Case random_case(std::uint64_t seed) {
  Random random(seed);
  const auto side = [&random] { return static_cast<Index>(1 + random.below(4)); };
  const double scale = std::pow(10.0, random.between(-3, 1));
  const Index rows = side(), width = side() + 1;
  switch (random.below(7)) {
    case 0:
      return softmax(rows, width, random_values(rows * width, seed, scale));
    case 1:
      return layer_norm(rows, width + 1, scale, seed);
    case 2:
      return matmul(rows, width, side(), seed);
    case 3:
      return elementwise("gelu", random_values(width, seed, scale), gelu, d_gelu);
    case 4:
      return elementwise("cube", random_values(width, seed, scale), cube, d_cube);
    case 5:
      return elementwise("relu", random_values(width, seed, scale), relu, sigma);
    default:
      return elementwise("abs", random_values(width, seed, scale), absolute, sign);
  }
}

struct Tally {
  int faults = 0, failed = 0, named = 0, misnamed = 0;

  void count(const Report& report, std::size_t input, const std::string& expected) {
    const std::string& cause = report.inputs[input].cause.name;
    CAPTURE(report.text());
    CHECK(report.verdict == Verdict::fail);
    CHECK(cause == expected);
    CHECK(longest_line(report.text()) <= 76);
    CHECK(report.text().find(" \n") == std::string::npos);
    ++faults;
    failed += report.verdict == Verdict::fail ? 1 : 0;
    named += !cause.empty() && cause == expected ? 1 : 0;
    misnamed += !cause.empty() && cause != expected ? 1 : 0;
  }
  void print(const char* what) const {
    std::printf("%-22s %6d %6d %6d %6d\n", what, faults, failed, named, misnamed);
  }
};

struct Right {
  int cases = 0, alarms = 0, inconclusive = 0;

  void count(const Report& report) {
    ++cases;
    alarms += report.verdict == Verdict::fail ? 1 : 0;
    inconclusive += report.verdict == Verdict::inconclusive ? 1 : 0;
    if (!report) std::puts(report.text().c_str());
  }
  void print(const char* what) const {
    std::printf("%-22s %6d %6d %6d\n", what, cases, alarms, inconclusive);
  }
};

Tally raw_faults() {
  Tally tally;
  for (const FaultyOp& faulty : all_faulty_ops()) {
    Options options;
    options.output_shape = faulty.output_shape;
    CAPTURE(faulty.name);
    REQUIRE(run(faulty.subject, options));
    tally.count(run_spoiled(faulty.subject, faulty.spoil, options), faulty.input, faulty.cause);
  }
  return tally;
}

Tally tensor_faults() {
  Tally tally;
  for (const faulty_tensor_ops::FaultyOp& faulty : faulty_tensor_ops::all_faulty_ops()) {
    CAPTURE(faulty.name);
    tally.count(faulty_tensor_ops::run(faulty), faulty.input, faulty.cause);
  }
  return tally;
}

}  // namespace

TEST_CASE("faulty ops: wrong derivatives fail with their cause, and correct derivatives pass",
          "[check][raw]") {
  const Tally raw = raw_faults(), tensors = tensor_faults();
  constexpr std::uint64_t kRaw = 6000, kTensors = 4000;
  Right right_raw, right_tensors;
  for (std::uint64_t seed = 1; seed <= kRaw; ++seed) {
    Options options;
    options.seed = seed;
    right_raw.count(run(random_case(seed), options));
  }
  for (std::uint64_t seed = 1; seed <= kTensors; ++seed)
    right_tensors.count(faulty_tensor_ops::check_random_case(seed));
  std::puts("wrong derivatives      faults   fail  named  wrongly");
  raw.print("  of plain arrays");
  tensors.print("  of tensors");
  std::puts("right derivatives       cases alarms inconclusive");
  right_raw.print("  of plain arrays");
  right_tensors.print("  of tensors");
  CHECK(raw.faults >= 60);
  CHECK(raw.faults + tensors.faults >= 240);
  for (const Tally& tally : {raw, tensors}) {
    CHECK(tally.failed == tally.faults);
    CHECK(tally.named * 10 >= tally.faults * 7);
    CHECK(tally.misnamed == 0);
  }
  for (const Right& right : {right_raw, right_tensors}) {
    CHECK(right.alarms == 0);
    CHECK(right.inconclusive == 0);
  }
}

TEST_CASE("faulty ops: faults that no cause explains completely fail without a cause",
          "[check][raw]") {
  const std::vector<FaultyOp> all = faulty_not_quite();
  CHECK(all.size() >= 90);
  for (const FaultyOp& faulty : all) {
    Options options;
    options.output_shape = faulty.output_shape;
    const Report report = run_spoiled(faulty.subject, faulty.spoil, options);
    CAPTURE(faulty.name, report.text());
    CHECK(report.verdict == Verdict::fail);
    CHECK(report.inputs[faulty.input].cause.name.empty());
  }
}

TEST_CASE("faulty ops: the unmodified host functions pass") {
  for (const faulty_tensor_ops::Host& host : faulty_tensor_ops::all_hosts()) {
    const Report first = check::vjp(host.name, host.forward, host.right, host.inputs);
    INFO(first.text());
    CHECK(first);
    const Report second = check::second(host.name, host.forward, host.right, host.inputs);
    INFO(second.text());
    CHECK(second);
  }
}

}  // namespace gradus::raw_cases
