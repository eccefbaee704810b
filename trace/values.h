// A tensor's values as stored in a trace: all of them, or a summary.
#pragma once

#include <string>

#include "gradus/engine/tensor.h"

namespace gradus::trace {

/// Level of detail. A trace that grows too large switches to the next level.
struct Detail {
  std::int64_t all;  // largest tensor that is stored in full
  bool pictures;     // for larger tensors, store more than statistics
};

/// Stored as a matrix: the last axis as columns, all others as rows.
class KeptValues {
 public:
  /// `favour` multiplies the limit detail.all.
  KeptValues(const Tensor& x, const Detail& detail, std::int64_t favour = 1);

  void reduce(const Detail& detail);
  void drop() { numbers_ = stats_ = pictures_ = {}; }
  bool has_all() const { return !numbers_.empty() || rows_ == 0; }
  bool has_any() const { return has_all() || has_stats(); }
  bool has_stats() const { return !stats_.empty(); }
  bool has_pictures() const { return !pictures_.empty(); }
  std::size_t bytes() const;
  std::string json() const;  // "" if nothing is kept

 private:
  void summarize(const void* numbers);
  bool wide_;  // f64; otherwise f32
  std::int64_t favour_, rows_, columns_;
  std::string numbers_;           // bytes; empty if there were too many
  std::string stats_, pictures_;  // JSON; pictures: also corners and histogram
};

}  // namespace gradus::trace
