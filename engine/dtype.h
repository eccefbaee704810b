#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <type_traits>

#include "gradus/engine/base/error.h"

namespace gradus {

/// Element type of a tensor: float, double, std::int64_t or bool.
enum class Dtype : std::uint8_t { f32, f64, i64, bool_ };

/// Bytes per element.
constexpr std::size_t size_of(Dtype dtype) {
  constexpr std::size_t bytes[] = {4, 8, 8, 1};
  return bytes[static_cast<std::size_t>(dtype)];
}

/// Returns the name, for example "f32".
constexpr const char* name_of(Dtype dtype) {
  constexpr const char* names[] = {"f32", "f64", "i64", "bool"};
  return names[static_cast<std::size_t>(dtype)];
}

inline std::ostream& operator<<(std::ostream& out, Dtype dtype) { return out << name_of(dtype); }

/// True for the differentiable types, f32 and f64.
constexpr bool is_float(Dtype dtype) { return dtype == Dtype::f32 || dtype == Dtype::f64; }

/// The dtype of values of the type T, like Dtype::f32 of float.
template <class T>
inline constexpr Dtype dtype_of = [] {
  if constexpr (std::is_same_v<T, float>)
    return Dtype::f32;
  else if constexpr (std::is_same_v<T, double>)
    return Dtype::f64;
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return Dtype::i64;
  else {
    static_assert(std::is_same_v<T, bool>, "a tensor holds float, double, int64_t or bool");
    return Dtype::bool_;
  }
}();

/// Returns the dtype of new tensors if none is specified. Initially f32.
Dtype default_dtype();
void set_default_dtype(Dtype dtype);  // throws DtypeError unless f32 or f64

/// Calls f<T>() with the C++ type of `dtype`: dispatch(x.dtype(), [&]<class T>() { … }).
template <class F>
decltype(auto) dispatch(Dtype dtype, F&& f) {
  if (dtype == Dtype::f32) return f.template operator()<float>();
  if (dtype == Dtype::f64) return f.template operator()<double>();
  if (dtype == Dtype::i64) return f.template operator()<std::int64_t>();
  return f.template operator()<bool>();
}

/// Like dispatch, but only for f32 and f64. Throws DtypeError naming `op` otherwise.
template <class F>
decltype(auto) dispatch_float(const char* op, Dtype dtype, F&& f) {
  if (dtype == Dtype::f32) return f.template operator()<float>();
  if (dtype == Dtype::f64) return f.template operator()<double>();
  fail<DtypeError>(op, ": expected f32 or f64, got ", dtype, ". Convert with to(x, Dtype::f32).");
}

/// Like dispatch_float, but also for i64.
template <class F>
decltype(auto) dispatch_number(const char* op, Dtype dtype, F&& f) {
  if (dtype == Dtype::f32) return f.template operator()<float>();
  if (dtype == Dtype::f64) return f.template operator()<double>();
  if (dtype == Dtype::i64) return f.template operator()<std::int64_t>();
  fail<DtypeError>(op, ": expected f32, f64 or i64, got ", dtype,
                   ". Convert with to(x, Dtype::f32).");
}

}  // namespace gradus
