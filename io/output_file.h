// All operations that change files. Tests can record the changes, replay a prefix of them, or make
// one of them fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

namespace gradus::io {

/// A system call that changes a file or directory.
struct FileChange {
  enum Kind { create, open, write, sync, close, truncate, rename, remove, sync_directory } kind;
  std::string_view path;
  std::string_view to = {};     // new path of a rename
  std::string_view bytes = {};  // bytes that a write appends
  std::int64_t size = 0;        // new size of a truncate
};

/// Test hook, called before each change. Returns 0, or the errno with which the change fails. A
/// failing write first writes half of its bytes. A sync may return kSkipped to save time. Shared by
/// all threads.
constexpr int kSkipped = -1;
extern std::function<int(const FileChange&)> file_watch;

/// An unbuffered, append-only file. Functions that return int return 0 or an errno.
class OutputFile {
 public:
  OutputFile() = default;
  ~OutputFile() { close(); }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Creates a file. Returns EEXIST if it exists.
  int create(const std::string& path) { return start(FileChange::create, path); }
  /// Opens an existing file for appending.
  int open(const std::string& path) { return start(FileChange::open, path); }
  int write(const void* data, std::size_t size);
  int sync();  // flushes to disk
  int close();

 private:
  int start(FileChange::Kind kind, const std::string& path);
  std::string path_;
  std::FILE* file_ = nullptr;
};

/// Truncate, rename or remove a file. Return 0 or an errno.
int truncate_file(const std::string& path, std::int64_t size);
int rename_file(const std::string& path, const std::string& to);
int remove_file(const std::string& path);
/// Makes creations, renames and removals in the directory of `path` durable.
int sync_directory_of(const std::string& path);

/// Writes `size` bytes to `path` atomically (temporary file, sync, rename, directory sync). Readers
/// see the old or the new file, even after a crash. Throws FileError.
void write_file_atomically(const std::string& path, const void* data, std::size_t size);

}  // namespace gradus::io
