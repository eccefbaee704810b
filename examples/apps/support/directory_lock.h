// A lock that allows one writer per run.
#pragma once

#include <string>

namespace gradus::examples {

/// Holds DIRECTORY/run.lock, a POSIX record lock that is released at the latest when the process
/// ends.
class DirectoryLock {
 public:
  /// Creates the directory if needed. Throws FileError if that fails or another process holds the
  /// lock.
  explicit DirectoryLock(const std::string& directory);
  DirectoryLock() : file_(-1) {}  // another process of the run has the lock
  ~DirectoryLock();
  DirectoryLock(DirectoryLock&& other) noexcept;
  DirectoryLock& operator=(DirectoryLock&&) = delete;

 private:
  int file_;  // −1: no lock
};

/// Returns the id of the process that holds the lock, or 0. Not for a directory locked by this
/// process: POSIX drops a lock when any handle on its file is closed.
int lock_holder(const std::string& directory);

}  // namespace gradus::examples
