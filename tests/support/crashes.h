// What a disk may hold when the power goes while a program writes, from a record of its changes.
//
// A change is lost unless its file, or its directory for names, was synced after it. Names of one
// directory are lost from the latest on; of what a file was given since its last sync, nothing may
// have arrived, half, all, or its length alone. Each prefix of the record is taken with each of
// these.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "gradus/io/output_file.h"

namespace gradus::testing {

using Files = std::map<std::string, std::string>;  // of one directory: name and bytes

Files files_in(const std::string& directory);  // {} where it is missing; without run.lock
void put_files(const std::string& directory, const Files& files);  // nothing else is there then

/// Sees changes while it lives, and may make them fail; none waits for the disk then.
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
/// All that `work` changes, in the order of the calls.
std::vector<Change> changes_of(const std::function<void()>& work);

struct Crash {
  std::size_t after;  // so many changes
  Files files;
  std::string lost;  // what a call that had returned wrote, and is not there: "" for nothing
};
/// Each thing that `before` may have become, once. All changes are in one directory.
std::vector<Crash> crashes(const Files& before, const std::vector<Change>& changes);

/// CHECKs that `save`, which writes a file over an older one, leaves the old or the new one whole
/// whatever happens, the new one once it has returned, and the old one alone when it fails.
void check_saves_whole(const std::string& path, const std::function<void()>& save);

/// A run that can be stopped anywhere: `start` makes all of it in `directory`, `resume` goes on
/// with what is there, or throws a FileError where nothing can be gone on with.
struct Resumable {
  std::string directory;
  std::function<void()> start, resume;
  bool tidy = false;  // resume removes what interrupted writes have left
};

/// CHECKs that each crash of the run is resumed to the very files of a whole run, or begun again
/// where there is no checkpoint yet; also if the power goes again while a crashed run is resumed.
/// `most`: resumes from so many alone, evenly chosen, and once. Prints how many prefixes that were.
void check_every_prefix_resumes(const Resumable& run, std::size_t most = 1'000'000);

/// CHECKs the same with each change failing once, and with all writes failing from it on: then the
/// run ends in an error of one line, or as if nothing had been.
void check_every_failure_resumes(const Resumable& run);

}  // namespace gradus::testing
