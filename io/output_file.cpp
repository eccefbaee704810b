#include "gradus/io/output_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "gradus/engine/base/error.h"
#include "gradus/engine/base/platform.h"

namespace gradus::io {

std::function<int(const FileChange&)> file_watch;

namespace {

int asked(const FileChange& change) { return file_watch ? file_watch(change) : 0; }

int cause_unless(bool good) { return good ? 0 : errno; }

std::string directory_of(const std::string& path) {
  const auto slash = path.find_last_of('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

int sync_directory(const std::string& directory) {
  int cause = asked({FileChange::sync_directory, directory});
  if (cause != 0) return cause == kSkipped ? 0 : cause;
  std::FILE* file = std::fopen(directory.c_str(), "rb");
  if (file == nullptr) return errno;
  cause = cause_unless(platform::sync_file(file));
  std::fclose(file);
  return cause;
}

/// A temporary file, removed at the end of the scope.
struct Temporary {
  std::string path;
  bool exists = false;

  void remove() {
    if (std::exchange(exists, false)) remove_file(path);
  }
  ~Temporary() {
    if (exists) std::remove(path.c_str());
  }
};

}  // namespace

int OutputFile::start(FileChange::Kind kind, const std::string& path) {
  path_ = path;
  if (const int cause = asked({kind, path})) return cause;
  file_ = std::fopen(path.c_str(), kind == FileChange::create ? "wbx" : "ab");
  if (file_ == nullptr) return errno;
  std::setvbuf(file_, nullptr, _IONBF, 0);
  return 0;
}

int OutputFile::write(const void* data, std::size_t size) {
  const std::string_view bytes(static_cast<const char*>(data), size);
  const int cause = asked({.kind = FileChange::write, .path = path_, .bytes = bytes});
  const std::size_t wanted = cause == 0 ? size : size / 2;
  const bool written = std::fwrite(data, 1, wanted, file_) == wanted;
  if (written) return cause;
  const int why = errno;
  std::clearerr(file_);
  return why;
}

int OutputFile::sync() {
  const int cause = asked({FileChange::sync, path_});
  if (cause != 0) return cause == kSkipped ? 0 : cause;
  return cause_unless(platform::sync_file(file_));
}

int OutputFile::close() {
  if (file_ == nullptr) return 0;
  const int cause = asked({FileChange::close, path_});  // closes the file in any case
  const bool closed = std::fclose(std::exchange(file_, nullptr)) == 0;
  return cause != 0 ? cause : cause_unless(closed);
}

int truncate_file(const std::string& path, std::int64_t size) {
  if (const int cause = asked({.kind = FileChange::truncate, .path = path, .size = size}))
    return cause;
  std::error_code error;
  std::filesystem::resize_file(path, static_cast<std::uintmax_t>(size), error);
  return error.value();
}

int rename_file(const std::string& path, const std::string& to) {
  const int cause = asked({FileChange::rename, path, to});
  return cause != 0 ? cause : cause_unless(std::rename(path.c_str(), to.c_str()) == 0);
}

int remove_file(const std::string& path) {
  const int cause = asked({FileChange::remove, path});
  return cause != 0 ? cause : cause_unless(std::remove(path.c_str()) == 0);
}

int sync_directory_of(const std::string& path) { return sync_directory(directory_of(path)); }

// Allocates only before it creates the temporary file and after it removed it.
void write_file_atomically(const std::string& path, const void* data, std::size_t size) {
  const std::string directory = directory_of(path);
  Temporary temporary;
  OutputFile file;
  int cause = EEXIST;  // create() fails if the file exists
  for (int i = 0; i < 10000 && cause == EEXIST; ++i) {
    temporary.path = str_cat(path, ".tmp-", i);
    cause = file.create(temporary.path);
  }
  temporary.exists = cause == 0;
  if (cause == 0) {
    cause = file.write(data, size);
    if (cause == 0) cause = file.sync();
    const int at_end = file.close();
    if (cause == 0) cause = at_end;
  }
  if (cause == 0) cause = rename_file(temporary.path, path);
  if (cause == 0) {
    temporary.exists = false;
    sync_directory(directory);  // a crash could otherwise lose the new name of a complete file
    return;
  }
  temporary.remove();
  const bool full = cause == ENOSPC || cause == EDQUOT;
  fail<FileError>("cannot write ", path, ": ", std::strerror(cause), full ? " (disk full)" : "",
                  ". The previous contents are unchanged.");
}

}  // namespace gradus::io
