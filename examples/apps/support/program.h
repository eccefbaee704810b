// Exit codes: 0 success; 2 wrong flags, files or values, or a full disk; 130 stopped by Ctrl-C
// after saving.
#pragma once

#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace gradus::examples {

/// Adds a subcommand whose argument is a run's directory.
CLI::App& add_command_on_run(CLI::App& app, const std::string& name, const std::string& help,
                             std::string& directory);

/// Adds --threads, --build-info and --version, parses the command line, handles Ctrl-C, connects
/// the processes and calls `work`. An exception ends all processes with one line that starts with
/// `name`.
int program(CLI::App& app, const std::string& name, int argc, char** argv,
            const std::function<int()>& work);

}  // namespace gradus::examples
