// A tensor's values in a trace: all of them, or a summary.
#pragma once

#include <string>

#include "gradus/engine/tensor.h"

namespace gradus::trace {

/// Level of detail. Reduced if a trace grows too large.
struct Detail {
  std::int64_t all;  // largest tensor stored in full
  bool pictures;     // for larger tensors, more than statistics
};

/// A matrix: the last axis as columns, all others as rows.
class KeptValues {
 public:
  /// `favour` multiplies detail.all.
  KeptValues(const Tensor& x, const Detail& detail, std::int64_t favour = 1);

  void reduce(const Detail& detail);
  void drop() { numbers_ = stats_ = pictures_ = {}; }
  bool has_all() const { return !numbers_.empty() || rows_ == 0; }
  bool has_any() const { return has_all() || has_stats(); }
  bool has_stats() const { return !stats_.empty(); }
  bool has_pictures() const { return !pictures_.empty(); }
  std::size_t bytes() const;
  std::string json() const;  // "" if empty

 private:
  void summarize(const void* numbers);
  bool wide_;  // f64; otherwise f32
  std::int64_t favour_, rows_, columns_;
  std::string numbers_;           // bytes
  std::string stats_, pictures_;  // JSON
};

}  // namespace gradus::trace
