// Trace is a handle on a recorder; and one starts by itself where the environment says so.
#include "gradus/trace/trace.h"

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <utility>

#include "gradus/trace/automatic.h"
#include "gradus/trace/nan_finder.h"

namespace gradus {

Trace::Trace(TraceOptions options)
    : recorder_(std::make_unique<trace::Recorder>(std::move(options))) {}
Trace::~Trace() = default;

void Trace::labels(const std::string& axis, std::vector<std::string> names) {
  recorder_->labels(axis, std::move(names));
}
void Trace::write(const std::string& path) { recorder_->write(path); }
std::string Trace::json() { return recorder_->json(); }
void Trace::clear() { recorder_->clear(); }

TracePause::TracePause() { ++trace::pauses; }
TracePause::~TracePause() { --trace::pauses; }

namespace trace {
namespace {

Automatic* automatic = nullptr;  // lives until the process ends
std::terminate_handler terminate_before = nullptr;

Automatic* start() {
  const char* path = std::getenv("GRADUS_TRACE");
  if (!path || !*path) return nullptr;
  check_nan_if_asked();  // it attaches itself to no thread that is observed already
  automatic = Automatic::asked(path, std::getenv("GRADUS_TRACE_STEP")).release();
  if (!automatic) return nullptr;
  std::atexit([] { automatic->finish(); });
  terminate_before = std::set_terminate([] {
    automatic->finish();
    terminate_before();
  });
  return automatic;
}

}  // namespace

void start_if_asked(bool optimizer) {
  static Automatic* const started = start();
  if (started && optimizer && pauses == 0) started->optimizer_made();
}

std::string program_name() {
  std::error_code none;
  return std::filesystem::read_symlink("/proc/self/exe", none).string();
}

}  // namespace trace
}  // namespace gradus

/// Programs are linked with -u gradus_trace_start: that takes this file in, and so it runs.
extern "C" const bool gradus_trace_start;
const bool gradus_trace_start = [] {
  gradus::trace::start_if_asked(false);
  return true;
}();
