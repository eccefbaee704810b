// What every application does at its beginning and its end.
//
// Exit codes: 0 done; 2 wrong flags, files or values, or a full disk, with one line on what to
// mend; 130 stopped by Ctrl-C and saved.
#pragma once

#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace gradus::examples {

/// A subcommand that uses a run: its first argument is the run's directory.
CLI::App& add_command_on_run(CLI::App& app, const std::string& name, const std::string& help,
                             std::string& directory);

/// Adds --threads and --build-info to `app`, reads the command line, notes Ctrl-C from now on
/// (interrupt.h), connects to the other processes (processes.h), and calls `work`. What is thrown
/// becomes one line that begins with `name`; of several processes it ends all.
int program(CLI::App& app, const std::string& name, int argc, char** argv,
            const std::function<int()>& work);

}  // namespace gradus::examples
