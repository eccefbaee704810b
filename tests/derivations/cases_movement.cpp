#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/derivations/trial.h"

namespace gradus::derivations {
namespace {

using In = const Given&;

std::vector<Case> views() {
  return {
      {"reshape", "x_ij k:#ij n=#j", [](In in) { return reshape(in("x"), {-1}); }},
      {"permute", "x_ijk",
       [](In in) {
         return permute(in("x"), {2, 0, 1});
       }},
      {"slice", "x_rj j:5,7,4 i:2,3,2 start=1 step=2",
       [](In in) { return slice(in("x"), 1, 1, in("x").size(1), 2); }},
      {"expand", "x_i k:2,3,4 c=#k",
       [](In in) {
         return expand(in("x"), {in.integer("c"), in("x").size(0)});
       }},
      {"sum_to", "x_ki", [](In in) { return sum_to(in("x"), {in("x").size(1)}); }},
  };
}

std::vector<Case> copies() {
  return {
      {"cat", "a_ri b_rj i:2,3,1 j:3,1,2 k:5,4,3 n=#i",
       [](In in) {
         return cat({in("a"), in("b")}, 1);
       }},
      {"flip", "x_rj i:#j n=#j", [](In in) { return flip(in("x"), {1}); }},
      {"pad", "i:2,3,1 k:5,6,4 x_ri before=1 value=1.5",
       [](In in) { return pad(in("x"), 1, 1, 2, 1.5); }},
  };
}

std::vector<Case> places() {
  return {
      {"index_select", "x_ri index_k<i k:4,5,2",
       [](In in) { return index_select(in("x"), 1, in("index")); }},
      {"gather", "x_ri index_rk<i k:4,5,2", [](In in) { return gather(in("x"), 1, in("index")); }},
      {"scatter_add", "x_ri index_rk<i source_rk k:4,5,2",
       [](In in) { return scatter_add(in("x"), 1, in("index"), in("source")); }},
      {"embedding", "v:3,5,2 c:2,3,1 t:6,4,5 weight_vc ids_t<v",
       [](In in) { return embedding(in("weight"), in("ids")); }},
      {"embedding_padding", "v:3,5,4 c:2,3,1 t:6,4,5 weight_vc ids_t<v p=1",
       [](In in) { return embedding(in("weight"), in("ids"), 1); }, "embedding"},
  };
}

}  // namespace

std::vector<Case> movement_cases() {
  std::vector<Case> all = views();
  for (const auto family : {copies, places})
    for (Case& each : family()) all.push_back(std::move(each));
  return all;
}

}  // namespace gradus::derivations
