// Creates tensors: filled, counting, random, or from C++ values or existing memory.
#pragma once

#include <algorithm>
#include <concepts>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gradus/engine/tensor.h"
#include "gradus/ops/members.h"

namespace gradus {

// The dtype defaults to default_dtype().
Tensor zeros(const Shape& shape, Dtype dtype = default_dtype());
Tensor ones(const Shape& shape, Dtype dtype = default_dtype());
Tensor full(const Shape& shape, Scalar value, Dtype dtype = default_dtype());
Tensor eye(std::int64_t n, Dtype dtype = default_dtype());
Tensor zeros_like(const Tensor& x);
Tensor ones_like(const Tensor& x);
Tensor randn_like(const Tensor& x);  // f32 or f64

/// Returns start, start + step, … below stop (above it if step < 0). Throws ValueError for step 0.
Tensor arange(double start, double stop, double step = 1, Dtype dtype = default_dtype());
Tensor arange(std::int64_t stop);  // 0 … stop − 1, i64: positions
Tensor arange_i64(std::int64_t start, std::int64_t stop, std::int64_t step);  // i64 range
template <std::integral A, std::integral B, std::integral C = int>
Tensor arange(A start, B stop, C step = 1) {  // arange_i64
  return arange_i64(static_cast<std::int64_t>(start), static_cast<std::int64_t>(stop),
                    static_cast<std::int64_t>(step));
}
/// Returns n evenly spaced values from first to last, inclusive.
Tensor linspace(double first, double last, std::int64_t n, Dtype dtype = default_dtype());

// Random tensors. Each call draws one stream from generator().
Tensor rand(const Shape& shape, Dtype dtype = default_dtype());           // uniform in [0, 1)
Tensor randn(const Shape& shape, Dtype dtype = default_dtype());          // mean 0, variance 1
Tensor randint(std::int64_t low, std::int64_t high, const Shape& shape);  // i64 in [low, high)
Tensor randperm(std::int64_t n);  // 0 … n − 1 in random order, i64

/// Builds a tensor from nested lists of equal lengths, up to three levels deep: tensor(3.0),
/// tensor({1, 2}), tensor({{1, 2}, {3, 4}}).
Tensor tensor(Scalar value, Dtype dtype = default_dtype());
Tensor tensor(std::initializer_list<double> values, Dtype dtype = default_dtype());
Tensor tensor(std::initializer_list<std::initializer_list<double>> rows,
              Dtype dtype = default_dtype());
Tensor tensor(std::initializer_list<std::initializer_list<std::initializer_list<double>>> blocks,
              Dtype dtype = default_dtype());
Tensor indices(std::initializer_list<std::int64_t> values);  // i64

/// Copies row-major `values` into a tensor of `shape` (default: a vector). Integers other than
/// int64_t and bool become i64. Throws ShapeError if the count does not match.
template <class T>
Tensor tensor(std::span<const T> values, const Shape& shape);
template <class T>
Tensor tensor(const std::vector<T>& values, const Shape& shape) {
  constexpr bool wider = std::is_integral_v<T> && !std::is_same_v<T, bool>;
  using Element = std::conditional_t<wider, std::int64_t, T>;
  if constexpr (std::is_same_v<T, Element> && !std::is_same_v<T, bool>) {
    return tensor(std::span<const T>(values), shape);
  } else {  // std::vector<bool> stores bits, so there are no bools to view
    const auto converted = std::make_unique<Element[]>(values.size());
    std::copy(values.begin(), values.end(), converted.get());
    return tensor(std::span<const Element>(converted.get(), values.size()), shape);
  }
}
template <class T>
Tensor tensor(const std::vector<T>& values) {
  return tensor(values, {std::ssize(values)});
}

/// Returns a tensor over `values`, without copying them. Keeps `owner` alive.
template <class T>
Tensor borrow(std::span<T> values, const Shape& shape, std::shared_ptr<const void> owner = nullptr);

/// Returns the configuration, one line per item: threads, matmul backend and reason, BLAS library,
/// vectors, compiler.
std::string config();

/// Describes how matmuls are computed, "builtin, avx512: OpenBLAS can be slow on new processors".
/// Throws ValueError if GRADUS_BLAS or GRADUS_SIMD has a wrong value.
std::string matmul_backend();

}  // namespace gradus
