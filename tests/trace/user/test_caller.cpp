// Tests the search for the caller in user code. Compiled with -g, in a separate folder and outside
// namespace gradus.
#include "gradus/trace/caller.h"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "gradus/engine/backward.h"
#include "gradus/engine/base/error.h"
#include "gradus/nn/module.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/reduce.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/thrown.h"
#include "gradus/tests/trace/tape.h"
#include "gradus/trace/nan_finder.h"

namespace me {  // namespace gradus would count as library code

using gradus::Tensor;

int line_of_division = 0, line_of_root = 0;

/// forward is user code, but its caller is not.
struct Ratio : gradus::nn::Layer<Ratio> {
  gradus::nn::Members members() override { return {}; }
  Tensor forward(const Tensor& x) const {
    line_of_division = __LINE__ + 1;
    return x / (x - x);
  }
};

Tensor root_of(const Tensor& x) {
  line_of_root = __LINE__ + 1;
  return sqrt(x);
}

}  // namespace me

namespace gradus::testing::test_caller {
namespace {

using me::line_of_division;
using me::line_of_root;
using me::Ratio;
using me::root_of;
using testing::has;
using testing::message_of;
using trace::NanError;
using trace::NanFinder;

std::string report_of(const std::function<void()>& f) {
  return message_of<NanError>([&] {
    const NanFinder finder;
    f();
  });
}

std::string place(int line) { return str_cat("/trace/user/test_caller.cpp:", line); }

/// False without glibc, for example with musl.
bool has_call_stacks() { return platform::stack_trace().front() != nullptr; }

}  // namespace

TEST_CASE("a NaN report names the line that called the operation") {
  if (!has_call_stacks()) return;
  const Ratio ratio;
  const std::string message = report_of([&] { ratio(zeros({2})); });
  INFO(message);
  CHECK(has(message, place(line_of_division)));
  CHECK(has(message, "(in Ratio)"));
}

TEST_CASE("a NaN in backward is reported with the line of its forward") {
  if (!has_call_stacks()) return;
  const Tensor x = tensor({0.0, 1.0}).requires_grad_();
  const std::string message = report_of([&] { sum(root_of(x)).backward(); });
  INFO(message);
  CHECK(has(message, "backward of sqrt"));
  CHECK(has(message, place(line_of_root)));
}

TEST_CASE("docs/guides/troubleshooting.md shows the actual NaN report") {
  const Tensor a = ones({4, 3}).requires_grad_(), b = ones({4, 3});
  const std::string message = report_of([&] { mean(sqrt(sum(square(a - b), {-1}))).backward(); });
  const auto from = message.find(" gave ");
  REQUIRE(from != std::string::npos);
  std::stringstream page;
  page << std::ifstream(GRADUS_SOURCE_DIR "/docs/guides/troubleshooting.md").rdbuf();
  CHECK(has(page.str(), message.substr(from, message.find(" (in backward") - from)));
}

TEST_CASE("without addr2line, a NaN is reported without its line") {
  const std::string before = std::getenv("PATH");
  setenv("PATH", "/nowhere", 1);
  const std::string message = report_of([] { Ratio()(zeros({2})); });
  setenv("PATH", before.c_str(), 1);
  CHECK(has(message, "divide made [2] 2 nan of 2"));
  CHECK_FALSE(has(message, "called from"));
}

TEST_CASE("the caller is the first frame outside the library") {
  const std::vector<platform::Frame> inner = {
      {"_ZN6gradus5applyEv", "??", 0},
      {"_ZN6gradusdvERKNS_6TensorES2_", "/src/gradus/ops/arithmetic.cpp", 7},
      {"_ZNSt8functionIFvvEEclEv", "/usr/include/c++/12/bits/std_function.h", 591},
      {"_ZN6gradus2nn5LayerclEv", "/opt/x/include/gradus/nn/layer.h", 30},
      {"_ZNK6gradus6models3GPT7forwardEv", "/src/gradus/models/gpt.cpp", 30},
      {"GOMP_parallel", "??", 0},
      {"??", "??", 0}};
  const auto with = [&](const platform::Frame& user) {
    std::vector<platform::Frame> all = inner;
    all.push_back(user);
    all.push_back({"main", "main.cpp", 99});
    return trace::caller_among(all);
  };
  CHECK(trace::caller_among({}) == "");
  CHECK(trace::caller_among(inner) == "");
  CHECK(with({"_Z4stepi", "/home/me/train/step.cpp", 12}) == "/home/me/train/step.cpp:12");
  CHECK(with({"_Z4stepi", "/home/me/ops/step.cpp", 12}) == "/home/me/ops/step.cpp:12");
  CHECK(with({"main", "/home/me/nn/step.cpp", 12}) == "/home/me/nn/step.cpp:12");
  CHECK(with({"_Z4stepi", "/home/me/build/../step.cpp", 12}) == "/home/me/step.cpp:12");
  CHECK(with({"_ZN6gradus2me4stepEv", "/src/gradus/examples/01.cpp", 4}) ==
        "/src/gradus/examples/01.cpp:4");
  CHECK(has(with({"main", "??", 0}), "main (build with -g"));
  CHECK(has(with({"_Z4stepi", "step.cpp", 0}), "step(int) (build with -g"));
  CHECK(has(with({"_Z4stepi", "??", 0}), "cmake --preset debug"));
}

TEST_CASE("a trace names the user's line and shows it") {
  if (!has_call_stacks() || std::system("addr2line --version > /dev/null 2>&1") != 0) return;
  const Ratio ratio;
  Trace trace;
  ratio(ones({2}));
  const testing::ReadTape tape(trace);
  const std::size_t stack = tape.at("ops", 1, "stack");
  const std::size_t user = tape.at("stacks", stack, "user");
  CHECK(tape.at("frames", user, "line") == line_of_division);
  const testing::Json file = tape.at("frames", user, "file");
  CHECK(has(tape.all.at("files").at(file.get<std::size_t>()), "trace/user/test_caller.cpp"));
  bool shown = false;
  for (std::size_t i = 0; i < tape.count("sources"); ++i) {
    const testing::Json first = tape.at("sources", i, "first"),
                        lines = tape.at("sources", i, "lines");
    const int at = line_of_division - first.get<int>();
    if (tape.at("sources", i, "file") == file && at >= 0 && at < std::ssize(lines))
      shown = shown || lines[static_cast<std::size_t>(at)] == "    return x / (x - x);";
  }
  CHECK(shown);
}

}  // namespace gradus::testing::test_caller
