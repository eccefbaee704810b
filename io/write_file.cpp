#include "gradus/io/write_file.h"

#include <cerrno>
#include <cstring>

#include "gradus/engine/base/error.h"
#include "gradus/io/output_file.h"

namespace gradus::io {
namespace {

/// A file that was not there before: create() refuses what is, another process's too.
int create_beside(const std::string& path, std::string& name, OutputFile& file) {
  int cause = EEXIST;
  for (int i = 0; i < 10000 && cause == EEXIST; ++i) {
    name = str_cat(path, ".tmp-", i);
    cause = file.create(name);
  }
  return cause;
}

/// 0, or why not all of it is on the disk.
int fill(OutputFile& file, const void* data, std::size_t size) {
  int cause = file.write(data, size);
  if (cause == 0) cause = file.sync();
  const int at_end = file.close();
  return cause != 0 ? cause : at_end;
}

}  // namespace

void write_file_atomically(const std::string& path, const void* data, std::size_t size) {
  std::string temporary;
  OutputFile file;
  int cause = create_beside(path, temporary, file);
  const bool created = cause == 0;
  if (created) cause = fill(file, data, size);
  if (cause == 0) cause = rename_file(temporary, path);
  if (cause != 0) {
    if (created) remove_file(temporary);
    const bool full = cause == ENOSPC || cause == EDQUOT;
    fail<FileError>("cannot write ", path, ": ", std::strerror(cause), full ? " (disk full)" : "",
                    ". What was there before is unchanged");
  }
  sync_directory_of(path);  // synced or not, the file is whole; only its name may come late
}

}  // namespace gradus::io
