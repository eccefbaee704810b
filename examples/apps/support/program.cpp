#include "program.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "gradus/engine/base/parallel.h"
#include "gradus/engine/base/version.h"
#include "gradus/io/text.h"
#include "gradus/ops/create.h"
#include "interrupt.h"
#include "processes.h"

namespace gradus::examples {
namespace {

/// Rejects --out for commands that take the run as an argument.
void refuse_out(CLI::App& command, const std::string& program) {
  if (!command.get_option_no_throw("run") || command.get_option_no_throw("--out")) return;
  const std::string form = "the run is an argument: " + program + " " + command.get_name() + " ";
  const auto refuse = [=](const std::string& run) { throw CLI::ValidationError(form + run); };
  command.add_option_function<std::string>("--out", refuse)->group("");  // hidden
}

}  // namespace

CLI::App& add_command_on_run(CLI::App& app, const std::string& name, const std::string& help,
                             std::string& directory) {
  CLI::App& command = *app.add_subcommand(name, help);
  command.add_option("run", directory, "directory of a run")->required()->type_name("DIR");
  return command;
}

int program(CLI::App& app, const std::string& name, int argc, char** argv,
            const std::function<int()>& work) {
  int threads = 0;
  bool config_asked = false, connected = false;
  std::string what;
  app.add_option("--threads", threads, "worker threads (0 = one per core)")
      ->check(CLI::Range(0, 1024));
  app.add_flag("--build-info", config_asked, "print the build configuration");
  app.set_version_flag("--version", name + " of Gradus " + version(), "print the version");
  for (CLI::App* each : app.get_subcommands({})) {
    each->fallthrough();  // subcommands take these flags too
    refuse_out(*each, name);
  }
  try {
    app.parse(argc, argv);
    if (threads > 0) set_num_threads(threads);
    if (config_asked) std::fputs(config().c_str(), stderr);
    catch_interrupts();
    processes();
    connected = true;
    const int code = work();
    leave_processes();
    return code;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    const std::vector<std::string> rest = app.remaining();
    const bool unknown = app.get_subcommands().empty() && !rest.empty();
    const std::string said =
        unknown ? str_cat("unknown subcommand ", io::quote(rest.front())) : error.what();
    std::string command = name;
    for (const CLI::App* each : app.get_subcommands()) command += " " + each->get_name();
    std::fprintf(stderr, "%s: %s; see %s --help\n", name.c_str(), said.c_str(), command.c_str());
    return 2;
  } catch (const std::bad_alloc&) {
    what = "not enough memory: try a smaller --batch, or a smaller model";
  } catch (const std::exception& error) {
    what = error.what();
  }
  if (connected && processes().size() > 1) processes().abort(what);
  std::fprintf(stderr, "%s: %s\n", name.c_str(), what.c_str());
  return 2;
}

}  // namespace gradus::examples
