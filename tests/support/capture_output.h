#pragma once

#include <unistd.h>

#include <cstdio>
#include <string>

#include "gradus/tests/support/catch.h"

namespace gradus::testing {

/// Returns the output of f on stderr. f must not throw.
template <class F>
std::string capture_output(F&& f) {
  std::FILE* file = std::tmpfile();
  REQUIRE(file);
  std::fflush(stderr);
  const int before = ::dup(STDERR_FILENO);
  ::dup2(::fileno(file), STDERR_FILENO);
  f();
  std::fflush(stderr);
  ::dup2(before, STDERR_FILENO);
  ::close(before);
  std::rewind(file);
  std::string output;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) output += static_cast<char>(c);
  std::fclose(file);
  return output;
}

}  // namespace gradus::testing
