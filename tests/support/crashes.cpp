#include "gradus/tests/support/crashes.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>

#include "gradus/engine/base/error.h"
#include "gradus/tests/support/catch.h"

namespace gradus::testing {
namespace {

namespace fs = std::filesystem;
using Kind = io::FileChange::Kind;

std::string name_of(const std::string& path) { return fs::path(path).filename().string(); }

bool temporary(const std::string& name) { return name.find(".tmp-") != std::string::npos; }

/// How much of the data written after the last sync has reached the disk.
enum class Arrived { nothing, half, length, all };

struct File {
  std::string now, durable;

  std::string after(Arrived arrived) const {
    const auto differs = std::mismatch(now.begin(), now.end(), durable.begin(), durable.end());
    const auto same = static_cast<std::size_t>(differs.first - now.begin());
    if (arrived == Arrived::nothing) return durable;
    if (arrived == Arrived::half) return now.substr(0, same + (now.size() - same) / 2);
    if (arrived == Arrived::length) return now.substr(0, same) + std::string(now.size() - same, 0);
    return now;
  }
};

class Disk {
 public:
  explicit Disk(const Files& before) : names_(1) {
    for (const auto& [name, bytes] : before) {
      names_[0][name] = files_.size();
      files_.push_back({bytes, bytes});
      if (!temporary(name)) versions_[name] = {bytes};
    }
  }

  void apply(const Change& change) {
    if (change.kind != Kind::sync_directory) settle();  // an earlier rename has returned
    const std::string name = name_of(change.path);
    std::map<std::string, std::size_t> names = names_.back();
    const bool is_new = names.count(name) == 0;
    switch (change.kind) {
      case Kind::open:
        growing_.insert(name);
        [[fallthrough]];
      case Kind::create:
        if (is_new) names[name] = files_.size(), files_.emplace_back();
        break;
      case Kind::write:
        file(name).now += change.bytes;
        return;
      case Kind::sync:
        file(name).durable = file(name).now;
        return;
      case Kind::truncate:
        growing_.insert(name);
        file(name).now.resize(static_cast<std::size_t>(change.size));
        return;
      case Kind::rename:
        versions_[name_of(change.to)].push_back(file(name).now);
        names[name_of(change.to)] = names.at(name);
        names.erase(name);
        break;
      case Kind::remove:
        names.erase(name);
        break;
      case Kind::sync_directory:
        names_.erase(names_.begin(), names_.end() - 1);
        return;
      case Kind::close:
        return;
    }
    names_.push_back(std::move(names));
  }

  /// Requires every completed rename to survive all later crashes.
  void settle() {
    for (const auto& [name, versions] : versions_) promised_[name] = versions.size();
  }

  std::set<Files> after_crash() const {
    std::set<Files> states;
    for (const auto& names : names_)
      for (const Arrived arrived :
           {Arrived::nothing, Arrived::half, Arrived::length, Arrived::all}) {
        Files files;
        for (const auto& [name, at] : names) files[name] = files_[at].after(arrived);
        states.insert(std::move(files));
      }
    return states;
  }

  std::string lost_in(const Files& state) const {
    for (const auto& [name, versions] : versions_) {
      if (growing_.count(name) != 0) continue;
      const auto found = state.find(name);
      const auto last = found == state.end()
                            ? versions.rend()
                            : std::find(versions.rbegin(), versions.rend(), found->second);
      if (found != state.end() && last == versions.rend()) return name + " is incomplete";
      const auto promised = promised_.find(name);
      if (promised != promised_.end() &&
          static_cast<std::size_t>(versions.rend() - last) < promised->second)
        return name + " is older than the version that was written";
    }
    return "";
  }

 private:
  File& file(const std::string& name) { return files_[names_.back().at(name)]; }

  std::vector<File> files_;
  // Possible states of the directory; the first one is durable.
  std::vector<std::map<std::string, std::size_t>> names_;
  std::map<std::string, std::vector<std::string>> versions_;  // name → renamed contents
  std::map<std::string, std::size_t> promised_;  // counts of versions that must survive
  std::set<std::string> growing_;                // files written in place, without versions
};

Files finished(const std::string& directory) {
  Files files;
  for (auto& [name, bytes] : files_in(directory))
    if (!temporary(name)) files[name] = bytes;
  return files;
}

void resume_or_start(const Resumable& run) {
  if (fs::exists(run.directory + "/checkpoint.safetensors")) return run.resume();
  std::string message = "\n";
  try {
    run.resume();
  } catch (const FileError& error) {
    message = error.what();
  }
  CHECK(message.find('\n') == std::string::npos);
  run.start();
}

void check_resumes(const Resumable& run, const Files& expected) {
  std::string failure;
  const Watching quick;
  try {
    resume_or_start(run);
  } catch (const std::exception& error) {
    failure = error.what();
  }
  CHECK(failure == "");
  const Files files = finished(run.directory);
  for (const auto& [name, bytes] : expected) {
    INFO(name);
    CHECK((files.count(name) != 0 && files.at(name) == bytes));
  }
  CHECK(files.size() == expected.size());
  CHECK((!run.tidy || files_in(run.directory) == files));
}

struct Recording {
  std::vector<Change> changes;
  Files files;
};

Recording record(const Resumable& run) {
  put_files(run.directory, {});
  const std::vector<Change> changes = changes_of(run.start);
  return {changes, finished(run.directory)};
}

/// Resumes from at most `most` evenly spaced entries of `list`. Returns their number.
std::size_t replay(const Resumable& run, const std::vector<Crash>& list, const Files& expected,
                   std::size_t most) {
  for (const Crash& crash : list) CHECK(crash.lost == "");
  const std::size_t n = std::min(most, list.size());
  for (std::size_t i = 0; i < n; ++i) {
    const Crash& crash = list[(2 * i + 1) * list.size() / (2 * n)];
    INFO("after " << crash.after << " changes");
    put_files(run.directory, crash.files);
    check_resumes(run, expected);
  }
  return n;
}

}  // namespace

Watching::Watching(std::function<int(const io::FileChange&)> watch) {
  io::file_watch = [watch](const io::FileChange& change) {
    const int cause = watch ? watch(change) : 0;
    const bool syncs = change.kind == Kind::sync || change.kind == Kind::sync_directory;
    return cause == 0 && syncs ? io::kSkipped : cause;
  };
}

Files files_in(const std::string& directory) {
  Files files;
  if (!fs::exists(directory)) return files;
  for (const auto& entry : fs::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    if (name == "run.lock") continue;
    std::ostringstream bytes;
    bytes << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    files[name] = bytes.str();
  }
  return files;
}

void put_files(const std::string& directory, const Files& files) {
  fs::remove_all(directory);
  fs::create_directories(directory);
  for (const auto& [name, bytes] : files)
    std::ofstream(directory + "/" + name, std::ios::binary) << bytes;
}

std::vector<Change> changes_of(const std::function<void()>& work) {
  std::vector<Change> changes;
  const Watching watching([&](const io::FileChange& change) {
    changes.push_back({change.kind, std::string(change.path), std::string(change.to),
                       std::string(change.bytes), change.size});
    return 0;
  });
  work();
  return changes;
}

std::vector<Crash> crashes(const Files& before, const std::vector<Change>& changes) {
  Disk disk(before);
  std::map<Files, std::size_t> seen;
  std::vector<Crash> out;
  for (std::size_t after = 0;; ++after) {
    if (after == changes.size()) disk.settle();
    for (const Files& state : disk.after_crash()) {
      const std::string lost = disk.lost_in(state);
      if (seen.emplace(state, after).second || !lost.empty()) out.push_back({after, state, lost});
    }
    if (after == changes.size()) return out;
    disk.apply(changes[after]);
  }
}

void check_saves_whole(const std::string& path, const std::function<void()>& save) {
  const std::string directory = fs::path(path).parent_path().string();
  const Files old = {{name_of(path), "the earlier content"}};
  put_files(directory, old);
  const std::vector<Change> changes = changes_of(save);
  const Files fresh = files_in(directory);
  REQUIRE(fresh.size() == 1);
  const std::vector<Crash> list = crashes(old, changes);
  for (const Crash& crash : list) CHECK(crash.lost == "");
  CHECK(list.back().files == fresh);
  for (std::size_t fails = 0; fails < changes.size(); ++fails) {
    INFO("change " << fails << " fails");
    put_files(directory, old);
    std::size_t at = 0;
    bool thrown = false;
    {
      const Watching watching([&](const io::FileChange&) { return at++ == fails ? ENOSPC : 0; });
      try {
        save();
      } catch (const FileError&) {
        thrown = true;
      }
    }
    CHECK(files_in(directory) == (thrown ? old : fresh));
    CHECK((thrown || changes[fails].kind == Kind::sync_directory));
  }
}

void check_every_prefix_resumes(const Resumable& run, std::size_t most) {
  const Recording all = record(run);
  const std::vector<Crash> list = crashes({}, all.changes);
  std::size_t resumed = replay(run, list, all.files, most), prefixes = all.changes.size() + 1;
  for (const std::size_t again : {list.size() / 3, 2 * list.size() / 3}) {
    if (list.size() > most) break;
    put_files(run.directory, list[again].files);
    const std::vector<Change> more = changes_of([&] { resume_or_start(run); });
    prefixes += more.size() + 1;
    resumed += replay(run, crashes(list[again].files, more), all.files, most);
  }
  std::cout << "recorded " << prefixes << " prefixes, resumed from " << resumed
            << " of the directories that a crash may leave\n";
}

void check_every_failure_resumes(const Resumable& run) {
  const Recording all = record(run);
  for (const bool lasting : {false, true})
    for (std::size_t fails = 0; fails < all.changes.size(); ++fails) {
      INFO("change " << fails << (lasting ? " and all writes after it fail" : " fails"));
      put_files(run.directory, {});
      std::string message;
      {
        std::size_t at = 0;
        const Watching watching([&](const io::FileChange& change) {
          const bool writes = change.kind == Kind::write || change.kind == Kind::create;
          const bool hit = lasting ? at >= fails && writes : at == fails;
          ++at;
          return hit ? ENOSPC : 0;
        });
        try {
          run.start();
        } catch (const FileError& error) {
          message = error.what();
        }
      }
      CHECK(message.find('\n') == std::string::npos);
      if (message.empty()) CHECK(finished(run.directory) == all.files);
      for (const auto& [name, bytes] : files_in(run.directory)) CHECK_FALSE(temporary(name));
      check_resumes(run, all.files);
    }
}

}  // namespace gradus::testing
