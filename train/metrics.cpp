#include "gradus/train/metrics.h"

#include <cstring>
#include <filesystem>
#include <new>
#include <sstream>

#include "gradus/engine/base/error.h"
#include "gradus/engine/base/json.h"
#include "gradus/io/json.h"
#include "gradus/io/text.h"

namespace gradus::train {
namespace {

constexpr std::size_t kWaitingBytes = 4096;

}  // namespace

MetricsLog::MetricsLog(const std::string& path, std::int64_t keep_bytes)
    : path_(path), saved_(keep_bytes) {
  std::error_code none;  // not read, because the size is -1 after an error
  const bool there = std::filesystem::is_regular_file(path, none);  // a pipe has no size
  const std::int64_t size =
      there ? static_cast<std::int64_t>(std::filesystem::file_size(path, none)) : 0;
  require<FileError>(size >= keep_bytes, path, ": has ", size,
                     " bytes but its checkpoint recorded ", keep_bytes,
                     ". The file was modified, or belongs to another run.");
  int cause = there ? io::truncate_file(path, keep_bytes) : 0;
  require<FileError>(cause == 0, path, ": cannot be truncated to ", keep_bytes, " bytes (",
                     std::strerror(cause), ")");
  cause = file_.open(path);
  require<FileError>(cause == 0, path, ": cannot be opened for writing (", std::strerror(cause),
                     ")");
}

MetricsLog::~MetricsLog() {
  try {
    flush();
  } catch (const std::bad_alloc&) {
    partial_ = true;  // resuming truncates the file
  }
}

void MetricsLog::write(const std::vector<Field>& fields, const std::string& weights) {
  std::string line = "{";
  for (const Field& field : fields) {
    line += str_cat(line.size() > 1 ? ", \"" : "\"", field.first, "\": ");
    append_json(line, field.second);
  }
  if (!weights.empty()) line += str_cat(", \"weights\": \"", weights, '"');
  waiting_ += line + "}\n";
  // For small models, writing each line separately would take longer than a step.
  if (waiting_.size() > kWaitingBytes) append(false);
}

std::int64_t MetricsLog::flush() {
  append(true);
  return saved_;
}

/// Returns false if the file cannot be truncated; resuming then removes the partial line.
bool MetricsLog::drop_partial_line() {
  if (partial_) partial_ = io::truncate_file(path_, saved_) != 0;
  return !partial_;
}

void MetricsLog::append(bool sync) {
  drop_partial_line();
  partial_ = true;
  int cause = file_.write(waiting_.data(), waiting_.size());
  if (cause == 0 && sync) cause = file_.sync();
  if (cause == 0) {
    partial_ = false;
    saved_ += static_cast<std::int64_t>(waiting_.size());
    waiting_.clear();
    complaint_.clear();
    return;
  }
  complaint_ = str_cat("cannot write ", path_, ": ", std::strerror(cause));
  drop_partial_line();
}

std::vector<std::pair<double, double>> read_metric(const std::string& path,
                                                   const std::string& name) {
  std::istringstream lines(io::read_text(path));
  lines.exceptions(std::ios::badbit);  // without it, lines would be missing if memory runs out
  std::vector<std::pair<double, double>> out;
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const io::Json fields = io::Json::parse(line, str_cat(path, ", line ", number));
    const double step = fields.at("step").number();
    if (fields.has(name)) out.emplace_back(step, fields.at(name).number());
  }
  return out;
}

}  // namespace gradus::train
