// A tree of sources and documents as snippets, each with the kind of file that it is from.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "gradus/engine/base/random.h"
#include "gradus/examples/apps/support/training/classification.h"
#include "vocabulary.h"

namespace gradus::examples {

constexpr std::int64_t kKinds = 6;
constexpr std::array<const char*, kKinds> kKindNames = {
    "C++ header", "C++ implementation", "C++ test", "Python", "Markdown", "build script"};

/// The kind of the file with this path below the tree; −1: none of them. What is below tests/ and
/// is C++ is a test; build scripts are CMake's and the shell's.
std::int64_t kind_of(const std::string& path);

struct SourceFile {
  std::string path, text;  // path below the tree
  std::int64_t kind;
  Part part;
};

/// Every file below `tree` that has a kind, but for hidden folders, build/ and runs/, in the order
/// of their paths. Of each kind a fifth of the files, chosen by a hash of their paths, is for the
/// test, a tenth for validation. FileError: no such directory, or a kind with fewer than 3 files.
std::vector<SourceFile> read_tree(const std::string& tree);

std::string digest_of(const std::vector<SourceFile>& files);  // of all their bytes

/// Snippets side by side, as a model takes them: kStart, then pieces, then padding.
struct Snippets {
  Tensor ids;                         // i64 [B, length]
  std::vector<std::int64_t> lengths;  // of each, with kStart
  Tensor kinds;                       // i64 [B]
};

/// All places of a part's files where a snippet may begin: its lines' beginnings.
class SnippetSource {
 public:
  SnippetSource(const std::vector<SourceFile>& files, Part part, const WordList& vocabulary,
                std::int64_t length);
  /// `count` random ones: of every line as likely, or of every kind.
  enum class Evenly { among_lines, among_kinds };
  Snippets draw(std::int64_t count, const RandomStream& random,
                Evenly evenly = Evenly::among_kinds) const;
  /// Snippets that do not overlap, at most `most` of each kind.
  Snippets some(std::int64_t most) const;

 private:
  struct Place {
    std::size_t file, at;
  };
  Snippets gather(const std::vector<std::pair<std::int64_t, Place>>& places) const;

  std::int64_t length_;
  std::vector<std::vector<std::int64_t>> files_;  // as ids
  std::array<std::vector<Place>, kKinds> places_;
};

/// One text as snippets, one after the other: for what a user gives.
Snippets snippets_of(std::string_view text, const WordList& vocabulary, std::int64_t length);

}  // namespace gradus::examples
