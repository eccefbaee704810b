#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <iostream>
#include <thread>

#include "gradus/tests/check/raw_cases.h"
#include "gradus/tests/check/verdicts.h"
#include "gradus/tests/support/environment.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::raw_cases {
namespace {

using testing::has;

/// Returns the output of f on a terminal, or "" if no terminal can be opened.
std::string on_a_terminal(const std::function<void()>& f) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
  if (terminal < 0 || ::grantpt(terminal) != 0 || ::unlockpt(terminal) != 0) return "";
  const int end = ::open(::ptsname(terminal), O_RDWR | O_NOCTTY);
  if (end < 0) return "";
  std::fflush(stderr);
  const int before = ::dup(STDERR_FILENO);
  ::dup2(end, STDERR_FILENO);
  f();
  std::cerr.flush();
  std::fflush(stderr);
  std::string text;
  std::array<char, 4096> part{};
  for (ssize_t n; (n = ::read(terminal, part.data(), part.size())) > 0;)
    text.append(part.data(), static_cast<std::size_t>(n));
  ::dup2(before, STDERR_FILENO);
  for (const int file : {before, end, terminal}) ::close(file);
  return text;
}

}  // namespace

TEST_CASE("terminal: reports are in color unless NO_COLOR is set") {
  const Report report = run(matmul(1, 2, 1));
  for (const bool no_color : {false, true}) {
    const testing::VariableScope scope("NO_COLOR",
                                       no_color ? std::optional<std::string>("1") : std::nullopt);
    const std::string text = on_a_terminal([&] { std::cerr << report; });
    if (!text.empty()) CHECK(has(text, "\033[1;32mPASS\033[0m") == !no_color);
  }
}

TEST_CASE("terminal: a check of more than a second shows its progress and clears it at the end") {
  Case c = elementwise("cube", random_values(60, 1), cube, d_cube);
  c.forward = [f = c.forward](const Arguments& in) {
    std::this_thread::sleep_for(std::chrono::milliseconds(4));
    return f(in);
  };
  const std::string text = on_a_terminal([&] { testing::passes(run(c)); });
  if (text.empty()) return;
  CHECK(has(text, "checking cube: "));
  CHECK(has(text, "of 60 columns"));
  CHECK(text.substr(text.size() - 4) == "\r\033[K");
}

}  // namespace gradus::raw_cases
