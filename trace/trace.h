#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gradus/nn/attention_record.h"

namespace gradus {

namespace trace {
class Recorder;
}

/// Title and size limits of a Trace.
struct TraceOptions {
  std::string title = {};              // default: program name
  std::int64_t most_ops = 50000;       // ops beyond this are only counted
  std::size_t most_bytes = 4'000'000;  // size of the values; a page has at most 8 MB
};

/// While alive, records the ops, layers, backward passes with every sum of gradients, hooks and
/// updates of this thread. Results remain bit-identical. write() creates a self-contained HTML file
/// that shows every value:
///
///   Trace trace({.title = "one head, three tokens"});
///   trace.labels("T", {"the", "cat", "sat"});
///   model.loss(x, y).backward();
///   trace.write("step.html");
///
/// To trace a program without changing it, run GRADUS_TRACE=step.html PROGRAM. Destroy traces in
/// reverse order of construction. Ops inside a parallel_for and on other threads are not recorded.
/// See docs/guides/tracing.md.
class Trace {
 public:
  [[nodiscard]] explicit Trace(TraceOptions options = {});
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// Names the positions of an axis: "T" for queries, "S" for keys.
  void labels(const std::string& axis, std::vector<std::string> names);
  /// Writes the page. If called while an exception is in flight, the page starts with the op that
  /// threw. Throws FileError.
  void write(const std::string& path);
  std::string json();  // format: docs/reference/trace_format.md
  void clear();        // keeps the labels

 private:
  std::unique_ptr<trace::Recorder> recorder_;
};

/// While alive, pauses this thread's traces, for trial steps and measurements. Optimizer steps
/// during the pause do not count for GRADUS_TRACE_STEP. Destroy in reverse order of construction.
class ScopedPause {
 public:
  ScopedPause();
  ~ScopedPause();
  ScopedPause(const ScopedPause&) = delete;
  ScopedPause& operator=(const ScopedPause&) = delete;
};

namespace trace {

/// Returns a page with the attention maps of every head of every layer, for the first example.
/// `queries` and `keys` name rows and columns. Throws ValueError if there are no maps, or the
/// numbers of names differ from their sizes.
std::string attention_page(const std::string& title,
                           const std::vector<nn::AttentionRecord::Entry>& maps,
                           const std::vector<std::string>& queries,
                           const std::vector<std::string>& keys);

}  // namespace trace
}  // namespace gradus
