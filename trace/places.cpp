#include "gradus/trace/places.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "gradus/engine/base/error.h"
#include "gradus/engine/base/platform.h"
#include "gradus/trace/caller.h"
#include "gradus/trace/embedded.h"

namespace gradus::trace {
namespace {

using platform::Frame;

constexpr std::size_t kAtOnce = 4000;  // addresses per run of addr2line
constexpr std::int64_t kAround = 6;    // lines shown around a call

/// True for internal functions between an op and its caller.
bool is_machinery(const std::string& function) {
  constexpr const char* kParts[] = {"gradus5trace", "gradus9Observers", "gradus6record",
                                    "gradus5apply"};
  return function.starts_with("_ZNSt") || function.starts_with("_ZSt") ||
         function.starts_with("_ZNKSt") ||
         std::any_of(std::begin(kParts), std::end(kParts),
                     [&](const char* part) { return function.find(part) != std::string::npos; });
}

/// Returns a file's name on the page: relative to the library or the working directory, so that a
/// page does not reveal other paths.
std::string displayed(const std::filesystem::path& file, bool library) {
  std::error_code none;
  std::filesystem::path folder = file.parent_path();
  std::string below = file.filename();
  for (int depth = 0; library && depth < 2; ++depth, folder = folder.parent_path()) {
    below = folder.filename().string() + "/" + below;
    if (is_component(folder.filename())) return below;
  }
  const std::string here = std::filesystem::current_path(none).string() + "/";
  return file.string().starts_with(here) ? file.string().substr(here.size()) : file.string();
}

bool is_layer(const std::string& function) {
  return function.starts_with("_ZN") && function.find("6gradus2nn") != std::string::npos &&
         function.find("clI") == std::string::npos;  // Layer<…>::operator()
}

class PlaceWriter {
 public:
  void stack(const std::vector<void*>& calls, const std::map<void*, std::vector<Frame>>& known) {
    Id user = kNone, layer = kNone;
    std::vector<Id> rows;
    for (void* call : calls) {
      for (const Frame& frame : known.at(call)) {
        if (frame.function == "??" || is_machinery(frame.function)) continue;
        const Id row = row_of(frame);
        rows.push_back(row);
        if (user == kNone && !caller_among({frame}).empty()) user = row;
        if (layer == kNone && user == kNone && is_layer(frame.function)) layer = row;
      }
      if (!known.at(call).empty() && known.at(call).back().function == "main") break;
    }
    stacks_.add(user, layer, rows);
  }

  std::string json() {
    for (const auto& [file, lines] : named_) show(file, lines);
    std::string out = object("files", files_, "frames", frames_.json(), "stacks", stacks_.json(),
                             "sources", sources_.json())
                          .text;
    return out.substr(1, out.size() - 2);
  }

 private:
  Id row_of(const Frame& frame) {
    const auto [at, is_new] =
        index_.try_emplace(str_cat(frame.function, frame.file, frame.line), frames_.size());
    if (!is_new) return at->second;
    const bool library = frame.function.find("6gradus") != std::string::npos;
    const Id line = frame.line, file = line > 0 ? file_of(frame.file, library) : kNone;
    if (line > 0) named_[file].insert(line);
    return frames_.add(file, line, platform::demangle(frame.function.c_str()));
  }

  Id file_of(const std::string& path, bool library) {
    std::error_code none;
    const auto known = by_path_.find(path);
    if (known != by_path_.end()) return known->second;
    std::filesystem::path file = std::filesystem::weakly_canonical(path, none);
    const std::string name = displayed(file, library);
    const Id row = std::find(files_.begin(), files_.end(), name) - files_.begin();
    if (row == std::ssize(files_)) {
      files_.push_back(name);
      paths_.push_back(std::move(file));
    }
    by_path_.emplace(path, row);
    return row;
  }

  /// Adds the `named` lines with kAround lines before and after each. Adjacent ranges are merged.
  void show(Id file, const std::set<Id>& named) {
    std::ifstream in(paths_[static_cast<std::size_t>(file)]);
    std::vector<std::string> lines;
    Id first = 0, number = 0;
    const auto flush = [&] {
      if (!lines.empty()) sources_.add(file, first, lines);
      lines.clear();
    };
    for (std::string line; std::getline(in, line);) {
      const auto near = named.lower_bound(++number - kAround);
      if (near == named.end()) break;
      if (*near > number + kAround) {
        flush();
        continue;
      }
      if (lines.empty()) first = number;
      lines.push_back(line);
    }
    flush();
  }

  std::vector<std::string> files_;
  std::vector<std::filesystem::path> paths_;
  std::map<std::string, Id> by_path_;
  std::map<std::string, Id> index_;
  std::map<Id, std::set<Id>> named_;
  JsonTable frames_{{"file", "line", "function"}}, stacks_{{"user", "layer", "frames"}},
      sources_{{"file", "first", "lines"}};
};

}  // namespace

Id Places::here() {
  std::vector<void*> calls = platform::stack_trace();
  std::erase(calls, nullptr);
  const auto [at, is_new] = index_.try_emplace(calls, std::ssize(stacks_));
  if (is_new) stacks_.push_back(std::move(calls));
  return at->second;
}

std::string Places::json() const {
  std::set<void*> different;
  for (const auto& stack : stacks_) different.insert(stack.begin(), stack.end());
  std::map<void*, std::vector<Frame>> known;
  for (auto next = different.begin(); next != different.end();) {
    std::vector<void*> some;
    while (next != different.end() && some.size() < kAtOnce) some.push_back(*next++);
    std::vector<std::vector<Frame>> frames = platform::symbolize(some);
    for (std::size_t k = 0; k < some.size(); ++k) known[some[k]] = std::move(frames[k]);
  }
  PlaceWriter writer;
  for (const auto& stack : stacks_) writer.stack(stack, known);
  return writer.json();
}

}  // namespace gradus::trace
