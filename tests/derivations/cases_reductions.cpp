#include "gradus/ops/ops.h"
#include "gradus/tests/derivations/trial.h"

namespace gradus::derivations {
namespace {

using In = const Given&;

std::vector<Case> sums() {
  return {
      {"sum", "x_ri", [](In in) { return sum(in("x"), {1}); }},
      {"mean", "x_ri n=#i", [](In in) { return mean(in("x"), {1}); }},
      {"var", "r:2,3,1 i:3,2,5 x_ri n=#i", [](In in) { return var(in("x"), {1}); }},
      {"std", "r:2,3,1 i:3,2,5 x_ri n=#i", [](In in) { return std(in("x"), {1}); }},
      {"max", "x_ri", [](In in) { return max(in("x"), {1}); }},
      {"min", "x_ri", [](In in) { return min(in("x"), {1}); }},
      {"logsumexp", "x_ri", [](In in) { return logsumexp(in("x"), {1}); }},
      {"norm", "x_ri", [](In in) { return norm(in("x"), {1}); }},
      {"prod", "x_ri", [](In in) { return prod(in("x"), {1}); }},
      {"cumsum", "x_ri", [](In in) { return cumsum(in("x"), 1); }},
  };
}

std::vector<Case> rows() {
  return {
      {"softmax", "x_ri", [](In in) { return softmax(in("x")); }},
      {"log_softmax", "x_ri", [](In in) { return log_softmax(in("x")); }},
      {"layer_norm", "x_ti w_i b_i eps=0.1 n=#i",
       [](In in) { return layer_norm(in("x"), in("w"), in("b"), in.number("eps")); }},
      {"rms_norm", "x_ti w_i eps=0.1 n=#i",
       [](In in) { return rms_norm(in("x"), in("w"), in.number("eps")); }},
      {"batch_norm", "x_tcl w_c b_c eps=0.1 n=#tl",
       [](In in) {
         return batch_norm(in("x"), in("w"), in("b"), {}, {}, true,
                           {.momentum = 0.1, .eps = in.number("eps")});
       },
       "layer_norm"},
      {"cross_entropy", "n:2,5,3 v:3,2,4 x_nv target_n<v m=#n",
       [](In in) { return cross_entropy(in("x"), in("target")); }},
      {"cross_entropy_weighted", "n:2,5,3 v:3,2,4 x_nv target_n<v w_v>! ε=0.2 V=#v",
       [](In in) {
         return cross_entropy(in("x"), in("target"),
                              {.label_smoothing = in.number("ε"), .weight = in("w")});
       },
       "cross_entropy"},
  };
}

}  // namespace

std::vector<Case> reduction_cases() {
  std::vector<Case> all = sums();
  for (Case& each : rows()) all.push_back(std::move(each));
  return all;
}

}  // namespace gradus::derivations
