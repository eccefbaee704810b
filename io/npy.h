// NumPy's .npy format, with one array per file.
//
// "\x93NUMPY" | version | length | a Python dict with descr, fortran_order and shape | the values.
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "gradus/engine/tensor.h"

namespace gradus::io {

/// Reads versions 1 to 3, in C and Fortran order. <f4 <f8 <i8 |b1 are unchanged; <f2 becomes f32;
/// <i4 and |u1 become i64. Throws FileError for all other types.
Tensor load_npy(const std::string& path);
Tensor parse_npy(std::span<const std::byte> bytes, const std::string& name);

/// Writes an array atomically: version 1.0, C order.
void save_npy(const std::string& path, const Tensor& x);

}  // namespace gradus::io
