#include "directory_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "gradus/engine/base/error.h"

namespace gradus::examples {
namespace {

struct flock whole_file() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

std::string lock_file(const std::string& directory) { return directory + "/run.lock"; }

}  // namespace

DirectoryLock::DirectoryLock(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  require<FileError>(!error && std::filesystem::is_directory(directory), directory,
                     ": cannot create the directory (",
                     error ? error.message() : "a file has that name", "); choose another");
  const std::string path = lock_file(directory);
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  require<FileError>(file_ >= 0, "cannot write ", path, ": ", std::strerror(errno));
  struct flock lock = whole_file();
  if (::fcntl(file_, F_SETLK, &lock) == 0) return;
  const int cause = errno;
  ::close(file_);
  require<FileError>(cause == EACCES || cause == EAGAIN, path, ": cannot lock the file (",
                     std::strerror(cause), "); choose another disk");
  fail<FileError>(directory, ": process ", lock_holder(directory),
                  " is writing to it; wait until it ends, or choose another directory");
}

DirectoryLock::~DirectoryLock() {
  if (file_ >= 0) ::close(file_);
}

DirectoryLock::DirectoryLock(DirectoryLock&& other) noexcept
    : file_(std::exchange(other.file_, -1)) {}

int lock_holder(const std::string& directory) {
  const int file = ::open(lock_file(directory).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  struct flock lock = whole_file();
  const bool known = ::fcntl(file, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  ::close(file);
  return known ? lock.l_pid : 0;
}

}  // namespace gradus::examples
