// metrics.jsonl: one JSON object per line and step.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gradus/io/output_file.h"

namespace gradus::train {

/// An append-only file of complete lines. If the disk is full, lines stay in memory until a write
/// succeeds, the run continues, and complaint() describes the problem.
class MetricsLog {
 public:
  /// Keeps the first `keep_bytes` bytes (known from a checkpoint) and truncates the rest. Throws
  /// FileError if the file is shorter or cannot be opened.
  MetricsLog(const std::string& path, std::int64_t keep_bytes);
  ~MetricsLog();
  MetricsLog(const MetricsLog&) = delete;
  MetricsLog& operator=(const MetricsLog&) = delete;

  using Field = std::pair<const char*, double>;
  /// Writes numbers as the shortest text that reads back equal.
  void write(const std::vector<Field>& fields);
  std::int64_t flush();  // writes waiting lines to disk; returns the file size
  const std::string& complaint() const { return complaint_; }  // "": none

 private:
  void append(bool sync);

  std::string path_;
  io::OutputFile file_;
  std::int64_t saved_ = 0;  // bytes in the file
  std::string waiting_;
  std::string complaint_;
};

/// (step, value) of every line that has `name`, except null. Throws FileError, with the line
/// number, if the file is unreadable or not from MetricsLog.
std::vector<std::pair<double, double>> read_metric(const std::string& path,
                                                   const std::string& name);

}  // namespace gradus::train
