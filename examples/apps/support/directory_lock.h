#pragma once

#include <string>

namespace gradus::examples {

/// Allows one writer per run: holds DIRECTORY/run.lock, a POSIX lock that ends with the process.
class DirectoryLock {
 public:
  /// Creates the directory. Throws FileError if that fails or another process holds the lock.
  explicit DirectoryLock(const std::string& directory);
  DirectoryLock() : file_(-1) {}  // another process of the run has the lock
  ~DirectoryLock();
  DirectoryLock(DirectoryLock&& other) noexcept;
  DirectoryLock& operator=(DirectoryLock&&) = delete;

 private:
  int file_;  // −1: no lock
};

/// Returns the id of the process that holds the lock, or 0. Do not call it for a directory that
/// this process has locked, because closing any handle on the file releases the lock.
int lock_holder(const std::string& directory);

}  // namespace gradus::examples
