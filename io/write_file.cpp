#include "gradus/io/write_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "gradus/base/error.h"
#include "gradus/base/platform.h"

namespace gradus::io {
namespace {

/// A file that was not there before: mode x refuses what is, another process's too.
std::FILE* create_beside(const std::string& path, std::string& name) {
  for (int i = 0; i < 10000; ++i) {
    name = text(path, ".tmp-", i);
    errno = 0;
    std::FILE* file = std::fopen(name.c_str(), "wbx");
    if (file != nullptr || errno != EEXIST) return file;
  }
  return nullptr;
}

/// 0, or why not all of it is on the disk.
int fill(std::FILE* file, const void* data, std::size_t size) {
  const bool written = std::fwrite(data, 1, size, file) == size && std::fflush(file) == 0;
  int cause = written && platform::sync_file(file) ? 0 : errno;
  if (std::fclose(file) != 0 && cause == 0) cause = errno;
  return cause;
}

}  // namespace

void write_file_atomically(const std::string& path, const void* data, std::size_t size) {
  std::string temporary;
  std::FILE* file = create_beside(path, temporary);
  int cause = file == nullptr ? errno : fill(file, data, size);
  if (cause == 0 && std::rename(temporary.c_str(), path.c_str()) != 0) cause = errno;
  if (cause != 0) {
    if (file != nullptr) std::remove(temporary.c_str());
    const bool full = cause == ENOSPC || cause == EDQUOT;
    fail<FileError>("cannot write ", path, ": ", std::strerror(cause), full ? " (disk full)" : "",
                    ". What was there before is unchanged");
  }
  const auto slash = path.find_last_of('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  std::FILE* parent = std::fopen(directory.c_str(), "rb");
  if (parent == nullptr) return;  // readable or not, the file is whole; only its name may come late
  platform::sync_file(parent);
  std::fclose(parent);
}

}  // namespace gradus::io
