// The recorder behind GRADUS_TRACE=FILE.html PROGRAM, for programs that link
// gradus::trace_on_request. Records the main thread. Writes the page after optimizer step
// GRADUS_TRACE_STEP (default: 1), or after that backward pass if the program has no optimizer. If
// there is no such step, writes the page at exit.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "gradus/trace/recorder.h"

namespace gradus::trace {

/// A step is an optimizer step, or a backward pass if there is no optimizer.
class Automatic : public Recorder {
 public:
  /// Writes the page of step `step`, counted from 1, to `path`.
  Automatic(std::string path, Id step, TraceOptions options = {})
      : Recorder(std::move(options)), path_(std::move(path)), wanted_(step) {
    on_ = wanted_ == 1;
  }
  /// Parses GRADUS_TRACE and GRADUS_TRACE_STEP. Returns null if they are unset. Prints a message
  /// and returns null if they are invalid.
  static std::unique_ptr<Automatic> from_env(const char* path, const char* step) {
    if (!path || !*path) return nullptr;
    const long long number = step && *step ? std::atoll(step) : 1;
    if (number >= 1) return std::make_unique<Automatic>(path, number);
    std::fprintf(stderr, "gradus: GRADUS_TRACE_STEP must be an integer of at least 1, got %s\n",
                 step);
    return nullptr;
  }

  /// From the first optimizer on, counts optimizer steps instead of backward passes.
  void on_optimizer_created() override {
    if (pauses > 0) return;
    if (!has_optimizer_ && ended_ == 0) clear();
    has_optimizer_ = true;
  }
  void on_walk_begin(std::span<const Tensor> outputs, bool create_graph) override {
    Recorder::on_walk_begin(outputs, create_graph);
    ++depth_;
  }
  void on_walk_end() noexcept override {
    Recorder::on_walk_end();
    if (--depth_ > 0 || std::uncaught_exceptions() > 0) return;
    if (!has_optimizer_ || std::exchange(updated_in_walk_, false)) end_step();
  }
  void on_update_end(const Update& update) override {
    Recorder::on_update_end(update);
    updated_in_walk_ = depth_ > 0;  // true for Optimizer::step_in_backward
  }
  void on_step_end(std::int64_t) override { end_step(); }

  /// Called at exit or by the terminate handler.
  void finish() noexcept {
    if (written_) return;
    if (ended_ + 1 < wanted_)
      std::fprintf(stderr,
                   "gradus: GRADUS_TRACE_STEP is %lld, but the program made only %lld steps. No "
                   "trace was written.\n",
                   static_cast<long long>(wanted_), static_cast<long long>(ended_));
    else
      write_page();
  }

  /// Returns how many steps have ended.
  Id steps() const { return ended_; }

 protected:
  /// Called at the end of the recorded step.
  virtual void emit() {
    write(path_);
    std::fprintf(stderr, "gradus: trace of step %lld: %s\n", static_cast<long long>(wanted_),
                 path_.c_str());
  }

 private:
  void end_step() noexcept {
    if (pauses > 0) return;
    if (++ended_ == wanted_) write_page();
    on_ = ended_ + 1 == wanted_;
  }
  void write_page() noexcept {
    written_ = true;
    step_ = wanted_;
    try {
      constexpr const char* kNothing =
          "gradus: GRADUS_TRACE: no operation ran on the main thread. No trace was written.\n";
      if (!has_anything()) return void(std::fputs(kNothing, stderr));
      emit();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "gradus: GRADUS_TRACE: %s\n", error.what());
    }
    clear();
  }

  std::string path_;
  Id wanted_, ended_ = 0, depth_ = 0;
  bool has_optimizer_ = false, updated_in_walk_ = false, written_ = false;
};

}  // namespace gradus::trace
