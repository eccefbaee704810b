// One writer for each directory: two processes that wrote into one would spoil both their work.
#pragma once

#include <string>

namespace gradus::examples {

/// Holds DIRECTORY/run.lock until it dies. The system lets go of it however the process ends, so
/// that a lock never outlives its owner; the empty file stays and means nothing.
class DirectoryLock {
 public:
  /// Makes the directory where there is none. FileError: that fails, or another process holds the
  /// lock (its number is said).
  explicit DirectoryLock(const std::string& directory);
  DirectoryLock() : file_(-1) {}  // of nothing: where another process of the run has it
  ~DirectoryLock();
  DirectoryLock(DirectoryLock&& other) noexcept;
  DirectoryLock& operator=(DirectoryLock&&) = delete;

 private:
  int file_;  // −1: moved from, or of nothing
};

/// The process that holds the lock of `directory`, 0 where none does. Not for a directory that this
/// process itself has locked: POSIX drops a lock when any handle on its file is closed.
int lock_holder(const std::string& directory);

}  // namespace gradus::examples
