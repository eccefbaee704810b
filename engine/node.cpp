#include "gradus/engine/node.h"

namespace gradus {

std::atomic<std::uint64_t> detail::last_node_id{0};

namespace {

std::uint64_t next_id() { return detail::last_node_id.fetch_add(1, std::memory_order_relaxed) + 1; }

/// Nodes released during another node's deletion. This list avoids deep recursion.
thread_local Node* pending_deletion = nullptr;
thread_local bool deleting = false;

}  // namespace

void NodePtr::retain() {
  if (node_) node_->references_.fetch_add(1, std::memory_order_relaxed);
}

void NodePtr::release() {
  if (node_->references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  node_->next_pending_ = std::exchange(pending_deletion, node_);
  if (std::exchange(deleting, true)) return;
  while (Node* next = pending_deletion) {
    pending_deletion = next->next_pending_;
    delete next;
  }
  deleting = false;
}

Node::Node(const Tensor& output, const char* op_name)
    : id(next_id()), shape(output.shape()), dtype(output.dtype()), op_name(op_name) {}

void Node::set_op(Op* recipe) {
  op = recipe;
  if (op) op->node_ = this;
}

Node::Extra& Node::extra() {
  if (!extra_) extra_ = std::make_unique<Extra>();
  return *extra_;
}

void Node::Extra::drop_removed_hooks() {
  if (!runs_hooks) std::erase_if(post_accumulate_hooks, [](const auto& x) { return x->removed; });
}

NodePtr make_leaf(const Tensor& x) {
  NodePtr leaf(new Node(x));
  leaf->extra();  // created here, because multiple threads may use the leaf later
  return leaf;
}

}  // namespace gradus
