// Members of Tensor that call the free function of the same name.
#pragma once

#include "gradus/ops/activation.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/indexing.h"
#include "gradus/ops/logic.h"
#include "gradus/ops/matmul.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/ops/softmax.h"
#include "gradus/ops/sort.h"

namespace gradus {

inline Tensor Tensor::clone() const { return gradus::clone(*this); }
inline Tensor Tensor::contiguous() const { return gradus::contiguous(*this); }
inline Tensor Tensor::to(Dtype dtype) const { return gradus::to(*this, dtype); }
inline Tensor Tensor::reshape(const Shape& shape) const { return gradus::reshape(*this, shape); }
inline Tensor Tensor::view(const Shape& shape) const { return gradus::view(*this, shape); }
inline Tensor Tensor::flatten(int first, int last) const {
  return gradus::flatten(*this, first, last);
}
inline Tensor Tensor::transpose(int a, int b) const { return gradus::transpose(*this, a, b); }
inline Tensor Tensor::t() const { return gradus::transpose(*this); }
inline Tensor Tensor::permute(const Axes& order) const { return gradus::permute(*this, order); }
inline Tensor Tensor::expand(const Shape& shape) const { return gradus::expand(*this, shape); }
inline Tensor Tensor::squeeze(int axis) const { return gradus::squeeze(*this, axis); }
inline Tensor Tensor::unsqueeze(int axis) const { return gradus::unsqueeze(*this, axis); }
inline Tensor Tensor::slice(int axis, std::int64_t start, std::int64_t stop,
                            std::int64_t step) const {
  return gradus::slice(*this, axis, start, stop, step);
}
inline Tensor Tensor::select(int axis, std::int64_t position) const {
  return gradus::select(*this, axis, position);
}
inline std::vector<Tensor> Tensor::split(std::int64_t size, int axis) const {
  return gradus::split(*this, size, axis);
}
inline std::vector<Tensor> Tensor::chunk(std::int64_t chunks, int axis) const {
  return gradus::chunk(*this, chunks, axis);
}
inline Tensor Tensor::flip(const Axes& axes) const { return gradus::flip(*this, axes); }
inline Tensor Tensor::sum(const Axes& axes, bool keepdim) const {
  return gradus::sum(*this, axes, keepdim);
}
inline Tensor Tensor::mean(const Axes& axes, bool keepdim) const {
  return gradus::mean(*this, axes, keepdim);
}
inline Tensor Tensor::var(const Axes& axes, bool keepdim) const {
  return gradus::var(*this, axes, keepdim);
}
inline Tensor Tensor::std(const Axes& axes, bool keepdim) const {
  return gradus::std(*this, axes, keepdim);
}
inline Tensor Tensor::max(const Axes& axes, bool keepdim) const {
  return gradus::max(*this, axes, keepdim);
}
inline Tensor Tensor::min(const Axes& axes, bool keepdim) const {
  return gradus::min(*this, axes, keepdim);
}
inline Tensor Tensor::prod(const Axes& axes, bool keepdim) const {
  return gradus::prod(*this, axes, keepdim);
}
inline Tensor Tensor::norm(const Axes& axes, bool keepdim) const {
  return gradus::norm(*this, axes, keepdim);
}
inline Tensor Tensor::argmax(int axis, bool keepdim) const {
  return gradus::argmax(*this, axis, keepdim);
}
inline Tensor Tensor::argmin(int axis, bool keepdim) const {
  return gradus::argmin(*this, axis, keepdim);
}
inline Tensor Tensor::cumsum(int axis) const { return gradus::cumsum(*this, axis); }
inline Tensor Tensor::matmul(const Tensor& other) const { return gradus::matmul(*this, other); }
inline Tensor Tensor::pow(double exponent) const { return gradus::pow(*this, exponent); }
inline Tensor Tensor::square() const { return gradus::square(*this); }
inline Tensor Tensor::exp() const { return gradus::exp(*this); }
inline Tensor Tensor::log() const { return gradus::log(*this); }
inline Tensor Tensor::sqrt() const { return gradus::sqrt(*this); }
inline Tensor Tensor::abs() const { return gradus::abs(*this); }
inline Tensor Tensor::tanh() const { return gradus::tanh(*this); }
inline Tensor Tensor::sigmoid() const { return gradus::sigmoid(*this); }
inline Tensor Tensor::relu() const { return gradus::relu(*this); }
inline Tensor Tensor::clamp(double low, double high) const {
  return gradus::clamp(*this, low, high);
}
inline Tensor Tensor::softmax(int axis) const { return gradus::softmax(*this, axis); }
inline Tensor Tensor::log_softmax(int axis) const { return gradus::log_softmax(*this, axis); }
inline Tensor Tensor::masked_fill(const Tensor& mask, Scalar value) const {
  return gradus::masked_fill(*this, mask, value);
}
inline Tensor Tensor::index_select(int axis, const Tensor& index) const {
  return gradus::index_select(*this, axis, index);
}
inline Tensor Tensor::gather(int axis, const Tensor& index) const {
  return gradus::gather(*this, axis, index);
}

}  // namespace gradus
