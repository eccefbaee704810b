#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "gradus/engine/base/source_location.h"
#include "gradus/engine/dtype.h"
#include "gradus/engine/index.h"
#include "gradus/engine/node_ptr.h"
#include "gradus/engine/scalar.h"
#include "gradus/engine/shape.h"
#include "gradus/engine/storage.h"

namespace gradus {

/// Options of a backward pass.
struct BackwardOptions {
  bool keep_graph = false;  // keeps saved values for another backward pass
};

struct LeafHook;

/// Handle to a registered hook. Destroying the handle does not remove the hook.
class HookHandle {
 public:
  HookHandle() = default;
  /// Removes the hook and frees its captures.
  void remove();

 private:
  friend class Tensor;
  HookHandle(NodePtr leaf, std::shared_ptr<LeafHook> hook)
      : leaf_(std::move(leaf)), hook_(std::move(hook)) {}
  NodePtr leaf_;
  std::shared_ptr<LeafHook> hook_;
};

/// A handle to an array. Copies share the values and the graph node; views share the values. `x +=
/// y` rebinds x. Only copy_, fill_, mutable_data, optimizers, and `parameter -= …` under NoGrad
/// write in place. Members call the free function of the same name.
class [[nodiscard]] Tensor {
 public:
  Tensor() = default;  // undefined: "no tensor", such as a missing bias
  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) noexcept = default;
  ~Tensor() = default;
  // Assignment to a temporary does not compile: x[0] = y would have no effect. Use x[0].copy_(y).
  Tensor& operator=(const Tensor&) & = default;
  Tensor& operator=(Tensor&&) & noexcept = default;

  static Tensor empty(const Shape& shape, Dtype dtype);  // uninitialized
  static Tensor empty_like(const Tensor& x) { return empty(x.shape(), x.dtype()); }

  bool defined() const { return storage_ != nullptr; }
  const Shape& shape() const { return shape_; }
  const Strides& strides() const { return strides_; }
  std::int64_t offset() const { return offset_; }  // of the first element, in elements
  Dtype dtype() const { return dtype_; }
  int rank() const { return shape_.rank(); }
  std::int64_t size(int axis) const { return shape_[normalize_axis("size", axis, rank())]; }
  std::int64_t numel() const;
  bool is_contiguous() const;  // row-major without gaps

  // ---- values ----

  /// Returns a pointer to the first element; others are strides() apart. Throws DtypeError unless T
  /// matches.
  template <class T>
  const T* data() const {
    return static_cast<const T*>(address(dtype_of<T>));
  }
  /// Like data(), for writing. Counts as a write to all tensors that share the values.
  template <class T>
  T* mutable_data(SourceLocation where = SourceLocation::current()) {
    return static_cast<T*>(mutable_address(dtype_of<T>, where));
  }

  /// Returns the value of a one-element tensor. Throws ShapeError for any other size.
  template <class T = double>
  T item() const {
    check_one_element();
    return dispatch(dtype_, [&]<class S>() { return static_cast<T>(*data<S>()); });
  }
  template <class T>
  std::vector<T> to_vector() const;  // row-major; T (float, double, int64_t, bool) must match

  Tensor& copy_(const Tensor& source, SourceLocation where = SourceLocation::current());
  Tensor& fill_(Scalar value, SourceLocation where = SourceLocation::current());

  /// Returns a view: x[1], x[{1, slice(2, 5)}]. Throws IndexError.
  Tensor operator[](std::initializer_list<Index> indices) const;
  Tensor operator[](std::int64_t position) const { return (*this)[{Index(position)}]; }
  Tensor operator[](const Tensor& index) const;  // i64: selects rows; bool: selects where true

  // ---- operations: the free functions of the same name (ops/members.h) ----

  Tensor clone() const;
  Tensor contiguous() const;
  Tensor to(Dtype dtype) const;
  Tensor reshape(const Shape& shape) const;
  Tensor view(const Shape& shape) const;
  Tensor flatten(int first = 0, int last = -1) const;
  Tensor transpose(int a, int b) const;
  Tensor t() const;
  Tensor permute(const Axes& order) const;
  Tensor expand(const Shape& shape) const;
  Tensor squeeze(int axis) const;
  Tensor unsqueeze(int axis) const;
  Tensor slice(int axis, std::int64_t start, std::int64_t stop, std::int64_t step = 1) const;
  Tensor select(int axis, std::int64_t position) const;
  std::vector<Tensor> split(std::int64_t size, int axis = 0) const;
  std::vector<Tensor> chunk(std::int64_t chunks, int axis = 0) const;
  Tensor flip(const Axes& axes) const;

  Tensor sum(const Axes& axes = {}, bool keepdim = false) const;
  Tensor mean(const Axes& axes = {}, bool keepdim = false) const;
  Tensor var(const Axes& axes = {}, bool keepdim = false) const;
  Tensor std(const Axes& axes = {}, bool keepdim = false) const;
  Tensor max(const Axes& axes = {}, bool keepdim = false) const;
  Tensor min(const Axes& axes = {}, bool keepdim = false) const;
  Tensor prod(const Axes& axes = {}, bool keepdim = false) const;
  Tensor norm(const Axes& axes = {}, bool keepdim = false) const;
  Tensor argmax(int axis, bool keepdim = false) const;
  Tensor argmin(int axis, bool keepdim = false) const;
  Tensor cumsum(int axis) const;

  Tensor matmul(const Tensor& other) const;
  Tensor pow(double exponent) const;
  Tensor square() const;
  Tensor exp() const;
  Tensor log() const;
  Tensor sqrt() const;
  Tensor abs() const;
  Tensor tanh() const;
  Tensor sigmoid() const;
  Tensor relu() const;
  Tensor clamp(double low, double high) const;
  Tensor softmax(int axis) const;
  Tensor log_softmax(int axis) const;
  Tensor masked_fill(const Tensor& mask, Scalar value) const;
  Tensor index_select(int axis, const Tensor& index) const;
  Tensor gather(int axis, const Tensor& index) const;

  // ---- the graph ----

  /// True if backward() propagates a gradient to or through this tensor.
  bool requires_grad() const;
  /// Makes this tensor a leaf that requires a gradient, or freezes it. Also affects later copies.
  /// Throws GraphError if an operation computed the tensor, and DtypeError if it is not
  /// floating-point.
  Tensor& requires_grad_(bool wanted = true);
  bool is_leaf() const;

  Tensor grad() const;                    // accumulated by backward(); undefined if none
  void set_grad(const Tensor& gradient);  // an undefined gradient clears it
  Tensor detach() const;                  // the same values, outside the graph

  /// Adds d(this)/d(leaf) to the grad() of every leaf. Without `gradient`, this tensor must have
  /// one element. Throws GraphError if nothing requires a gradient or the graph was released. If
  /// backward throws, only leaves with post-accumulate hooks may have received gradients.
  void backward(BackwardOptions options = {}) const;
  void backward(const Tensor& gradient, BackwardOptions options = {}) const;

  void retain_grad() const;  // keeps a non-leaf's gradient in grad()
  /// Calls f with the complete gradient. If f returns a defined tensor, it replaces the gradient.
  void register_hook(std::function<Tensor(const Tensor&)> f) const;
  /// Calls f(grad) as soon as a backward pass has added this leaf's complete gradient to grad(). To
  /// free the gradient, f may set grad to an undefined tensor. Calls of f do not overlap.
  HookHandle register_post_accumulate_hook(std::function<void(Tensor&)> f) const;

  const NodePtr& node() const { return node_; }
  void set_node(NodePtr node) { node_ = std::move(node); }
  const std::shared_ptr<Storage>& storage() const { return storage_; }
  Tensor metadata_only() const;  // an undefined tensor with this shape and dtype
  /// True if no other tensor or outside code can access these values.
  bool has_unique_storage() const;

 private:
  friend struct TensorAccess;
  void check_one_element() const;
  const void* address(Dtype wanted) const;
  void* mutable_address(Dtype wanted, SourceLocation where);

  Shape shape_;
  Strides strides_;
  std::int64_t offset_ = 0;
  Dtype dtype_ = Dtype::f32;
  std::shared_ptr<Storage> storage_;
  NodePtr node_;  // null if no gradient is required
};

/// Prints like NumPy: nested brackets, aligned columns, "…" in long axes.
std::ostream& operator<<(std::ostream& out, const Tensor& x);
std::string to_string(const Tensor& x);

/// Returns x's buffer if it is unshared and contiguous, otherwise a new buffer of x's shape.
Tensor reuse_or_empty(const Tensor& x);

}  // namespace gradus
