// Skips fsync, which makes tests faster.
#pragma once

#include "gradus/io/output_file.h"

namespace gradus::testing {

struct Unsynced {
  Unsynced() {
    io::file_watch = [](const io::FileChange& change) {
      const bool syncs =
          change.kind == io::FileChange::sync || change.kind == io::FileChange::sync_directory;
      return syncs ? io::kSkipped : 0;
    };
  }
  ~Unsynced() { io::file_watch = nullptr; }
};

}  // namespace gradus::testing
