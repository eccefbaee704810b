#pragma once

#include <string>

#include "gradus/engine/tensor.h"

namespace gradus::trace {

/// Level of detail. Reduced if the trace grows too large.
struct Detail {
  std::int64_t all;  // largest tensor stored in full
  bool pictures;     // keep pictures of larger tensors, not only statistics
};

/// The values of a tensor in a trace, in full or as a summary. A tensor is shown as a matrix: the
/// last axis as columns, all others as rows.
class KeptValues {
 public:
  /// `favour` multiplies detail.all, to keep larger tensors in full.
  KeptValues(const Tensor& x, const Detail& detail, std::int64_t favour = 1);

  void reduce(const Detail& detail);
  void drop() { numbers_ = stats_ = pictures_ = {}; }
  bool has_all() const { return !numbers_.empty() || rows_ == 0; }
  bool has_any() const { return has_all() || has_stats(); }
  bool has_stats() const { return !stats_.empty(); }
  bool has_pictures() const { return !pictures_.empty(); }
  std::size_t bytes() const;
  std::string json() const;  // "" if there is nothing to show

 private:
  void summarize(const void* numbers);
  bool wide_;  // true for f64, false for f32
  std::int64_t favour_, rows_, columns_;
  std::string numbers_;           // raw bytes
  std::string stats_, pictures_;  // as JSON
};

}  // namespace gradus::trace
