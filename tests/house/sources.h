#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace gradus::house {

struct Source {
  std::string path;       // relative to the root of the source tree
  std::string component;  // "ops"; "" for gradus.h
  std::vector<std::string> lines;
  bool header = false;
  bool ends_with_newline = false;
};

inline const std::vector<std::string> kLibrary = {"engine", "ops", "nn",   "check",
                                                  "trace",  "io",  "train"};

inline bool contains(const std::vector<std::string>& list, const std::string& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

inline Source read_source(const std::filesystem::path& root, const std::filesystem::path& file) {
  Source source;
  source.path = file.lexically_relative(root).generic_string();
  const std::size_t slash = source.path.find('/');
  if (slash != std::string::npos) source.component = source.path.substr(0, slash);
  source.header = file.extension() == ".h";
  std::ifstream in(file, std::ios::binary);
  for (std::string line; std::getline(in, line);) {
    source.ends_with_newline = !in.eof();
    source.lines.push_back(line);
  }
  return source;
}

/// Reads all sources of the components, sorted by path. Skips missing components.
inline std::vector<Source> read_components(const std::vector<std::string>& components) {
  const std::filesystem::path root = GRADUS_SOURCE_DIR;
  std::vector<Source> sources;
  for (const std::string& component : components) {
    if (!std::filesystem::is_directory(root / component)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / component)) {
      const std::string kind = entry.path().extension().string();
      if (entry.is_regular_file() && (kind == ".h" || kind == ".cpp")) {
        sources.push_back(read_source(root, entry.path()));
      }
    }
  }
  std::sort(sources.begin(), sources.end(),
            [](const Source& a, const Source& b) { return a.path < b.path; });
  return sources;
}

inline std::vector<Source> library_sources() { return read_components(kLibrary); }

inline std::vector<Source> all_sources() {
  std::vector<std::string> components = kLibrary;
  components.insert(components.end(), {"examples", "bench", "tests"});
  std::vector<Source> sources = read_components(components);
  const std::filesystem::path root = GRADUS_SOURCE_DIR;
  sources.push_back(read_source(root, root / "gradus.h"));
  return sources;
}

}  // namespace gradus::house
