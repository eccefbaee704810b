// Trace: a step of a program, forward and backward, as a page that shows every number of it.
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
  std::string title = {};              // of the page; the program's name unless given
  std::int64_t most_ops = 50000;       // that are listed; what comes after is counted
  std::size_t most_bytes = 4'000'000;  // of numbers in the page, which has at most 8 MB in all
};

/// While it lives, everything that this thread computes is recorded: operations, layers, backward
/// with every sum of gradients, hooks, optimisers. Numbers are copied when it happens and no result
/// changes by a bit. write() makes one HTML file that needs nothing else:
///
///   Trace trace({.title = "one head, three tokens"});
///   trace.labels("T", {"the", "cat", "sat"});
///   model.loss(x, y).backward();
///   trace.write("step.html");
///
/// The same without a change of the program: GRADUS_TRACE=step.html PROGRAM. Traces are left in the
/// reverse order of their making. Operations inside a parallel_for and on other threads are not
/// recorded. docs/tracing.md says more.
class Trace {
 public:
  [[nodiscard]] explicit Trace(TraceOptions options = {});
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// Names of the positions of an axis: tokens. "T" is that of queries, "S" that of keys.
  void labels(const std::string& axis, std::vector<std::string> names);
  /// Where an exception flies, the page says at its top what threw. FileError: path and cause.
  void write(const std::string& path);
  std::string json();  // what the page holds: docs/trace_format.md
  void clear();        // forgets what was recorded, not the labels

 private:
  std::unique_ptr<trace::Recorder> recorder_;
};

/// While one lives, no trace of this thread hears anything, and optimisers make no steps that count
/// for GRADUS_TRACE_STEP: for trial steps and measurements. Left in the reverse order of making.
class ScopedPause {
 public:
  ScopedPause();
  ~ScopedPause();
  ScopedPause(const ScopedPause&) = delete;
  ScopedPause& operator=(const ScopedPause&) = delete;
};

namespace trace {

/// The same page of attention maps alone, of what an AttentionRecord holds: of the first example,
/// every head of every layer. `queries` and `keys` name rows and columns. ValueError: no maps, or
/// not as many names as rows or columns.
std::string attention_page(const std::string& title,
                           const std::vector<nn::AttentionRecord::Entry>& maps,
                           const std::vector<std::string>& queries,
                           const std::vector<std::string>& keys);

}  // namespace trace
}  // namespace gradus
