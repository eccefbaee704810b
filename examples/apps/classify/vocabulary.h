// Sources and documents as words: what a reader of them would call one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gradus::examples {

/// "  return kMaxSize_2;\n  }" → return|k|Max|Size|_|2|;|\n  |}
/// Words break where a capital begins; digits and marks stand alone; a line's end and the next
/// one's indentation are one piece; other blanks are none. "[MASK]" is one.
std::vector<std::string_view> pieces_of(std::string_view text);

/// The most frequent pieces, with ids from kFirst on.
class WordList {
 public:
  static constexpr std::int64_t kPadding = 0, kStart = 1, kMask = 2, kUnknown = 3, kFirst = 4;

  /// The `size` − kFirst most frequent pieces of `texts`; of equally frequent ones the first in
  /// byte order.
  static WordList of(const std::vector<std::string>& texts, std::int64_t size);
  explicit WordList(std::vector<std::string> pieces);

  std::int64_t size() const { return kFirst + std::ssize(pieces_); }
  std::vector<std::int64_t> encode(std::string_view text) const;
  std::string piece(std::int64_t id) const;  // "\\n+4": a line end, 4 blanks

  void save(const std::string& path) const;
  static WordList load(const std::string& path);  // FileError

 private:
  std::vector<std::string> pieces_;
  std::map<std::string, std::int64_t, std::less<>> ids_;
};

}  // namespace gradus::examples
