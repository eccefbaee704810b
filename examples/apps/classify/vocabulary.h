#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gradus::examples {

/// "  return kMaxSize_2;\n  }" → return|k|Max|Size|_|2|;|\n  |}
/// Words are split at capital letters. A line end with the next indentation is one piece, and so is
/// "[MASK]". Other whitespace is dropped.
std::vector<std::string_view> pieces_of(std::string_view text);

class WordList {
 public:
  static constexpr std::int64_t kPadding = 0, kStart = 1, kMask = 2, kUnknown = 3, kFirst = 4;

  /// Returns the most frequent pieces, with ties in byte order. `size` includes the special ids.
  static WordList of(const std::vector<std::string>& texts, std::int64_t size);
  explicit WordList(std::vector<std::string> pieces);

  std::int64_t size() const { return kFirst + std::ssize(pieces_); }
  std::vector<std::int64_t> encode(std::string_view text) const;
  std::string piece(std::int64_t id) const;  // "\\n+4" is a line end and 4 spaces

  void save(const std::string& path) const;
  static WordList load(const std::string& path);  // throws FileError

 private:
  std::vector<std::string> pieces_;
  std::map<std::string, std::int64_t, std::less<>> ids_;
};

}  // namespace gradus::examples
