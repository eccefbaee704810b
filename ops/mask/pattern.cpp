// Window masks, and block-sparse masks after BigBird.
#include <algorithm>

#include "gradus/engine/base/random.h"
#include "gradus/ops/mask/rule.h"

namespace gradus {
namespace {

class Window final : public Mask::Rule {
 public:
  Window(std::int64_t before, std::int64_t after) : before_(before), after_(after) {}

  void row(const QueryKey& first, std::int64_t n, bool* allowed) const override {
    const std::int64_t from = std::clamp<std::int64_t>(first.query - before_ - first.key, 0, n);
    const std::int64_t to = std::clamp(first.query + after_ - first.key + 1, from, n);
    std::fill_n(allowed, n, false);
    std::fill(allowed + from, allowed + to, true);
  }
  Coverage coverage(const MaskBlock& b) const override {
    const std::int64_t last_query = b.last_query - 1, last_key = b.last_key - 1;
    if (last_query - before_ <= b.first_key && last_key <= b.first_query + after_)
      return Coverage::all;
    const bool apart = last_key < b.first_query - before_ || last_query + after_ < b.first_key;
    return apart ? Coverage::none : Coverage::some;
  }
  std::string describe() const override {
    return "window " + std::to_string(before_) +
           (after_ > 0 ? " before, " + std::to_string(after_) + " after" : "");
  }

 private:
  std::int64_t before_, after_;
};

/// Stores the visible key blocks of each row of blocks, in order.
class Blocks final : public Mask::Rule {
 public:
  explicit Blocks(const BlockSparse& pattern)
      : p_(pattern), blocks_((pattern.length + pattern.block - 1) / pattern.block) {
    for (std::int64_t row = 0; row < p_.heads * blocks_; ++row)
      seen_.push_back(draw(row % blocks_, {p_.seed, static_cast<std::uint32_t>(row)}));
  }

  void row(const QueryKey& first, std::int64_t n, bool* allowed) const override {
    for (std::int64_t j = 0; j < n;) {
      const std::int64_t block = (first.key + j) / p_.block;
      const std::int64_t end = std::min(n, (block + 1) * p_.block - first.key);
      std::fill(allowed + j, allowed + end,
                seen(first.head, first.query / p_.block, block, block + 1) > 0);
      j = end;
    }
  }
  Coverage coverage(const MaskBlock& b) const override {
    const std::int64_t from = b.first_key / p_.block, to = (b.last_key - 1) / p_.block + 1;
    bool any = false, all = true;
    for (std::int64_t i = b.first_query / p_.block; i <= (b.last_query - 1) / p_.block; ++i) {
      const std::int64_t count = seen(b.head, i, from, to);
      any |= count > 0;
      all &= count == to - from;
    }
    return all ? Coverage::all : any ? Coverage::some : Coverage::none;
  }
  void check_sizes(const MaskSizes& s, bool whole) const override {
    require<ShapeError>(s.queries <= p_.length && s.keys <= p_.length,
                        "block_sparse_mask: made for a length of ", p_.length, " but used on ",
                        s.queries, " queries and ", s.keys, " keys. Increase BlockSparse::length.");
    require<ShapeError>(p_.heads == 1 || (whole ? p_.heads == s.heads : p_.heads >= s.heads),
                        "block_sparse_mask: made for ", p_.heads, " heads but used on ", s.heads,
                        ". Set BlockSparse::heads.");
  }
  std::string describe() const override {
    return "blocks of " + std::to_string(p_.block) + ", window " + std::to_string(p_.window) +
           ", global " + std::to_string(p_.global) + ", random " + std::to_string(p_.random);
  }

 private:
  std::vector<std::int64_t> draw(std::int64_t row, const RandomStream& random) const {
    std::vector<std::int64_t> seen, others;
    for (std::int64_t key = 0; key < blocks_; ++key) {
      const bool near = row - p_.window <= key && key <= row + p_.window;
      (row < p_.global || key < p_.global || near ? seen : others).push_back(key);
    }
    const std::int64_t more = std::min<std::int64_t>(p_.random, std::ssize(others));
    for (std::int64_t i = 0; i < more; ++i) {  // Fisher–Yates shuffle of the first `more` blocks
      std::swap(others[static_cast<std::size_t>(i)],
                others[static_cast<std::size_t>(i + random.below(i, std::ssize(others) - i))]);
      seen.push_back(others[static_cast<std::size_t>(i)]);
    }
    std::sort(seen.begin(), seen.end());
    return seen;
  }
  /// Returns the number of visible key blocks in [from, to).
  std::int64_t seen(std::int64_t head, std::int64_t row, std::int64_t from, std::int64_t to) const {
    const auto& list = seen_[static_cast<std::size_t>((p_.heads == 1 ? 0 : head) * blocks_ + row)];
    const auto first = std::lower_bound(list.begin(), list.end(), from);
    return std::lower_bound(first, list.end(), to) - first;
  }
  BlockSparse p_;
  std::int64_t blocks_;
  std::vector<std::vector<std::int64_t>> seen_;  // one list for each of heads · blocks rows
};

}  // namespace

Mask window_mask(std::int64_t before, std::int64_t after) {
  require(before >= 0 && after >= 0, "window_mask: before and after must not be negative, got ",
          before, " and ", after);
  constexpr std::int64_t kFar = std::int64_t{1} << 60;  // prevents overflow
  return Mask(std::make_shared<Window>(std::min(before, kFar), std::min(after, kFar)));
}

Mask block_sparse_mask(const BlockSparse& p) {
  require(p.length >= 0 && p.window >= 0 && p.global >= 0 && p.random >= 0,
          "block_sparse_mask: length, window, global and random must not be negative, got ",
          p.length, ", ", p.window, ", ", p.global, " and ", p.random);
  require(p.block >= 1 && p.heads >= 1,
          "block_sparse_mask: block and heads must be at least 1, got ", p.block, " and ", p.heads);
  return Mask(std::make_shared<Blocks>(p));
}

}  // namespace gradus
