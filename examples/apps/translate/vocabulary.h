#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace gradus::examples {

using Ids = std::vector<std::int64_t>;

/// Ids 0, 1 and 2 are padding, begin and end, as in PairBatches. Tokens follow.
class Vocabulary {
 public:
  static constexpr std::int64_t kBegin = 1, kEnd = 2;
  enum class Unit { character, word };

  /// Collects the tokens of `texts`, in byte order.
  Vocabulary(Unit unit, const std::vector<std::string>& texts);

  std::int64_t size() const { return kEnd + 1 + static_cast<std::int64_t>(tokens_.size()); }
  std::string unit() const { return unit_ == Unit::word ? "word" : "character"; }
  /// Throws ValueError for unknown tokens.
  Ids encode(const std::string& text) const;
  std::string decode(const Ids& ids) const;  // stops at the end token

 private:
  Unit unit_;
  std::vector<std::string> tokens_;
  std::unordered_map<std::string, std::int64_t> ids_;
};

}  // namespace gradus::examples
