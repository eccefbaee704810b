#pragma once

#include <exception>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <typeinfo>

#include "gradus/engine/base/error.h"
#include "gradus/engine/base/platform.h"
#include "gradus/tests/support/catch.h"

namespace gradus::testing {

/// Returns "" if the current exception is an E whose message contains each noun. Otherwise returns
/// the problem.
template <class E>
std::string refusal_problem(std::initializer_list<std::string_view> nouns) {
  try {
    throw;
  } catch (const E& error) {
    const std::string_view message = error.what();
    for (const std::string_view noun : nouns)
      if (message.find(noun) == message.npos)
        return "\"" + std::string(noun) + "\" is missing in: " + std::string(message);
    return "";
  } catch (const std::exception& other) {
    return platform::demangle(typeid(other).name()) + ": " + other.what();
  }
}

template <class E, class F>
std::string refusal_problem(F&& f, std::initializer_list<std::string_view> nouns) {
  try {
    f();
  } catch (const std::exception&) {
    return refusal_problem<E>(nouns);
  }
  return "nothing was thrown";
}

/// Returns the message of the E that f throws, or a description of the actual outcome.
template <class E = FileError, class F>
std::string refusal(F&& f) {
  try {
    f();
  } catch (const std::exception& error) {
    const bool right = dynamic_cast<const E*>(&error) != nullptr;
    return (right ? "" : platform::demangle(typeid(error).name()) + ": ") + error.what();
  }
  return "nothing was thrown";
}

inline std::string outcome(const std::function<std::string()>& f) {
  try {
    return f();
  } catch (const Error& error) {
    return platform::demangle(typeid(error).name()) + ": " + error.what();
  }
}

}  // namespace gradus::testing

/// Usage: CHECK_REFUSES(ShapeError, matmul(a, b), "matmul", "[2, 3]"). A macro, because clang
/// before 16 cannot capture structured bindings in a lambda.
#define CHECK_REFUSES(E, call, ...)                                       \
  do {                                                                    \
    std::string refusal_found = "nothing was thrown";                     \
    try {                                                                 \
      static_cast<void>(call);                                            \
    } catch (const std::exception&) {                                     \
      refusal_found = gradus::testing::refusal_problem<E>({__VA_ARGS__}); \
    }                                                                     \
    CHECK(refusal_found == "");                                           \
  } while (false)
