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

/// Returns the type of a path, or −1. Build scripts are CMake and shell files.
std::int64_t kind_of(const std::string& path);

struct SourceFile {
  std::string path, text;  // path below the tree
  std::int64_t kind;
  Part part;
};

/// Returns files of known type, sorted by path. In each type, a hash of the path selects a fifth
/// for testing and a tenth for validation. Throws FileError if the directory is missing or a type
/// has fewer than 3 files.
std::vector<SourceFile> read_tree(const std::string& tree);

std::string digest_of(const std::vector<SourceFile>& files);

/// A batch of snippets: kStart, pieces, padding.
struct Snippets {
  Tensor ids;                         // i64 [B, length]
  std::vector<std::int64_t> lengths;  // including kStart
  Tensor kinds;                       // i64 [B]
};

/// Draws snippets, which begin at lines of the files of one part.
class SnippetSource {
 public:
  SnippetSource(const std::vector<SourceFile>& files, Part part, const WordList& vocabulary,
                std::int64_t length);
  /// Whether draw() draws uniformly over lines or over types.
  enum class Evenly { among_lines, among_kinds };
  Snippets draw(std::int64_t count, const RandomStream& random,
                Evenly evenly = Evenly::among_kinds) const;
  /// Returns non-overlapping snippets, at most `most` of each type.
  Snippets some(std::int64_t most) const;

 private:
  struct Place {
    std::size_t file, at;
  };
  Snippets gather(const std::vector<std::pair<std::int64_t, Place>>& places) const;

  std::int64_t length_;
  std::vector<std::vector<std::int64_t>> files_;
  std::array<std::vector<Place>, kKinds> places_;
};

/// Splits a text into consecutive snippets.
Snippets snippets_of(std::string_view text, const WordList& vocabulary, std::int64_t length);

}  // namespace gradus::examples
