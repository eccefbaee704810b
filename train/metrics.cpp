// Lines wait in memory until flush(), which writes all of them or none.
#include "gradus/train/metrics.h"

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "gradus/base/error.h"
#include "gradus/base/platform.h"

namespace gradus {
namespace {

constexpr std::size_t kWaitingBytes = 4096;

/// JSON has no NaN and no infinity: null stands for them.
std::string number(double value) {
  if (!std::isfinite(value)) return "null";
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return {text, end};
}

}  // namespace

MetricsLog::MetricsLog(const std::string& path, std::int64_t keep_bytes)
    : path_(path), saved_(keep_bytes) {
  std::error_code error;
  const bool there = std::filesystem::is_regular_file(path, error);  // a pipe has no size
  if (!there) error.clear();
  const std::int64_t size =
      there ? static_cast<std::int64_t>(std::filesystem::file_size(path, error)) : 0;
  require<FileError>(!error && size >= keep_bytes, path, ": has ", size,
                     " bytes where its checkpoint knows ", keep_bytes,
                     ": it was changed by hand, or belongs to another run");
  if (there) std::filesystem::resize_file(path, static_cast<std::uintmax_t>(keep_bytes), error);
  require<FileError>(!error, path, ": cannot be cut back to ", keep_bytes,
                     " bytes: ", error.message());
  file_ = std::fopen(path.c_str(), "ab");
  require<FileError>(file_ != nullptr, path,
                     ": cannot be opened for writing: ", std::strerror(errno));
  // Unbuffered, so that nothing hides in a buffer when writing fails.
  std::setvbuf(file_, nullptr, _IONBF, 0);
}

MetricsLog::~MetricsLog() {
  flush();
  std::fclose(file_);
}

void MetricsLog::write(const std::vector<Field>& fields) {
  std::string line = "{";
  for (const Field& field : fields)
    line +=
        std::string(line.size() > 1 ? ", \"" : "\"") + field.first + "\": " + number(field.second);
  waiting_ += line + "}\n";
  if (waiting_.size() > kWaitingBytes) flush();
}

std::int64_t MetricsLog::flush() {
  const bool written = std::fwrite(waiting_.data(), 1, waiting_.size(), file_) == waiting_.size() &&
                       std::fflush(file_) == 0 && platform::sync_file(file_);
  if (written) {
    saved_ += static_cast<std::int64_t>(waiting_.size());
    waiting_.clear();
    complaint_.clear();
    return saved_;
  }
  complaint_ = text("cannot write ", path_, ": ", std::strerror(errno));
  std::clearerr(file_);
  std::error_code ignored;  // half a line must not stay; if even that fails, resuming cuts it off
  std::filesystem::resize_file(path_, static_cast<std::uintmax_t>(saved_), ignored);
  return saved_;
}

}  // namespace gradus
