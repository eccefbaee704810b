// One writer per directory: two processes that write to the same run would corrupt it.
#pragma once

#include <string>

namespace gradus::examples {

/// Holds DIRECTORY/run.lock, a POSIX record lock, until destroyed. The system releases it however
/// the process ends. The empty file stays and has no meaning.
class DirectoryLock {
 public:
  /// Creates the directory if needed. Throws FileError if that fails, or if another process holds
  /// the lock; the message contains its id.
  explicit DirectoryLock(const std::string& directory);
  DirectoryLock() : file_(-1) {}  // holds no lock: another process of the run has it
  ~DirectoryLock();
  DirectoryLock(DirectoryLock&& other) noexcept;
  DirectoryLock& operator=(DirectoryLock&&) = delete;

 private:
  int file_;  // −1: no lock
};

/// Returns the id of the process that holds the lock of `directory`, or 0. Do not call this for a
/// directory locked by this process: POSIX drops a lock when any handle on its file is closed.
int lock_holder(const std::string& directory);

}  // namespace gradus::examples
