// Trace is a handle on a recorder. Automatic is one that decides by itself when a step has ended.
#include "gradus/trace/trace.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <utility>

#include "gradus/trace/nan_finder.h"
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

TracePause::TracePause() { ++trace::pauses; }
TracePause::~TracePause() { --trace::pauses; }

namespace trace {
namespace {

class Automatic final : public Recorder {
 public:
  Automatic(std::string path, Id step) : Recorder({}), path_(std::move(path)), wanted_(step) {
    on_ = wanted_ == 1;
  }

  /// Steps are counted in optimiser steps from now on. What was before belongs to none.
  void optimizer_made() {
    if (!has_optimizer_ && ended_ == 0) clear();
    has_optimizer_ = true;
  }
  void walk_begin(std::span<const Tensor> outputs, bool create_graph) override {
    Recorder::walk_begin(outputs, create_graph);
    ++depth_;
  }
  void walk_end() noexcept override {
    Recorder::walk_end();
    if (--depth_ > 0 || std::uncaught_exceptions() > 0) return;
    if (!has_optimizer_ || std::exchange(updated_in_walk_, false)) end_step();
  }
  void update_end(const Update& update) override {
    Recorder::update_end(update);
    updated_in_walk_ = depth_ > 0;  // Optimizer::step_in_backward
  }
  void step_end(std::int64_t) override { end_step(); }

  /// The program ends, or something threw that nothing catches.
  void finish() noexcept {
    if (written_) return;
    if (ended_ + 1 < wanted_)
      std::fprintf(stderr,
                   "gradus: GRADUS_TRACE_STEP=%lld: the program made %lld: no trace is written\n",
                   static_cast<long long>(wanted_), static_cast<long long>(ended_));
    else
      write_page();
  }

 private:
  void end_step() noexcept {
    if (pauses > 0) return;
    ++ended_;
    if (ended_ == wanted_) write_page();
    if (ended_ + 1 != wanted_) return;
    clear();
    on_ = true;
  }
  void write_page() noexcept {
    written_ = true;
    step_ = wanted_;
    try {
      if (!has_anything())
        return void(std::fprintf(
            stderr,
            "gradus: GRADUS_TRACE: no operation ran on the main thread: no trace is written\n"));
      write(path_);
      std::fprintf(stderr, "gradus: trace of step %lld: %s\n", static_cast<long long>(wanted_),
                   path_.c_str());
    } catch (const std::exception& error) {
      std::fprintf(stderr, "gradus: GRADUS_TRACE: %s\n", error.what());
    }
    on_ = false;
    clear();
  }

  std::string path_;
  Id wanted_, ended_ = 0, depth_ = 0;
  bool has_optimizer_ = false, updated_in_walk_ = false, written_ = false;
};

Automatic* automatic = nullptr;  // lives until the process ends
std::terminate_handler terminate_before = nullptr;

Automatic* start() {
  const char* path = std::getenv("GRADUS_TRACE");
  if (!path || !*path) return nullptr;
  const char* step = std::getenv("GRADUS_TRACE_STEP");
  const long long number = step && *step ? std::atoll(step) : 1;
  if (number < 1) {
    std::fprintf(stderr, "gradus: GRADUS_TRACE_STEP=%s: must be a number from 1\n", step);
    return nullptr;
  }
  check_nan_if_asked();  // it attaches itself to no thread that is observed already
  automatic = new Automatic(path, number);
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
