// Every change that Gradus makes to files goes through these functions. So a test can record the
// changes of a run and replay each prefix of them, or make one fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

namespace gradus::io {

struct FileChange {
  enum Kind { create, open, write, sync, close, truncate, rename, remove, sync_directory } kind;
  std::string path;
  std::string to = {};          // of rename
  std::string_view bytes = {};  // of write: appended
  std::int64_t size = 0;        // of truncate
};

/// Called before each change; not 0 is the errno that it fails with instead. A write that is to
/// fail writes the first half, as on a full disk; a sync may be kSkipped, which takes no time. For
/// tests: all writing threads share it.
constexpr int kSkipped = -1;
extern std::function<int(const FileChange&)> file_watch;

/// A file that grows. Unbuffered: nothing hides in a buffer when writing fails. What returns int
/// returns 0 or an errno.
class OutputFile {
 public:
  OutputFile() = default;
  ~OutputFile() { close(); }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// EEXIST where there is one, another process's too.
  int create(const std::string& path) { return start(FileChange::create, path); }
  /// Goes on after what is there.
  int open(const std::string& path) { return start(FileChange::open, path); }
  int write(const void* data, std::size_t size);
  int sync();  // what was written is on the disk
  int close();

 private:
  int start(FileChange::Kind kind, const std::string& path);
  std::string path_;
  std::FILE* file_ = nullptr;
};

/// Each 0, or the errno that says why not.
int truncate_file(const std::string& path, std::int64_t size);
int rename_file(const std::string& path, const std::string& to);
int remove_file(const std::string& path);
/// The names of files made, renamed and removed in the directory of `path` are on the disk.
int sync_directory_of(const std::string& path);

/// Writes `size` bytes to `path` so that a reader, a crash or a full disk sees the whole new file
/// or the whole old one: to a temporary file, synced, renamed, directory synced. FileError: path
/// and cause.
void write_file_atomically(const std::string& path, const void* data, std::size_t size);

}  // namespace gradus::io
