#pragma once

#include <functional>
#include <string>

namespace gradus::testing {

/// Returns the message of the E that f throws. Other exceptions propagate.
template <class E>
std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  }
  return "nothing was thrown";
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace gradus::testing
