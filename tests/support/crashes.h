// Simulates the possible states of a disk after a power failure, from recorded changes.
//
// A change survives if its file (for names, its directory) was synced after the change. The latest
// name changes are lost first. Of data written to a file after its last sync, nothing, half,
// everything, or only the length survives.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "gradus/io/output_file.h"

namespace gradus::testing {

using Files = std::map<std::string, std::string>;  // name → bytes

Files files_in(const std::string& directory);  // excludes run.lock; {} if missing
void put_files(const std::string& directory,
               const Files& files);  // replaces the directory's contents

/// Records file changes during its lifetime, and can make them fail. Skips real syncs.
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
  std::size_t after;  // number of completed changes
  Files files;
  std::string lost;  // "model.bin is incomplete"; empty if nothing is lost
};
/// Returns each distinct state after a crash. All changes must be in one directory.
std::vector<Crash> crashes(const Files& before, const std::vector<Change>& changes);

/// CHECKs that after any crash, the file contains either its old contents or those written by
/// `save`, and the latter if `save` has returned. If `save` fails, the old file must remain.
void check_saves_whole(const std::string& path, const std::function<void()>& save);

/// A run that can be interrupted at any point. `resume` continues the run from `directory`, or
/// throws FileError.
struct Resumable {
  std::string directory;
  std::function<void()> start, resume;
  bool tidy = false;  // resume removes leftovers of interrupted writes
};

/// CHECKs that after each crash, the run resumes to the same files as an uninterrupted run, or
/// restarts if there is no checkpoint. Also tests a second crash if there are at most `most`
/// states.
void check_every_prefix_resumes(const Resumable& run, std::size_t most = 1'000'000);

/// CHECKs the same for failing changes: a single change, and all writes from that change on. The
/// run must succeed or end with a one-line error.
void check_every_failure_resumes(const Resumable& run);

}  // namespace gradus::testing
