// What each of many calls gives or says, one after the other in one text.
#pragma once

#include <functional>
#include <iomanip>
#include <string>
#include <typeinfo>
#include <vector>

#include "gradus/base/error.h"
#include "gradus/base/platform.h"
#include "gradus/tests/support/golden.h"

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

/// `text` must be that of tests/golden/said/NAME.txt.
inline void check_said(const std::string& name, const std::string& text) {
  check_golden("said/" + name + ".txt", text);
}

/// Each call's text and outcome must be those of tests/golden/said/NAME.txt.
inline void check_outcomes(const std::string& name, const std::vector<Call>& calls) {
  std::string text;
  for (const Call& call : calls) text += str_cat(call.text, "\n  ", outcome(call.make), "\n");
  check_said(name, text);
}

}  // namespace gradus::testing
