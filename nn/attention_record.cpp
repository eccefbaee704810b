#include "gradus/nn/attention_record.h"

#include "gradus/engine/grad_mode.h"
#include "gradus/engine/observer.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/attention_metrics.h"
#include "gradus/ops/create.h"
#include "gradus/ops/reduce.h"

namespace gradus::nn {
namespace {

thread_local AttentionRecord* innermost = nullptr;

}  // namespace

AttentionRecord::AttentionRecord() : outer_(innermost) { innermost = this; }
AttentionRecord::~AttentionRecord() { unlink(innermost, this, &AttentionRecord::outer_); }
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
                   "\" has run. Recorded: ", known.empty() ? "none" : known);
}

Tensor AttentionRecord::mean_entropy() const {
  require(!entries_.empty(),
          "AttentionRecord: nothing was recorded. Run the model while the record exists.");
  Tensor total;
  for (const Entry& each : entries_) {
    const Tensor entropy = mean(attention_entropy(each.weights));
    total = total.defined() ? total + entropy : entropy;
  }
  return total / static_cast<double>(entries_.size());
}

std::vector<AttentionRecord::Head> AttentionRecord::heads() const {
  const NoGrad off;
  std::vector<Head> found;
  for (const Entry& each : entries_) {
    const auto queries = arange(each.weights.size(2)).to_vector<std::int64_t>(),
               keys = arange(each.weights.size(3)).to_vector<std::int64_t>();
    const auto by_head = [](const Tensor& x) {  // [B, H, T] → [H]
      return kernel::convert(mean(x, {0, 2}), Dtype::f64).to_vector<double>();
    };
    const std::vector<double> entropy = by_head(attention_entropy(each.weights)),
                              span = by_head(mean_attention_distance(each.weights, queries, keys)),
                              maximum = by_head(max(each.weights, {-1}));
    for (std::size_t h = 0; h < entropy.size(); ++h)
      found.push_back({each.layer, static_cast<std::int64_t>(h), entropy[h], span[h], maximum[h]});
  }
  return found;
}

}  // namespace gradus::nn
