// Shapes, strides and the broadcasting rule.
#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <span>
#include <string>

#include "gradus/engine/base/error.h"

namespace gradus {

inline constexpr int kMaxRank = 8;

/// Up to kMaxRank numbers held inline: no allocation, cheap to copy. Sizes of axes, or strides.
class Sizes {
 public:
  Sizes() = default;
  Sizes(std::initializer_list<std::int64_t> sizes)
      : Sizes(std::span(sizes.begin(), sizes.size())) {}
  explicit Sizes(std::span<const std::int64_t> sizes);
  static Sizes filled(int rank, std::int64_t value);

  int rank() const { return rank_; }
  std::int64_t& operator[](int axis) {
    assert(0 <= axis && axis < rank_);
    return sizes_[static_cast<std::size_t>(axis)];
  }
  std::int64_t operator[](int axis) const {
    assert(0 <= axis && axis < rank_);
    return sizes_[static_cast<std::size_t>(axis)];
  }
  const std::int64_t* begin() const { return sizes_.data(); }
  const std::int64_t* end() const { return sizes_.data() + rank_; }

  void push_back(std::int64_t size);  // ShapeError beyond kMaxRank axes
  void insert(int axis, std::int64_t size);
  void erase(int axis);

  friend bool operator==(const Sizes&, const Sizes&) = default;

 private:
  std::array<std::int64_t, kMaxRank> sizes_{};  // 0 from rank_ on
  int rank_ = 0;
};

using Shape = Sizes;
using Strides = Sizes;  // elements, not bytes, from one index of an axis to the next

/// Axis numbers; negative ones count from the end. One axis is a list of one: sum(x, 0).
class Axes : public Sizes {
 public:
  using Sizes::Sizes;
  Axes() = default;
  Axes(int axis) : Sizes({axis}) {}           // NOLINT: implicit
  Axes(const Sizes& sizes) : Sizes(sizes) {}  // NOLINT: implicit
};

std::string to_string(const Sizes& sizes);  // "[2, 3]"
std::ostream& operator<<(std::ostream& out, const Sizes& sizes);

/// The number of elements. ShapeError for negative sizes and products beyond 2⁶³−1.
std::int64_t numel(const Shape& shape);

/// Row-major strides: the last axis is contiguous.
Strides contiguous_strides(const Shape& shape);

/// −rank ≤ axis < rank, counted from the end when negative. IndexError names op, axis and rank.
int normal_axis(const char* op, int axis, int rank);

/// NumPy's rule: align right; sizes are equal or one of them is 1. ShapeError names op, axis, both.
Shape broadcast_shapes(const char* op, const Shape& a, const Shape& b);

/// The strides that make an array of `shape` look like `target`: 0 along the axes it repeats.
Strides broadcast_strides(const Shape& shape, const Strides& strides, const Shape& target);

/// The position of element i of a row-major array of `shape`, one index an axis.
Shape unravel_index(std::int64_t i, const Shape& shape);

}  // namespace gradus
