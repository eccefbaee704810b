#include "gradus/trace/watch.h"

#include "gradus/engine/grad_mode.h"
#include "gradus/engine/node.h"

namespace gradus::trace {
namespace {

thread_local Watch* innermost_watch = nullptr;

}  // namespace

Watch::Watch() : outer_watch_(innermost_watch), scope_(*this) { innermost_watch = this; }

std::string Watch::Layer::text() const { return path.empty() ? model : model + " " + path; }

Watch::~Watch() { unlink(innermost_watch, this, &Watch::outer_watch_); }

const Watch* Watch::current() { return innermost_watch; }

const Watch::Event* Watch::of(std::uint64_t node) const {
  const auto at = by_node_.find(node);
  return at == by_node_.end() ? nullptr : &events_[at->second];
}

const Watch::Event* Watch::maker_of(const Tensor& x) const {
  const Maker* maker = makers_.of(x);
  return maker && !maker->leaf ? &events_[maker->event] : nullptr;
}

/// A view takes over the entry of its source, unless the source is a leaf.
void Watch::note_numbers(const Tensor& x) {
  const Maker* before = makers_.of(x);
  if (before && before->leaf) return;
  const Node* node = x.node().get();
  makers_.note(x, {node ? node->id : 0, node && !node->op_name, events_.size()});
}

Watch::Input Watch::look_at(const Tensor& x) {
  if (x.node()) {
    if (x.is_leaf()) note_numbers(x);
    return {.node = x.node()->id, .wanted = x.requires_grad()};
  }
  if (const Maker* maker = makers_.of(x)) return {.numbers = maker->node};
  return {.unknown = x.storage()};  // null if undefined
}

std::size_t Watch::index_of(const Scope& scope) {
  const Scope* root = &scope;
  while (root->outer()) root = root->outer();
  const Layer layer{root->owner().type_name(), scope.path()};
  const auto at = layer_index_.emplace(layer, layers_.size());
  if (at.second) layers_.push_back(layer);
  return at.first->second;
}

void Watch::on_op_end(const Op& op, std::span<const Tensor* const> inputs, const Tensor& y) {
  if (thread_state.parallel) return;
  if (thread_state.backward && !y.node()) return;  // an op inside a backward function
  Event event;
  event.op = op.name();
  event.node = y.node() ? y.node()->id : 0;
  if (!path_.empty())
    event.layer = path_.back();
  else if (thread_state.scope)  // the scope was opened before the Watch
    event.layer = index_of(*thread_state.scope);
  event.dtype = y.dtype();
  event.recording = GradMode::enabled();
  event.shape = y.shape();
  event.range = range_of(y);
  for (const Tensor* x : inputs) event.inputs.push_back(look_at(*x));
  if (y.node()) by_node_[event.node] = events_.size();
  note_numbers(y);
  events_.push_back(std::move(event));
}

void Watch::on_scope_begin(const Scope& scope) {
  if (!thread_state.parallel) path_.push_back(index_of(scope));
}

void Watch::on_scope_end(const Scope&) noexcept {
  if (!thread_state.parallel && !path_.empty()) path_.pop_back();
}

}  // namespace gradus::trace
