// Observers and scopes are linked lists, innermost first; thread_state holds the heads.
#include "gradus/engine/observer.h"

#include <atomic>

#include "gradus/engine/node.h"

namespace gradus {
namespace {

// Set at program start, so that all messages include the running layer.
const auto no_context_before = error_context.exchange(current_context);

}  // namespace

ObserverScope::ObserverScope(Observer& observer) : observer_(observer) {
  for (const Observer* each = thread_state.observer; each; each = each->outer_)
    require(each != &observer,
            "ObserverScope: this observer is already attached to this thread. "
            "Attach it once.");
  observer.outer_ = thread_state.observer;
  thread_state.observer = &observer;
}

std::uint64_t Scoped::next_id() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

std::string Scope::path() const {
  if (!outer_) return "";
  std::string before = outer_->path();
  const std::string own = outer_->owner().name_of(who_);
  if (own.empty()) return before;  // not a child of the outer layer
  return before.empty() ? own : before + "." + own;
}

std::string current_context() {
  std::string out;
  if (const Scope* scope = thread_state.scope) {
    const Scope* root = scope;
    while (root->outer()) root = root->outer();
    const std::string path = scope->path();
    out = root->owner().type_name() + (path.empty() ? "" : " " + path);
  }
  if (const Node* node = thread_state.backward)
    out += str_cat(out.empty() ? "" : ", ", "backward of ", node->name(), ", node ", node->id);
  return out;
}

}  // namespace gradus
