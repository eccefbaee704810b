// NodePtr: what keeps a node of the graph alive.
#pragma once

#include <cstddef>
#include <utility>

namespace gradus {

class Node;

/// A reference to a Node, which lives as long as there is one: a shared_ptr whose count is in the
/// node, so that a node with its operation is one block of memory and a handle half the size (a
/// quarter of what recording an operation costs).
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
  void retain();   // both are in node.cpp
  void release();  // the last one deletes the node

  Node* node_ = nullptr;
};

}  // namespace gradus
