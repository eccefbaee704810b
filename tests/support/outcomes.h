// What each of many calls gives or says, one after the other in one text, which is compared with a
// file in tests/golden/said. GRADUS_WRITE_GOLDEN=1 writes the file anew; read what changed in it.
#pragma once

#include <cstdlib>
#include <fstream>
#include <functional>
#include <iomanip>
#include <sstream>
#include <string>
#include <typeinfo>
#include <vector>

#include "gradus/base/error.h"
#include "gradus/base/platform.h"
#include "gradus/tests/support/catch.h"

namespace gradus::testing {

/// A call as it is written, and what it gives.
struct Call {
  const char* text;
  std::function<std::string()> make;
};

/// A call whose value does not matter.
template <class F>
Call call_of(const char* text, F f) {
  return {text, [f]() -> std::string {
            f();
            return "accepted";
          }};
}
#define GRADUS_CALL(...) \
  gradus::testing::call_of(#__VA_ARGS__, [&] { static_cast<void>(__VA_ARGS__); })

/// A call whose value is shown, doubles with nine digits.
template <class F>
Call value_of(const char* text, F f) {
  return {text, [f] { return str_cat(std::setprecision(9), f()); }};
}
#define GRADUS_VALUE(...) gradus::testing::value_of(#__VA_ARGS__, [&] { return __VA_ARGS__; })

/// What it gives, or "ValueError: what it says".
inline std::string outcome(const std::function<std::string()>& call) {
  try {
    return call();
  } catch (const Error& error) {
    return platform::readable_type(typeid(error).name()) + ": " + error.what();
  }
}

/// Compares a text with tests/golden/said/<name>.txt, and shows the first line that differs.
inline void check_said(const std::string& name, const std::string& text) {
  const std::string path = GRADUS_SOURCE_DIR "/tests/golden/said/" + name + ".txt";
  if (std::getenv("GRADUS_WRITE_GOLDEN")) std::ofstream(path) << text;
  std::ifstream file(path);
  std::istringstream now(text);
  std::string wanted, line;
  for (int number = 1; std::getline(file, wanted); ++number) {
    INFO(path << ", line " << number);
    const bool there = static_cast<bool>(std::getline(now, line));
    REQUIRE((there ? line : "(the text ends)") == wanted);
  }
  REQUIRE_FALSE(std::getline(now, line));
}

/// Each call's text and outcome, by check_said().
inline void check_outcomes(const std::string& name, const std::vector<Call>& calls) {
  std::string text;
  for (const Call& call : calls) text += str_cat(call.text, "\n  ", outcome(call.make), "\n");
  check_said(name, text);
}

}  // namespace gradus::testing
