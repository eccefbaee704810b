// A mask for rows at positions other than 0, 1, 2, …
//
// Positions are stored as runs of consecutive rows (or of empty rows, −1). A cache is one run, a
// ring buffer is two, and padding adds one. Within a run, the mask applies unchanged.
#include <algorithm>

#include "gradus/ops/mask/rule.h"

namespace gradus {
namespace {

struct Run {
  std::int64_t first, last, position;  // rows [first, last) are at position, position + 1, …
};

std::vector<Run> runs_of(const std::vector<std::int64_t>& positions) {
  std::vector<Run> runs;
  for (std::int64_t row = 0; row < std::ssize(positions); ++row) {
    const std::int64_t at = positions[static_cast<std::size_t>(row)];
    require(at >= -1, "remap_positions: position ", at, " at row ", row,
            " is out of range. Positions count from 0, and −1 marks an empty row.");
    if (!runs.empty() && (at < 0 ? runs.back().position < 0
                                 : runs.back().position >= 0 &&
                                       runs.back().position + row - runs.back().first == at)) {
      ++runs.back().last;
    } else {
      runs.push_back({row, row + 1, at});
    }
  }
  return runs;
}

/// Runs of each example, or one list of runs for all examples.
struct Axis {
  std::vector<std::vector<Run>> runs;
  std::vector<std::int64_t> rows;
  std::int64_t end = 0;  // one past the largest position

  explicit Axis(const Positions& positions) {
    for (const std::vector<std::int64_t>& each : positions) {
      runs.push_back(runs_of(each));
      rows.push_back(std::ssize(each));
      for (const std::int64_t at : each) end = std::max(end, at + 1);
    }
  }

  /// Calls visit(piece) for each part of a run in [first, last), until visit returns false.
  template <class Visit>
  bool each(std::int64_t example, std::int64_t first, std::int64_t last, Visit&& visit) const {
    const std::vector<Run>& all = runs[runs.size() == 1 ? 0 : static_cast<std::size_t>(example)];
    auto run = std::upper_bound(all.begin(), all.end(), first,
                                [](std::int64_t row, const Run& r) { return row < r.last; });
    for (; run != all.end() && run->first < last; ++run) {
      const std::int64_t from = std::max(first, run->first);
      const std::int64_t position = run->position < 0 ? -1 : run->position + from - run->first;
      if (!visit(Run{from, std::min(last, run->last), position})) return false;
    }
    return true;
  }

  void check(const char* what, std::int64_t examples, std::int64_t size, bool whole) const {
    const std::int64_t lists = std::ssize(runs);
    require<ShapeError>(lists == 1 || (whole ? lists == examples : lists >= examples),
                        "remap_positions: ", "got ", lists, " position lists for ", what,
                        " in a batch of ", examples, ". Pass one list, or one per example.");
    for (const std::int64_t n : rows)
      require<ShapeError>(whole ? n == size : n >= size, "remap_positions: got ", n,
                          " positions for ", size, " ", what, ". Pass one position per row.");
  }
};

class Remapped final : public Mask::Rule {
 public:
  Remapped(Mask mask, const Positions& queries, const Positions& keys)
      : mask_(std::move(mask)), queries_(queries), keys_(keys) {}

  void row(const QueryKey& first, std::int64_t n, bool* allowed) const override {
    const std::int64_t query = query_position(first);
    keys_.each(first.example, first.key, first.key + n, [&](const Run& keys) {
      bool* to = allowed + (keys.first - first.key);
      if (query < 0 || keys.position < 0)
        std::fill_n(to, keys.last - keys.first, false);
      else
        mask_.row({first.example, first.head, query, keys.position}, keys.last - keys.first, to);
      return true;
    });
  }
  Coverage coverage(const MaskBlock& b) const override {
    bool any = false, all = true;
    queries_.each(b.example, b.first_query, b.last_query, [&](const Run& q) {
      return keys_.each(b.example, b.first_key, b.last_key, [&](const Run& k) {
        const Coverage each =
            q.position < 0 || k.position < 0
                ? Coverage::none
                : mask_.coverage({b.example, b.head, q.position, q.position + q.last - q.first,
                                  k.position, k.position + k.last - k.first});
        any |= each != Coverage::none;
        all &= each == Coverage::all;
        return all || !any;
      });
    });
    return all ? Coverage::all : any ? Coverage::some : Coverage::none;
  }
  void check_sizes(const MaskSizes& sizes, bool whole) const override {
    queries_.check("queries", sizes.examples, sizes.queries, whole);
    keys_.check("keys", sizes.examples, sizes.keys, whole);
    mask_.check_sizes({sizes.examples, sizes.heads, queries_.end, keys_.end}, false);
  }
  std::string describe() const override { return mask_.describe() + ", remapped"; }

 private:
  std::int64_t query_position(const QueryKey& pair) const {
    std::int64_t at = -1;
    queries_.each(pair.example, pair.query, pair.query + 1, [&](const Run& query) {
      at = query.position;
      return false;
    });
    return at;
  }
  Mask mask_;
  Axis queries_, keys_;
};

}  // namespace

Mask remap_positions(const Mask& mask, const Positions& queries, const Positions& keys) {
  require(!queries.empty() && !keys.empty(),
          "remap_positions: no positions were given. Pass one list for all examples, or one per "
          "example.");
  return Mask(std::make_shared<Remapped>(mask, queries, keys));
}

}  // namespace gradus
