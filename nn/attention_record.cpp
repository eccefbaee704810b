// AttentionRecord: a stack of records, one a thread.
#include "gradus/nn/attention_record.h"

#include "gradus/engine/observer.h"

namespace gradus::nn {
namespace {

thread_local AttentionRecord* innermost = nullptr;

}  // namespace

AttentionRecord::AttentionRecord() : outer_(innermost) { innermost = this; }
AttentionRecord::~AttentionRecord() { innermost = outer_; }
AttentionRecord* AttentionRecord::current() { return innermost; }

void AttentionRecord::add(const Tensor& weights) {
  entries_.push_back({thread_state.scope ? thread_state.scope->path() : "", weights});
}

const Tensor& AttentionRecord::weights(const std::string& layer) const {
  std::string known;
  for (auto at = entries_.rbegin(); at != entries_.rend(); ++at) {
    if (at->layer == layer) return at->weights;
    known = "\"" + at->layer + "\"" + (known.empty() ? "" : ", ") + known;
  }
  fail<ValueError>("AttentionRecord: no attention layer \"", layer,
                   "\" has run: ", known.empty() ? "none has" : "there are " + known);
}

}  // namespace gradus::nn
