// A recorder that decides by itself when a step has ended: GRADUS_TRACE=FILE.html PROGRAM. It
// records the main thread of programs that link gradus::trace_on_request, from their start. The
// page is written when optimiser step number GRADUS_TRACE_STEP (1) has ended; of a program without
// an optimiser, when that backward has; else when the program ends.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "gradus/trace/recorder.h"

namespace gradus::trace {

/// A step is one of the optimiser; of a program that has none, a backward. The page of the wanted
/// one is written when it has ended, once.
class Automatic final : public Recorder {
 public:
  /// The page of step number `step`, from 1, goes to the file `path`.
  Automatic(std::string path, Id step) : Recorder({}), path_(std::move(path)), wanted_(step) {
    on_ = wanted_ == 1;
  }
  /// What GRADUS_TRACE and GRADUS_TRACE_STEP ask for. Null: nothing, or a step that is no number,
  /// which is said on standard error.
  static std::unique_ptr<Automatic> from_env(const char* path, const char* step) {
    if (!path || !*path) return nullptr;
    const long long number = step && *step ? std::atoll(step) : 1;
    if (number >= 1) return std::make_unique<Automatic>(path, number);
    std::fprintf(stderr, "gradus: GRADUS_TRACE_STEP=%s: must be a number from 1\n", step);
    return nullptr;
  }

  /// Steps are counted in optimiser steps from now on. What was before belongs to none.
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
    updated_in_walk_ = depth_ > 0;  // Optimizer::step_in_backward
  }
  void on_step_end(std::int64_t) override { end_step(); }

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
    if (++ended_ == wanted_) write_page();
    on_ = ended_ + 1 == wanted_;
  }
  void write_page() noexcept {
    written_ = true;
    step_ = wanted_;
    try {
      constexpr const char* kNothing =
          "gradus: GRADUS_TRACE: no operation ran on the main thread: no trace is written\n";
      if (!has_anything()) return void(std::fputs(kNothing, stderr));
      write(path_);
      std::fprintf(stderr, "gradus: trace of step %lld: %s\n", static_cast<long long>(wanted_),
                   path_.c_str());
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
