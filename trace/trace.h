// Trace: records a forward and a backward pass as an HTML page that shows every value.
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

struct TraceOptions {
  std::string title = {};              // default: the program's name
  std::int64_t most_ops = 50000;       // listed; later ops are only counted
  std::size_t most_bytes = 4'000'000;  // of values; the page has at most 8 MB
};

/// While alive, records everything that this thread computes: ops, layers, backward passes with
/// every sum of gradients, hooks, optimizer updates. Values are copied immediately, and results do
/// not change by a bit. write() creates a self-contained HTML file:
///
///   Trace trace({.title = "one head, three tokens"});
///   trace.labels("T", {"the", "cat", "sat"});
///   model.loss(x, y).backward();
///   trace.write("step.html");
///
/// To trace a program without changing it: GRADUS_TRACE=step.html PROGRAM. Traces must be destroyed
/// in reverse order of construction. Ops inside a parallel_for and on other threads are not
/// recorded. See docs/tracing.md.
class Trace {
 public:
  [[nodiscard]] explicit Trace(TraceOptions options = {});
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// Names the positions of an axis (tokens): "T" for queries, "S" for keys.
  void labels(const std::string& axis, std::vector<std::string> names);
  /// Writes the page. If an exception is in flight, the page starts with the op that threw. Throws
  /// FileError.
  void write(const std::string& path);
  std::string json();  // the data of the page: docs/trace_format.md
  void clear();        // discards everything recorded, except labels

 private:
  std::unique_ptr<trace::Recorder> recorder_;
};

/// While alive, traces of this thread ignore all events, and optimizer steps do not count for
/// GRADUS_TRACE_STEP. Use it for trial steps and measurements. Destroy in reverse order of
/// construction.
class ScopedPause {
 public:
  ScopedPause();
  ~ScopedPause();
  ScopedPause(const ScopedPause&) = delete;
  ScopedPause& operator=(const ScopedPause&) = delete;
};

namespace trace {

/// A page with only attention maps from an AttentionRecord: every head of every layer, for the
/// first example. `queries` and `keys` name rows and columns. Throws ValueError if there are no
/// maps, or if the number of names does not match.
std::string attention_page(const std::string& title,
                           const std::vector<nn::AttentionRecord::Entry>& maps,
                           const std::vector<std::string>& queries,
                           const std::vector<std::string>& keys);

}  // namespace trace
}  // namespace gradus
