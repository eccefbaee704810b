// Trace: records a training step as an HTML page that shows every value.
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
  std::int64_t most_ops = 50000;       // later ops are only counted
  std::size_t most_bytes = 4'000'000;  // of values; a page has at most 8 MB
};

/// While alive, records what this thread computes: ops, layers, backward passes with all sums of
/// gradients, hooks, updates. Results do not change by a bit. write() creates a self-contained HTML
/// file:
///
///   Trace trace({.title = "one head, three tokens"});
///   trace.labels("T", {"the", "cat", "sat"});
///   model.loss(x, y).backward();
///   trace.write("step.html");
///
/// Without changing the program: GRADUS_TRACE=step.html PROGRAM. Destroy traces in reverse order.
/// Ops inside a parallel_for and on other threads are not recorded. See docs/guides/tracing.md.
class Trace {
 public:
  [[nodiscard]] explicit Trace(TraceOptions options = {});
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// Names positions of an axis: "T" for queries, "S" for keys.
  void labels(const std::string& axis, std::vector<std::string> names);
  /// If an exception is in flight, the page starts with the op that threw. Throws FileError.
  void write(const std::string& path);
  std::string json();  // docs/reference/trace_format.md
  void clear();        // keeps labels

 private:
  std::unique_ptr<trace::Recorder> recorder_;
};

/// Pauses this thread's traces, for trial steps and measurements. Optimizer steps do not count for
/// GRADUS_TRACE_STEP. Destroy in reverse order.
class ScopedPause {
 public:
  ScopedPause();
  ~ScopedPause();
  ScopedPause(const ScopedPause&) = delete;
  ScopedPause& operator=(const ScopedPause&) = delete;
};

namespace trace {

/// A page of attention maps: every head of every layer, for the first example. `queries` and `keys`
/// name rows and columns. Throws ValueError if there are no maps, or the names do not fit.
std::string attention_page(const std::string& title,
                           const std::vector<nn::AttentionRecord::Entry>& maps,
                           const std::vector<std::string>& queries,
                           const std::vector<std::string>& keys);

}  // namespace trace
}  // namespace gradus
