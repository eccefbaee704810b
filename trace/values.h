// The numbers of one tensor as a trace keeps them: all, or what they look like.
#pragma once

#include <string>

#include "gradus/engine/tensor.h"

namespace gradus::trace {

/// How much is kept; a trace that grows too large takes the next.
struct Detail {
  std::int64_t all;  // of tensors of up to so many numbers all are kept
  bool pictures;     // of the others more than statistics
};

/// A matrix: the last axis across, all others down.
class KeptValues {
 public:
  /// `favour` times the numbers that others may have are kept in full.
  KeptValues(const Tensor& x, const Detail& detail, std::int64_t favour = 1);

  void reduce(const Detail& detail);
  void drop() { numbers_ = stats_ = pictures_ = {}; }
  bool has_all() const { return !numbers_.empty() || rows_ == 0; }
  bool has_any() const { return has_all() || has_stats(); }
  bool has_stats() const { return !stats_.empty(); }
  bool has_pictures() const { return !pictures_.empty(); }
  std::size_t bytes() const;
  std::string json() const;  // "" where nothing is kept

 private:
  void summarize(const void* numbers);
  bool wide_;  // f64, else f32
  std::int64_t favour_, rows_, columns_;
  std::string numbers_;           // bytes; empty once they were too many
  std::string stats_, pictures_;  // JSON; pictures, corners and the histogram
};

}  // namespace gradus::trace
