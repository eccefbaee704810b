// Trace is a handle on a recorder.
#include "gradus/trace/trace.h"

#include <filesystem>
#include <utility>

#include "gradus/trace/recorder.h"

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

ScopedPause::ScopedPause() { ++trace::pauses; }
ScopedPause::~ScopedPause() { --trace::pauses; }

namespace trace {
std::string program_name() {
  std::error_code none;
  return std::filesystem::read_symlink("/proc/self/exe", none).string();
}

}  // namespace trace
}  // namespace gradus
