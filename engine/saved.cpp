#include "gradus/engine/saved.h"

#include "gradus/engine/grad_mode.h"
#include "gradus/engine/node.h"
#include "gradus/engine/observer.h"

namespace gradus {

Saved::Saved(const Tensor& x) {
  if (!x.defined()) return;
  Observers::notify([&](Observer& o) { o.on_save(x); });
  const NodePtr& node = x.node();
  if (GradMode::enabled() && node && node->op && node->op->is_recomputable()) {
    tensor_ = x.metadata_only();
    producer_ = node;
    return;
  }
  tensor_ = x;
  version_ = x.storage()->version();
}

Tensor Saved::value() const {
  if (producer_) {
    require<GraphError>(producer_->op != nullptr, "backward must recompute the output of ",
                        producer_->name(), " (node ", producer_->id,
                        "), but an earlier backward freed that node. ",
                        "Pass {.keep_graph = true} to the first backward.");
    Tensor recomputed = producer_->op->recompute();
    recomputed.set_node(producer_);
    return recomputed;
  }
  if (tensor_.defined() && tensor_.storage()->version() != version_) {
    const SourceLocation by = tensor_.storage()->last_write();
    fail<GraphError>("a tensor of shape ", shape(), " that backward needs was saved at version ",
                     version_, " and later written to (now version ", tensor_.storage()->version(),
                     ") at ", by.file_name(), ":", by.line(),
                     ". Write before the forward, or to a clone().");
  }
  return tensor_;
}

Tensor Saved::take(const NeedsGrad& needs_grad) {
  Tensor x = value();
  if (needs_grad.last) tensor_ = tensor_.metadata_only();
  return x;
}

}  // namespace gradus
