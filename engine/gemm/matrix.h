#pragma once

#include <cstdint>
#include <type_traits>

namespace gradus::gemm {

/// Distance between stored rows, in elements. Not to be confused with a size.
struct Stride {
  std::int64_t value;
};

/// A non-owning view of rows × columns: element (i, j) is data[i · stride + j], or data[j · stride
/// + i] if transposed. T is float or double, possibly const.
template <class T>
struct Matrix {
  T* data = nullptr;
  std::int64_t rows = 0, columns = 0;
  std::int64_t stride = 0;
  bool transposed = false;

  Matrix() = default;
  Matrix(T* first, std::int64_t height, std::int64_t width)
      : Matrix(first, height, width, Stride{width}) {}
  Matrix(T* first, std::int64_t height, std::int64_t width, Stride apart)
      : data(first), rows(height), columns(width), stride(apart.value) {}

  // NOLINTNEXTLINE(google-explicit-constructor): a writable view is readable
  operator Matrix<const T>() const requires(!std::is_const_v<T>) {
    Matrix<const T> same(data, rows, columns, Stride{stride});
    same.transposed = transposed;
    return same;
  }

  Matrix transpose() const {
    Matrix turned(data, columns, rows, Stride{stride});
    turned.transposed = !transposed;
    return turned;
  }

  T* at(std::int64_t row, std::int64_t column) const {
    return data + (transposed ? column * stride + row : row * stride + column);
  }

  Matrix block(std::int64_t row, std::int64_t column, std::int64_t height,
               std::int64_t width) const {
    Matrix part(at(row, column), height, width, Stride{stride});
    part.transposed = transposed;
    return part;
  }
  Matrix row_range(std::int64_t begin, std::int64_t end) const {
    return block(begin, 0, end - begin, columns);
  }
  Matrix column_range(std::int64_t begin, std::int64_t end) const {
    return block(0, begin, rows, end - begin);
  }

  std::int64_t stored_columns() const { return transposed ? rows : columns; }
};

}  // namespace gradus::gemm
