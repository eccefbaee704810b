// Tensor: an n-dimensional array, and its place in the graph.
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

struct BackwardOptions {
  bool keep_graph = false;  // keep what the nodes saved, for another backward through them
};

struct LeafHook;  // engine/node.h

/// Removes a hook. A handle that is dropped leaves its hook where it is.
class HookHandle {
 public:
  HookHandle() = default;
  /// The hook does not run again, and what it captured is freed. A second call does nothing.
  void remove();

 private:
  friend class Tensor;
  HookHandle(NodePtr leaf, std::shared_ptr<LeafHook> hook)
      : leaf_(std::move(leaf)), hook_(std::move(hook)) {}
  NodePtr leaf_;
  std::shared_ptr<LeafHook> hook_;
};

/// A Tensor is a small value: a copy shares the values and the place in the graph, and copies
/// neither. Views (reshape, transpose, slice, expand …) share the values too. `x += y` makes x name
/// a new tensor; only copy_, fill_, mutable_data and optimisers write, and `parameter -= …` under
/// NoGrad. A member that is also a free function (x.sum(), x.reshape({2, 3})) is that function.
class [[nodiscard]] Tensor {
 public:
  Tensor() = default;  // undefined: "no tensor", as for a Linear without bias
  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) noexcept = default;
  ~Tensor() = default;
  Tensor& operator=(const Tensor&) & = default;  // not of a temporary: x[0] = y would do nothing;
  Tensor& operator=(Tensor&&) & noexcept = default;  // x[0].copy_(y) writes

  static Tensor empty(const Shape& shape, Dtype dtype);  // values not set
  static Tensor empty_like(const Tensor& x) { return empty(x.shape(), x.dtype()); }

  bool defined() const { return storage_ != nullptr; }
  const Shape& shape() const { return shape_; }
  const Strides& strides() const { return strides_; }
  std::int64_t offset() const { return offset_; }  // elements, of the first one in the storage
  Dtype dtype() const { return dtype_; }
  int rank() const { return shape_.rank(); }
  std::int64_t size(int axis) const { return shape_[normalize_axis("size", axis, rank())]; }
  std::int64_t numel() const;
  bool is_contiguous() const;  // row-major without gaps

  // ---- values ----

  /// The first element; neighbours are strides() apart. DtypeError unless T matches.
  template <class T>
  const T* data() const {
    return static_cast<const T*>(address(dtype_of<T>));
  }
  /// The same for writing: counts as a write to every tensor that shares the values.
  template <class T>
  T* mutable_data(SourceLocation where = SourceLocation::current()) {
    return static_cast<T*>(mutable_address(dtype_of<T>, where));
  }

  /// The value of a tensor with one element; ShapeError otherwise.
  template <class T = double>
  T item() const {
    check_one_element();
    return dispatch(dtype_, [&]<class S>() { return static_cast<T>(*data<S>()); });
  }
  template <class T>
  std::vector<T> to_vector() const;  // row-major; T = float, double, int64_t or bool must match

  Tensor& copy_(const Tensor& source, SourceLocation where = SourceLocation::current());
  Tensor& fill_(Scalar value, SourceLocation where = SourceLocation::current());

  /// x[1], x[{1, slice(2, 5)}]: views. IndexError names the axis.
  Tensor operator[](std::initializer_list<Index> indices) const;
  Tensor operator[](std::int64_t position) const { return (*this)[{Index(position)}]; }
  Tensor operator[](const Tensor& index) const;  // i64: rows by number; bool: where it is true

  // ---- operations, by the free functions of these names (ops/members.h) ----

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

  /// Will backward() carry a gradient to or through this tensor?
  bool requires_grad() const;
  /// Makes this a leaf whose gradient is wanted, or no longer wanted (frozen). Handles copied from
  /// the leaf see both; one copied before the first call stays outside the graph.
  /// GraphError for a tensor that an operation made; DtypeError unless it is floating-point.
  Tensor& requires_grad_(bool wanted = true);
  bool is_leaf() const;

  Tensor grad() const;                    // what backward() has added up; undefined if nothing has
  void set_grad(const Tensor& gradient);  // an undefined tensor clears it
  Tensor detach() const;                  // the same values, outside the graph

  /// d(this)/d(leaf) is added to the grad() of every leaf it depends on. Without `gradient` this
  /// must have one element. GraphError when nothing requires a gradient or the graph is used up.
  /// If something throws on the way, no leaf without post-accumulate hooks receives anything.
  void backward(BackwardOptions options = {}) const;
  void backward(const Tensor& gradient, BackwardOptions options = {}) const;

  void retain_grad() const;  // keep the gradient of this intermediate tensor in grad()
  /// f sees the gradient of this tensor when it is complete; a defined result takes its place.
  void register_hook(std::function<Tensor(const Tensor&)> f) const;
  /// f(grad) runs as soon as a backward has completed this leaf's gradient and added it to grad();
  /// setting grad to an undefined tensor frees it. If backward throws, leaves with such hooks may
  /// have received their gradients, but no other leaf has. One thread at a time runs f.
  HookHandle register_post_accumulate_hook(std::function<void(Tensor&)> f) const;

  const NodePtr& node() const { return node_; }
  void set_node(NodePtr node) { node_ = std::move(node); }
  const std::shared_ptr<Storage>& storage() const { return storage_; }
  Tensor metadata_only() const;  // undefined, but with this one's shape and dtype
  /// Nothing else can see these values: they may be overwritten in place.
  bool has_unique_storage() const;

 private:
  friend struct TensorAccess;  // engine/strided.h: other strides over the same storage
  void check_one_element() const;
  const void* address(Dtype wanted) const;
  void* mutable_address(Dtype wanted, SourceLocation where);

  Shape shape_;
  Strides strides_;
  std::int64_t offset_ = 0;
  Dtype dtype_ = Dtype::f32;
  std::shared_ptr<Storage> storage_;
  NodePtr node_;  // null: nothing upstream wants a gradient
};

/// Like NumPy: nested brackets, aligned columns, "…" in long axes. The stream's state stays.
std::ostream& operator<<(std::ostream& out, const Tensor& x);
std::string to_string(const Tensor& x);

/// x's own buffer if nothing else can see it and it is contiguous, else a fresh one of its shape.
Tensor reuse_or_empty(const Tensor& x);

}  // namespace gradus
