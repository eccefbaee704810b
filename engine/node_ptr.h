#pragma once

#include <cstddef>
#include <utility>

namespace gradus {

class Node;

/// A reference-counted pointer to a Node. The count is stored in the Node, so the pointer is half
/// the size of a shared_ptr.
class NodePtr {
 public:
  NodePtr() = default;
  NodePtr(std::nullptr_t) {}  // NOLINT: implicit
  explicit NodePtr(Node* node) : node_(node) { retain(); }
  NodePtr(const NodePtr& other) : NodePtr(other.node_) {}
  NodePtr(NodePtr&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  NodePtr& operator=(NodePtr other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~NodePtr() {
    if (node_) release();
  }

  Node* get() const { return node_; }
  Node& operator*() const { return *node_; }
  Node* operator->() const { return node_; }
  explicit operator bool() const { return node_ != nullptr; }
  friend bool operator==(const NodePtr&, const NodePtr&) = default;

 private:
  void retain();
  void release();

  Node* node_ = nullptr;
};

}  // namespace gradus
