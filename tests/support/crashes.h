// Simulates the possible states of a disk after a power failure, from recorded changes.
//
// A change is lost unless its file (for names: its directory) was synced after it. Names in a
// directory are lost latest first. Of the data written to a file after its last sync, none, half,
// all, or only the length survives.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "gradus/io/output_file.h"

namespace gradus::testing {

using Files = std::map<std::string, std::string>;  // name → bytes

Files files_in(const std::string& directory);  // without run.lock; {} if missing
void put_files(const std::string& directory,
               const Files& files);  // replaces the directory's contents

/// Observes file changes during its lifetime, and may fail them. Skips real syncs.
class Watching {
 public:
  explicit Watching(std::function<int(const io::FileChange&)> watch = {});
  ~Watching() { io::file_watch = nullptr; }
  Watching(const Watching&) = delete;
  Watching& operator=(const Watching&) = delete;
};

struct Change {
  io::FileChange::Kind kind;
  std::string path, to, bytes;
  std::int64_t size;
};
std::vector<Change> changes_of(const std::function<void()>& work);

struct Crash {
  std::size_t after;  // number of changes
  Files files;
  std::string lost;  // data lost although its call had returned
};
/// Each distinct state after a crash. All changes must be in one directory.
std::vector<Crash> crashes(const Files& before, const std::vector<Change>& changes);

/// CHECKs that `save` leaves the complete old or new file after any crash, the new one once it has
/// returned, and only the old one if it fails.
void check_saves_whole(const std::string& path, const std::function<void()>& save);

/// A run that can be interrupted anywhere. `resume` continues it from `directory`, or throws
/// FileError.
struct Resumable {
  std::string directory;
  std::function<void()> start, resume;
  bool tidy = false;  // resume removes leftovers of interrupted writes
};

/// CHECKs that after each crash the run resumes to exactly the files of an uninterrupted run, or
/// starts again if there is no checkpoint; also after a second crash. Resumes from at most `most`
/// states; skips second crashes if there are more.
void check_every_prefix_resumes(const Resumable& run, std::size_t most = 1'000'000);

/// CHECKs the same with each change failing once, and with all writes from it on failing. The run
/// must succeed or end with a one-line error.
void check_every_failure_resumes(const Resumable& run);

}  // namespace gradus::testing
