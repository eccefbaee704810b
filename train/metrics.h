// metrics.jsonl: one line per step, each a JSON object.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gradus/io/output_file.h"

namespace gradus::train {

/// An append-only file of complete lines. If the disk is full, lines are kept in memory, the run
/// continues, and complaint() describes the problem.
class MetricsLog {
 public:
  /// Truncates the file to its first `keep_bytes` bytes, as stored in a checkpoint. Throws
  /// FileError if the file is shorter or cannot be opened.
  MetricsLog(const std::string& path, std::int64_t keep_bytes);
  ~MetricsLog();
  MetricsLog(const MetricsLog&) = delete;
  MetricsLog& operator=(const MetricsLog&) = delete;

  using Field = std::pair<const char*, double>;
  /// Writes a line. Numbers have the shortest text that reads back as the same value. `weights` are
  /// hexadecimal digits, or "" for none.
  void write(const std::vector<Field>& fields, const std::string& weights = "");
  std::int64_t flush();  // writes to disk; returns the file size
  const std::string& complaint() const { return complaint_; }  // "" if there is none

 private:
  void append(bool sync);
  bool drop_partial_line();

  std::string path_;
  io::OutputFile file_;
  std::int64_t saved_ = 0;
  bool partial_ = false;  // the file may have bytes after saved_
  std::string waiting_;
  std::string complaint_;
};

/// Returns (step, value) for each line with `name`, except null values. Throws FileError, with the
/// line number, for an invalid file.
std::vector<std::pair<double, double>> read_metric(const std::string& path,
                                                   const std::string& name);

}  // namespace gradus::train
