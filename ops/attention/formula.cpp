// Attention as a formula:
//
//   p = softmax(q kᵀ · scale + bias, masked)      o = p v
//
// Dropout applies to p in p v only. Keys hidden from all queries, and queries without visible keys,
// count as 0.
#include <cmath>

#include "gradus/ops/arithmetic.h"
#include "gradus/ops/attention/problem.h"
#include "gradus/ops/kernels/hidden.h"
#include "gradus/ops/logic.h"
#include "gradus/ops/matmul.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/ops/softmax.h"

namespace gradus::formula {

using kernel::AttentionProblem;
using kernel::Hidden;
using kernel::without_rows;

namespace {

Hidden hidden(const AttentionProblem& p) { return kernel::hidden_by(p.mask, {p.B, p.H, p.T, p.S}); }

/// Repeats key heads to match the query heads: [B, Hk, S, D] → [B, H, S, D]
Tensor spread(const AttentionProblem& p, const Tensor& x) {
  const std::int64_t S = x.size(2), D = x.size(3);
  const Tensor one = reshape(x, {p.B, p.Hk, 1, S, D});
  return reshape(expand(one, {p.B, p.Hk, p.group(), S, D}), {p.B, p.H, S, D});
}

/// scores + bias, −∞ where masked: [B, H, T, S]
Tensor masked(Tensor scores, const Tensor& bias, const Hidden& hides) {
  if (bias.defined()) scores = scores + bias;
  return hides.pairs.defined() ? masked_fill(scores, hides.pairs, -INFINITY) : scores;
}

}  // namespace

AttentionOutput composed(const AttentionProblem& p, const Tensor& queries, const Tensor& keys,
                         const Tensor& values, const Tensor& bias) {
  const Hidden hides = hidden(p);
  const Tensor q = without_rows(queries, hides.queries),
               k = without_rows(spread(p, keys), hides.keys),
               v = without_rows(spread(p, values), hides.keys);
  const Tensor weights = softmax(masked(matmul(q, transpose(k)) * p.scale, bias, hides));
  const Tensor dropped = p.dropout.threshold ? dropout(weights, p.dropout) : weights;
  return {without_rows(matmul(dropped, v), hides.queries), weights};
}

std::vector<std::pair<const char*, Tensor>> intermediates(const AttentionProblem& p,
                                                          const Tensor& q, const Tensor& keys,
                                                          const Tensor& values,
                                                          const Tensor& dout) {
  const Hidden hides = hidden(p);
  const Tensor scores = matmul(q, transpose(spread(p, keys))) * p.scale;
  const Tensor seen = masked(scores, p.bias, hides), weights = softmax(seen);
  std::vector<std::pair<const char*, Tensor>> all{{"scores", scores}, {"weights", weights}};
  if (p.bias.defined() || hides.pairs.defined()) all.emplace_back("masked", seen);
  if (!dout.defined()) return all;
  Tensor dp = matmul(dout, transpose(spread(p, values)));
  if (hides.pairs.defined()) dp = masked_fill(dp, hides.pairs, 0);
  if (p.dropout.threshold) dp = dropout(dp, p.dropout);
  all.emplace_back("dweights", dp);
  all.emplace_back("dscores", weights * (dp - sum(weights * dp, -1, true)));
  return all;
}

}  // namespace gradus::formula
