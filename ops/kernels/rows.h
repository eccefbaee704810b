// Rows: a tensor seen as rows of its last axis, for the kernels that take a row at a time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gradus/base/parallel.h"
#include "gradus/engine/tensor.h"

namespace gradus {

/// How many rows, and how long each is. A tensor of rank 0 is one row of one; one without elements
/// has no rows, whatever its shape says.
struct Rows {
  explicit Rows(const Tensor& x)
      : length(x.rank() == 0 ? 1 : x.shape()[x.rank() - 1]),
        count(length == 0 ? 0 : x.numel() / length) {}

  std::int64_t length, count;
};

/// body(begin, end) over the rows, in parallel; `cost` is what an element takes, in cheap ones.
template <class Body>
void for_rows(const Rows& rows, std::int64_t cost, Body&& body) {
  parallel_for(rows.count, rows_grain(rows.length * cost), body);
}

/// Sums over all rows of `width` numbers: the gradient of a weight that every row shares. Each
/// chunk of `grain` rows adds up its own, and total() adds the chunks in their order, so that the
/// result is the same with any number of threads.
class RowSums {
 public:
  RowSums(const Rows& rows, std::int64_t width, Dtype dtype)
      : grain(std::max(rows_grain(rows.length), (rows.count + kMostChunks - 1) / kMostChunks)),
        partial_(Tensor::empty({(rows.count + grain - 1) / grain, width}, dtype)) {
    partial_.fill_(0);
  }

  const std::int64_t grain;  // rows of a chunk

  /// The sums of the chunk that begins with row r start at partial<T>() + r / grain · width.
  template <class T>
  T* partial() {
    return partial_.mutable_data<T>();
  }

  /// Numbers first … first + count − 1 of the width.
  Tensor total(std::int64_t first, std::int64_t count) const {
    Tensor sum = Tensor::empty({count}, partial_.dtype()).fill_(0);
    const std::int64_t chunks = partial_.shape()[0], width = partial_.shape()[1];
    dispatch_float("sum", sum.dtype(), [&]<class T>() {
      const T* from = partial_.data<T>() + first;
      T* to = sum.mutable_data<T>();
      for (std::int64_t k = 0; k < chunks; ++k)
        for (std::int64_t i = 0; i < count; ++i) to[i] += from[k * width + i];
    });
    return sum;
  }

 private:
  static constexpr std::int64_t kMostChunks = 32;  // more would cost more to add than threads save
  Tensor partial_;
};

}  // namespace gradus
