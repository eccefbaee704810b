// metrics.jsonl: one JSON object per line, one line per step, for plots and for comparing runs.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gradus/io/output_file.h"

namespace gradus::train {

/// A file that grows by whole lines. On a full disk the lines stay in memory, the run continues,
/// and complaint() names the problem; they are written as soon as that works again.
class MetricsLog {
 public:
  /// Keeps the first `keep_bytes` bytes of the file (a checkpoint knows how many belong to it) and
  /// cuts off the rest. FileError if the file is shorter than that, or cannot be opened.
  MetricsLog(const std::string& path, std::int64_t keep_bytes);
  ~MetricsLog();
  MetricsLog(const MetricsLog&) = delete;
  MetricsLog& operator=(const MetricsLog&) = delete;

  using Field = std::pair<const char*, double>;
  /// Numbers as the shortest text that reads back equal.
  void write(const std::vector<Field>& fields);
  std::int64_t flush();  // writes waiting lines to the disk; returns the size of the file
  const std::string& complaint() const { return complaint_; }  // "" if there is no problem

 private:
  void append(bool sync);

  std::string path_;
  io::OutputFile file_;
  std::int64_t saved_ = 0;  // bytes in the file, whole lines
  std::string waiting_;
  std::string complaint_;
};

/// (step, value) of every line that has `name`, in their order; null is left out. FileError: the
/// file cannot be read, or a line is not one that MetricsLog writes; the message has its number.
std::vector<std::pair<double, double>> read_metric(const std::string& path,
                                                   const std::string& name);

}  // namespace gradus::train
