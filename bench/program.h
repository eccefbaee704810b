#pragma once

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

namespace gradus::bench {

/// Runs a benchmark. Returns 0, or 2 after a one-line error message.
template <class Work>
int program(CLI::App& app, const char* name, int argc, char** argv, Work work) {
  try {
    app.parse(argc, argv);
    work();
    return 0;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return 2;
  }
}

}  // namespace gradus::bench
