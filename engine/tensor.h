// Tensor: an n-dimensional array, and its place in the graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "gradus/base/source_location.h"
#include "gradus/engine/dtype.h"
#include "gradus/engine/shape.h"
#include "gradus/engine/storage.h"

namespace gradus {

class Node;
class Tensor;

/// A reference to a Node, which lives as long as there is one: a shared_ptr whose count is in the
/// node, so that a node with its operation is one block of memory and a handle half the size.
class NodePtr {
 public:
  NodePtr() = default;
  NodePtr(std::nullptr_t) {}  // NOLINT: implicit
  explicit NodePtr(Node* node) : node_(node) { hold(); }
  NodePtr(const NodePtr& other) : NodePtr(other.node_) {}
  NodePtr(NodePtr&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  NodePtr& operator=(NodePtr other) noexcept { return std::swap(node_, other.node_), *this; }
  ~NodePtr() {
    if (node_) let_go();
  }

  Node* get() const { return node_; }
  Node& operator*() const { return *node_; }
  Node* operator->() const { return node_; }
  explicit operator bool() const { return node_ != nullptr; }
  friend bool operator==(const NodePtr&, const NodePtr&) = default;

 private:
  void hold();    // both are in graph.cpp: what a Node is stands in graph.h
  void let_go();  // the last one deletes the node

  Node* node_ = nullptr;
};

/// Part of an axis, as NumPy's start:stop:step; negative start and stop count from the end.
struct Slice {
  std::int64_t start = 0;
  std::int64_t stop = std::numeric_limits<std::int64_t>::max();
  std::int64_t step = 1;  // ≥ 1
};
inline Slice slice(std::int64_t start, std::int64_t stop, std::int64_t step = 1) {
  return {start, stop, step};
}
inline Slice all() { return {}; }

/// One entry of x[{1, slice(2, 5)}]: a position (the axis goes) or a slice (it stays).
struct Index {
  Index(std::int64_t position) : position(position), is_position(true) {}  // NOLINT: implicit
  Index(int position) : Index(std::int64_t{position}) {}                   // NOLINT: implicit
  Index(Slice range) : range(range) {}                                     // NOLINT: implicit
  Slice range;
  std::int64_t position = 0;
  bool is_position = false;
};

struct BackwardOptions {
  bool keep_graph = false;  // keep what the nodes saved, for another backward through them
};

/// A Tensor is a small value: a copy shares the numbers and the place in the graph, and copies
/// neither. Views (reshape, transpose, slice, expand …) share the numbers too. `x += y` makes x
/// name a new tensor; only copy_, fill_, mutable_data and optimisers write.
class Tensor {
 public:
  Tensor() = default;  // undefined: "no tensor", as for a Linear without bias
  static Tensor empty(const Shape& shape, Dtype dtype);  // numbers not set
  static Tensor over(std::shared_ptr<Storage> storage, const Shape& shape, Dtype dtype);
  static Tensor empty_like(const Tensor& x) { return empty(x.shape(), x.dtype()); }

  bool defined() const { return storage_ != nullptr; }
  const Shape& shape() const { return shape_; }
  const Strides& strides() const { return strides_; }
  std::int64_t offset() const { return offset_; }  // elements, of the first one in the storage
  Dtype dtype() const { return dtype_; }
  int rank() const { return shape_.rank(); }
  std::int64_t size(int axis) const { return shape_[normal_axis("size", axis, rank())]; }
  std::int64_t numel() const;
  bool is_contiguous() const;  // row-major without gaps

  // ---- the numbers ----

  /// The first element; neighbours are strides() apart. DtypeError unless T matches.
  template <class T>
  const T* data() const {
    return static_cast<const T*>(address(dtype_of<T>));
  }
  /// The same for writing: counts as a write to every tensor that shares the numbers.
  template <class T>
  T* mutable_data(SourceLocation where = SourceLocation::current()) {
    return static_cast<T*>(mutable_address(dtype_of<T>, where));
  }

  double item() const;  // the value of a tensor with one element; ShapeError otherwise
  template <class T>
  std::vector<T> to_vector() const;  // row-major; T = float, double, int64_t or bool must match

  Tensor& copy_(const Tensor& source, SourceLocation where = SourceLocation::current());
  Tensor& fill_(double value, SourceLocation where = SourceLocation::current());

  Tensor contiguous() const;         // itself where it is contiguous, else a copy. Not recorded
  Tensor clone() const;              // a copy of the numbers, outside the graph
  Tensor astype(Dtype dtype) const;  // a converted copy (itself if equal), outside the graph

  /// The same numbers seen with other sizes, strides and offset, outside the graph.
  Tensor view(const Shape& shape, const Strides& strides, std::int64_t offset) const;
  /// The same numbers, contiguous, seen as `shape`. ShapeError if the element counts differ.
  Tensor view(const Shape& shape) const;

  Tensor operator[](std::initializer_list<Index> indices) const;  // recorded; defined in ops/
  Tensor operator[](std::int64_t position) const { return (*this)[{Index(position)}]; }

  // ---- the graph ----

  /// Will backward() carry a gradient to or through this tensor?
  bool requires_grad() const;
  /// Makes this a leaf whose gradient is wanted, or no longer wanted (frozen). Handles copied from
  /// the leaf see both; one copied before the first call stays outside the graph.
  /// GraphError for a tensor that an operation made; DtypeError unless it is floating-point.
  Tensor& requires_grad_(bool wanted = true);
  bool is_leaf() const;

  Tensor grad() const;             // what backward() has added up; undefined if nothing has
  void set_grad(Tensor gradient);  // an undefined tensor clears it
  Tensor detach() const;           // the same numbers, outside the graph

  /// d(this)/d(leaf) is added to the grad() of every leaf it depends on. Without `gradient` this
  /// must have one element. GraphError when nothing requires a gradient or the graph is used up.
  void backward(BackwardOptions options = {}) const;
  void backward(const Tensor& gradient, BackwardOptions options = {}) const;

  void retain_grad() const;  // keep the gradient of this intermediate tensor in grad()
  /// f sees the gradient of this tensor when it is complete; a defined result takes its place.
  void register_hook(std::function<Tensor(const Tensor&)> f) const;
  /// f runs after a leaf's grad() has been added to.
  void register_post_accumulate_hook(std::function<void(Tensor&)> f) const;

  const NodePtr& node() const { return node_; }
  void set_node(NodePtr node) { node_ = std::move(node); }
  const std::shared_ptr<Storage>& storage() const { return storage_; }
  Tensor without_numbers() const;  // undefined, but with this one's shape and dtype
  /// Nobody else can see these numbers: they may be overwritten in place.
  bool owns_alone() const { return storage_.use_count() == 1 && !storage_->borrowed(); }

 private:
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

/// x's own buffer if nobody else can see it and it is contiguous, else a fresh one of its shape.
Tensor reuse_or_empty(const Tensor& x);

}  // namespace gradus
