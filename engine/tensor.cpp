#include "gradus/engine/tensor.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <set>

#include "gradus/engine/backward.h"
#include "gradus/engine/base/parallel.h"
#include "gradus/engine/base/transpose.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/node.h"
#include "gradus/engine/strided.h"

namespace gradus {
namespace {

std::atomic<Dtype> default_dtype_now = Dtype::f32;

/// Throws for conversions that have undefined behavior in C++.
template <class T, class S>
T convert(S x) {
  if constexpr (std::is_same_v<T, std::int64_t> && std::is_floating_point_v<S>)
    require(x >= S(-0x1p63) && x < S(0x1p63), x,
            " cannot be converted to i64. Replace it first, for example with where().");
  return static_cast<T>(x);
}

/// Copies a column-major matrix to a row-major one in blocks. Returns false for other layouts.
template <class T>
bool copy_transposed(T* to, const Strides& target, const T* from, const Strides& source,
                     const Shape& shape) {
  if (shape.rank() != 2 || target[1] != 1 || source[0] != 1) return false;
  parallel_for(shape[1], rows_grain(shape[0]), [&](std::int64_t begin, std::int64_t end) {
    simd::run<kernel::transpose<T>>(from + begin * source[1], source[1], end - begin, shape[0],
                                    to + begin, target[0]);
  });
  return true;
}

void copy_elements(Tensor& target, const Tensor& source, SourceLocation where) {
  const Strides strides[] = {target.strides(), source.strides()};
  dispatch(target.dtype(), [&]<class T>() {
    T* to = target.mutable_data<T>(where);
    dispatch(source.dtype(), [&]<class S>() {
      const S* from = source.data<S>();
      if constexpr (std::is_same_v<T, S> && std::is_floating_point_v<T>)
        if (copy_transposed(to, strides[0], from, strides[1], target.shape())) return;
      for_each_row(target.shape(), strides,
                   [&](const Offsets& at, std::int64_t n, const Offsets& step) {
                     // fast path
                     if (std::is_same_v<T, S> && step[0] == 1 && step[1] == 1)
                       std::copy_n(from + at[1], n, to + at[0]);
                     else
                       for (std::int64_t i = 0; i < n; ++i)
                         to[at[0] + i * step[0]] = convert<T>(from[at[1] + i * step[1]]);
                   });
    });
  });
}

void check_writable(const char* name, const Tensor& x) {
  require<GraphError>(x.defined(), name, ": the tensor is undefined. Assign a value first.");
  require<GraphError>(
      !GradMode::enabled() || !x.requires_grad(), name, ": an in-place write to a tensor of shape ",
      x.shape(), " that requires a gradient would not be recorded. Write to leaves under NoGrad, ",
      "and to a clone() of other tensors.");
}

void check_wanted(const char* name, bool holds) {
  require<GraphError>(holds, name,
                      ": this tensor does not require a gradient. Call requires_grad_() on it, or ",
                      "on a leaf before computing from it.");
}

}  // namespace

Dtype default_dtype() { return default_dtype_now; }

void set_default_dtype(Dtype dtype) {
  require<DtypeError>(is_float(dtype), "set_default_dtype: expected f32 or f64, got ", dtype);
  default_dtype_now = dtype;
}

Tensor Tensor::empty(const Shape& shape, Dtype dtype) {
  const std::int64_t count = gradus::numel(shape);
  // 2⁴⁷ elements, or fewer bytes than a 32-bit address space.
  const auto most = std::min<std::uint64_t>(std::uint64_t{1} << 47, SIZE_MAX / size_of(dtype));
  require<MemoryError>(static_cast<std::uint64_t>(count) < most, "a tensor of shape ", shape,
                       " and dtype ", dtype, " would have ", count,
                       " elements, which exceed any memory. Use smaller sizes.");
  const std::size_t bytes = static_cast<std::size_t>(count) * size_of(dtype);
  return kernel::over(std::make_shared<Storage>(bytes), shape, dtype);
}

std::int64_t Tensor::numel() const {
  std::int64_t count = 1;  // cannot overflow: checked on creation
  for (const std::int64_t size : shape_) count *= size;
  return count;
}

bool Tensor::is_contiguous() const {
  std::int64_t step = 1;
  for (int i = rank() - 1; i >= 0; --i) {
    if (shape_[i] != 1 && strides_[i] != step) return numel() == 0;
    step *= shape_[i];
  }
  return true;
}

const void* Tensor::address(Dtype wanted) const {
  require<GraphError>(defined(), "data: the tensor is undefined. Assign a value first.");
  require<DtypeError>(wanted == dtype_, "data: requested ", wanted, " but the tensor ", shape_,
                      " is ", dtype_, ". Convert it with to(x, dtype).");
  return static_cast<const std::byte*>(storage_->data()) +
         static_cast<std::size_t>(offset_) * size_of(dtype_);
}

void* Tensor::mutable_address(Dtype wanted, SourceLocation where) {
  const void* at = address(wanted);
  storage_->written(where);
  return const_cast<void*>(at);
}

void Tensor::check_one_element() const {
  require<GraphError>(defined(), "item: the tensor is undefined. Assign a value first.");
  require<ShapeError>(numel() == 1, "item: the tensor must have one element, got shape ", shape_,
                      " with ", numel(), " elements");
}

template <class T>
std::vector<T> Tensor::to_vector() const {
  const Tensor packed = kernel::contiguous(*this);
  const T* first = packed.data<T>();
  return std::vector<T>(first, first + numel());
}
template std::vector<float> Tensor::to_vector() const;
template std::vector<double> Tensor::to_vector() const;
template std::vector<std::int64_t> Tensor::to_vector() const;
template std::vector<bool> Tensor::to_vector() const;

Tensor& Tensor::copy_(const Tensor& source, SourceLocation where) {
  check_writable("copy_", *this);
  require<GraphError>(source.defined(), "copy_: the source is undefined. Assign a value first.");
  require<ShapeError>(source.shape() == shape_, "copy_: the target is ", shape_,
                      " but the source is ", source.shape(), ". Pass a source of equal shape.");
  // Views of one storage may overlap, so copy the source first.
  copy_elements(*this, source.storage_ == storage_ ? kernel::copy(source) : source, where);
  return *this;
}

Tensor& Tensor::fill_(Scalar value, SourceLocation where) {
  check_writable("fill_", *this);
  dispatch(dtype_, [&]<class T>() {
    T* to = mutable_data<T>(where);
    const T v = value.is_integer() ? static_cast<T>(value.integer()) : convert<T>(value.real());
    for_each_row(shape_, std::span(&strides_, 1),
                 [&](const Offsets& at, std::int64_t n, const Offsets& step) {
                   for (std::int64_t i = 0; i < n; ++i) to[at[0] + i * step[0]] = v;
                 });
  });
  return *this;
}

// ---- outside the graph ----

struct TensorAccess {
  static Tensor make(std::shared_ptr<Storage> storage, Dtype dtype, const Shape& shape,
                     const Strides& strides, std::int64_t offset) {
    Tensor out;
    out.shape_ = shape;
    out.strides_ = strides;
    out.offset_ = offset;
    out.dtype_ = dtype;
    out.storage_ = std::move(storage);
    return out;
  }
};

namespace kernel {

Tensor over(std::shared_ptr<Storage> storage, const Shape& shape, Dtype dtype) {
  return TensorAccess::make(std::move(storage), dtype, shape, contiguous_strides(shape), 0);
}

Tensor copy(const Tensor& x) {
  require<GraphError>(x.defined(), "copy: the tensor is undefined. Assign a value first.");
  Tensor out = Tensor::empty_like(x);
  copy_elements(out, x, SourceLocation::current());
  return out;
}

Tensor contiguous(const Tensor& x) { return x.is_contiguous() ? x : copy(x); }

void copy_all(std::vector<Copy> copies) {
  std::set<const Storage*> written;
  for (const Copy& each : copies) written.insert(each.target.storage().get());
  for (Copy& each : copies)
    if (written.contains(each.source.storage().get())) each.source = copy(each.source);
  for (Copy& each : copies) each.target.copy_(each.source);
}

Tensor convert(const Tensor& x, Dtype dtype) {
  if (dtype == x.dtype()) return x.detach();
  Tensor out = Tensor::empty(x.shape(), dtype);
  copy_elements(out, x, SourceLocation::current());
  return out;
}

Tensor strided_view(const Tensor& x, const Shape& shape, const Strides& strides,
                    std::int64_t offset) {
  std::int64_t first = offset, last = offset;
  for (int axis = 0; axis < shape.rank(); ++axis)
    (strides[axis] < 0 ? first : last) += (shape[axis] - 1) * strides[axis];
  const auto room = static_cast<std::int64_t>(x.storage()->bytes() / size_of(x.dtype()));
  require<ShapeError>(numel(shape) == 0 || (first >= 0 && last < room), "strided_view: ", shape,
                      " with strides ", strides, " and offset ", offset, " covers elements ", first,
                      " to ", last, ", outside a storage of ", room,
                      " elements. Choose a view inside the storage.");
  return TensorAccess::make(x.storage(), x.dtype(), shape, strides, offset);
}

Tensor transposed(const Tensor& x, int a, int b) {
  a = normalize_axis("transpose", a, x.rank());
  b = normalize_axis("transpose", b, x.rank());
  Shape shape = x.shape();
  Strides strides = x.strides();
  std::swap(shape[a], shape[b]);
  std::swap(strides[a], strides[b]);
  return strided_view(x, shape, strides, x.offset());
}

Tensor sliced(const Tensor& x, int axis, std::int64_t start, std::int64_t count,
              std::int64_t step) {
  Shape shape = x.shape();
  Strides strides = x.strides();
  shape[axis] = count;
  strides[axis] *= step;
  return strided_view(x, shape, strides, x.offset() + (count ? start * x.strides()[axis] : 0));
}

Tensor reshaped(const Tensor& x, const Shape& shape) {
  require<ShapeError>(numel(shape) == x.numel(), "reshape: ", x.shape(), " has ", x.numel(),
                      " elements but the new shape ", shape, " has ", numel(shape),
                      ". The numbers of elements must be equal.");
  const Tensor packed = contiguous(x);
  return TensorAccess::make(packed.storage(), packed.dtype(), shape, contiguous_strides(shape),
                            packed.offset());
}

}  // namespace kernel

// ---- the graph ----

bool Tensor::requires_grad() const { return node_ && node_->requires_grad; }

bool Tensor::is_leaf() const { return !node_ || !node_->op_name; }

Tensor& Tensor::requires_grad_(bool wanted) {
  require<GraphError>(defined(), "requires_grad_: the tensor is undefined. Assign a value first.");
  require<DtypeError>(is_float(dtype_),
                      "requires_grad_: only f32 and f64 tensors have gradients, not ", dtype_,
                      ". Convert with to(x, Dtype::f32).");
  require<GraphError>(is_leaf(), "requires_grad_: this tensor of shape ", shape_,
                      " is the output of ", node_ ? node_->name() : "", ", not a leaf",
                      ". Call detach() first.");
  if (!node_ && wanted) node_ = make_leaf(*this);
  if (node_) node_->requires_grad = wanted;
  return *this;
}

Tensor Tensor::grad() const {
  const Node::Extra* extra = node_ ? node_->extra_or_null() : nullptr;
  return extra ? extra->grad : Tensor();
}

void Tensor::set_grad(const Tensor& gradient) {
  check_wanted("set_grad", node_ != nullptr);
  require<ShapeError>(!gradient.defined() || gradient.shape() == shape_, "set_grad: the tensor is ",
                      shape_, " but the gradient is ", gradient.shape(),
                      ". Pass a gradient of the tensor's shape.");
  require<DtypeError>(!gradient.defined() || gradient.dtype() == dtype_, "set_grad: the tensor is ",
                      dtype_, " but the gradient is ", gradient.dtype(),
                      ". Convert the gradient to the tensor's dtype.");
  node_->extra().grad = gradient.detach();
}

Tensor Tensor::detach() const {
  Tensor out = *this;
  out.node_ = nullptr;
  return out;
}

Tensor Tensor::metadata_only() const {
  Tensor out = detach();
  out.storage_.reset();
  return out;
}

void Tensor::backward(BackwardOptions options) const { gradus::backward({*this}, {}, options); }

void Tensor::backward(const Tensor& gradient, BackwardOptions options) const {
  gradus::backward({*this}, {gradient}, options);
}

void Tensor::retain_grad() const {
  check_wanted("retain_grad", requires_grad());
  node_->extra().retains_grad = true;
}

void Tensor::register_hook(std::function<Tensor(const Tensor&)> f) const {
  check_wanted("register_hook", requires_grad());
  node_->extra().hooks.push_back(std::move(f));
}

HookHandle Tensor::register_post_accumulate_hook(std::function<void(Tensor&)> f) const {
  require<GraphError>(requires_grad() && is_leaf(),
                      "register_post_accumulate_hook: the tensor must be a leaf that requires a ",
                      "gradient. Call requires_grad_() on it first.");
  Node::Extra& extra = node_->extra();
  const auto hook = std::make_shared<LeafHook>();
  hook->run = std::move(f);
  const std::lock_guard lock(extra.mutex);
  extra.post_accumulate_hooks.push_back(hook);
  return {node_, hook};
}

void HookHandle::remove() {
  const NodePtr leaf = std::exchange(leaf_, nullptr);
  const std::shared_ptr<LeafHook> hook = std::exchange(hook_, nullptr);
  if (!hook) return;
  const std::lock_guard lock(leaf->extra().mutex);
  hook->removed = true;
  leaf->extra().drop_removed_hooks();
}

bool Tensor::has_unique_storage() const {
  if (storage_.use_count() != 1 || storage_->borrowed()) return false;
  // Another thread may have read the values through a handle that it has released. This fence
  // orders those reads before our writes.
  std::atomic_thread_fence(std::memory_order_acquire);
  return true;
}

Tensor reuse_or_empty(const Tensor& x) {
  return x.has_unique_storage() && x.is_contiguous() ? x.detach() : Tensor::empty_like(x);
}

}  // namespace gradus
