// Starts trace/automatic.h before main(). gradus::trace_on_request links this file into programs.
#include <cstdlib>
#include <exception>

#include "gradus/engine/base/environment.h"
#include "gradus/trace/automatic.h"
#include "gradus/trace/nan_finder.h"

namespace gradus::trace {
namespace {

Automatic* automatic = nullptr;  // lives until the process ends
std::terminate_handler terminate_before = nullptr;

bool start_from_env() {
  using environment::Variable, environment::value_of;
  if (!*value_of(Variable::trace)) return false;
  check_nan_from_env();  // first, because it skips threads that have an observer
  automatic =
      Automatic::from_env(value_of(Variable::trace), value_of(Variable::trace_step)).release();
  if (!automatic) return false;
  std::atexit([] { automatic->finish(); });
  terminate_before = std::set_terminate([] {
    automatic->finish();
    terminate_before();
  });
  return true;
}

[[maybe_unused]] const bool started = start_from_env();

}  // namespace
}  // namespace gradus::trace
