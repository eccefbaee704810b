// metrics.jsonl: one JSON object a line, one line a step, for plots and for comparing runs.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gradus/io/output_file.h"

namespace gradus::train {

/// A file that grows by whole lines. On a full disk the lines wait in memory, the run goes on, and
/// complaint() tells; they are written as soon as that works again.
class MetricsLog {
 public:
  /// Keeps the first `keep_bytes` of what is there (a checkpoint knows how many belong to it) and
  /// cuts off the rest. FileError when the file is shorter than that, or cannot be opened.
  MetricsLog(const std::string& path, std::int64_t keep_bytes);
  ~MetricsLog();
  MetricsLog(const MetricsLog&) = delete;
  MetricsLog& operator=(const MetricsLog&) = delete;

  using Field = std::pair<const char*, double>;
  /// Numbers as the shortest text that reads back equal.
  void write(const std::vector<Field>& fields);
  std::int64_t flush();  // what waits goes to the disk; returns how many bytes are there now
  const std::string& complaint() const { return complaint_; }  // "" while all is well

 private:
  void append(bool sync);

  std::string path_;
  io::OutputFile file_;
  std::int64_t saved_ = 0;  // bytes in the file, whole lines
  std::string waiting_;
  std::string complaint_;
};

/// (step, value) of every line that has `name`, in their order; null is left out. FileError: the
/// file cannot be read, or a line is none that MetricsLog writes (its number is said).
std::vector<std::pair<double, double>> read_metric(const std::string& path,
                                                   const std::string& name);

}  // namespace gradus::train
