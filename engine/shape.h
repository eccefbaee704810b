// Shapes, strides and broadcasting.
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

inline constexpr int kMaxRank = 8;  // axes of a tensor

/// Up to kMaxRank numbers, one per axis. Shape, Strides and Axes do not convert to each other.
template <class Self>
class Dims {
 public:
  Dims() = default;
  Dims(std::initializer_list<std::int64_t> numbers)
      : Dims(std::span(numbers.begin(), numbers.size())) {}
  explicit Dims(std::span<const std::int64_t> numbers);
  static Self filled(int rank, std::int64_t value);

  int rank() const { return rank_; }
  std::int64_t& operator[](int axis) {
    assert(0 <= axis && axis < rank_);
    return numbers_[static_cast<std::size_t>(axis)];
  }
  std::int64_t operator[](int axis) const {
    assert(0 <= axis && axis < rank_);
    return numbers_[static_cast<std::size_t>(axis)];
  }
  const std::int64_t* begin() const { return numbers_.data(); }
  const std::int64_t* end() const { return numbers_.data() + rank_; }
  const std::int64_t* data() const { return numbers_.data(); }
  std::size_t size() const { return static_cast<std::size_t>(rank_); }  // the rank, for std::span

  void push_back(std::int64_t number) { insert(rank_, number); }
  void insert(int axis, std::int64_t number);  // throws ShapeError if the rank exceeds kMaxRank
  void erase(int axis);

  friend bool operator==(const Dims&, const Dims&) = default;

 private:
  std::array<std::int64_t, kMaxRank> numbers_{};  // 0 at and after index rank_
  int rank_ = 0;
};

/// Sizes of the axes.
class Shape : public Dims<Shape> {
 public:
  using Dims::Dims;
};

/// Distances between neighbors along each axis, in elements.
class Strides : public Dims<Strides> {
 public:
  using Dims::Dims;
};

/// Axis numbers; negative ones count from the end. Converts implicitly from a single axis: sum(x,
/// 0).
class Axes : public Dims<Axes> {
 public:
  using Dims::Dims;
  Axes() = default;
  Axes(int axis) : Dims({axis}) {}  // NOLINT: implicit
};

std::string to_string(std::span<const std::int64_t> numbers);  // for example "[2, 3]"
template <class Self>
std::ostream& operator<<(std::ostream& out, const Dims<Self>& dims) {
  return out << to_string(dims);
}

/// Returns the number of elements. Throws ShapeError if a size is negative or the result exceeds
/// 2⁶³−1.
std::int64_t numel(const Shape& shape);

/// Returns row-major strides: the last axis is contiguous.
Strides contiguous_strides(const Shape& shape);

/// Maps −rank ≤ axis < rank to a nonnegative axis. Throws IndexError otherwise.
int normalize_axis(const char* op, int axis, int rank);

/// Returns the broadcast shape, as in NumPy. Throws ShapeError if sizes differ and neither is 1.
Shape broadcast_shapes(const char* op, const Shape& a, const Shape& b);

/// Returns strides that view an array of `shape` as `target`: 0 along repeated axes.
Strides broadcast_strides(const Shape& shape, const Strides& strides, const Shape& target);

/// Returns the index along each axis of element i in a row-major array.
Shape unravel_index(std::int64_t i, const Shape& shape);

}  // namespace gradus
