// Startup and error handling of every application.
//
// Exit codes: 0 success; 2 wrong flags, files or values, or a full disk, with a one-line message;
// 130 stopped by Ctrl-C and saved.
#pragma once

#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace gradus::examples {

/// Adds a subcommand whose first argument is a run's directory.
CLI::App& add_command_on_run(CLI::App& app, const std::string& name, const std::string& help,
                             std::string& directory);

/// Adds --threads and --build-info to `app`, parses the command line, handles Ctrl-C (interrupt.h),
/// connects the processes (processes.h), and calls `work`. Reports exceptions in one line that
/// starts with `name`, and ends all processes.
int program(CLI::App& app, const std::string& name, int argc, char** argv,
            const std::function<int()>& work);

}  // namespace gradus::examples
