// What movement, reductions, indexing and order refuse.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/indexing.h"
#include "gradus/ops/logic.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/ops/sort.h"
#include "gradus/tests/support/mistakes.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing {
namespace {

Tensor x() { return values({2, 3}); }

void add_movement(Mistakes& all) {
  for (const Shape& shape : {Shape{-2, -3}, Shape{-2, 3}, Shape{3, -2}})
    all.push_back({"reshape", "has a negative size, -2: only -1 (compute it) is allowed",
                   [=] { reshape(x(), shape); }});
  all.push_back(
      {"reshape", "reshape: [2, 3] has 6 elements, which no size in place of the -1 of", [] {
         reshape(x(), {4, -1});
       }});
  all.push_back({"reshape", "reshape: [2, 3] has 6 elements but [5] has 5: the products of the",
                 [] { reshape(x(), {5}); }});
  all.push_back(
      {"flatten", "flatten: axis 1 comes after axis 0 in [2, 3]", [] { flatten(x(), 1, 0); }});
  all.push_back({"transpose", "transpose: axis 2 of a tensor with 2 axes: give -2 to 1",
                 [] { transpose(x(), 0, 2); }});
  all.push_back({"transpose", "transpose: axis -3 of a tensor with 2 axes: give -2 to 1",
                 [] { transpose(x(), -3, 1); }});
  all.push_back(
      {"permute", "permute: the order [0, 0] names axis 0 of [2, 3] twice: name each axis", [] {
         permute(x(), {0, 0});
       }});
  all.push_back(
      {"expand", "expand: [2, 3] to [4, 3]: axis 0 is 2 and cannot become 4: only axes", [] {
         expand(x(), {4, 3});
       }});
  all.push_back({"squeeze", "squeeze: axis 1 of [2, 3] has size 3, not 1: use select() to take one",
                 [] { squeeze(x(), 1); }});
  all.push_back({"unsqueeze", "unsqueeze: axis 4 of a tensor with 3 axes: give -3 to 2",
                 [] { unsqueeze(x(), 4); }});
  all.push_back({"slice", "slice: step 0 along axis 0 of [2, 3] is not positive: flip() turns",
                 [] { slice(x(), 0, 0, 1, 0); }});
  all.push_back({"slice", "slice: axis 2 of a tensor with 2 axes: give -2 to 1",
                 [] { slice(x(), 2, 0, 1); }});
  all.push_back({"select", "select: position 3 of axis 1 of [2, 3]: give -3 to 2",
                 [] { select(x(), 1, 3); }});
  all.push_back({"split", "split: the sizes add up to 2 but axis 1 of [2, 3] has 3", [] {
                   split(x(), {1, 1}, 1);
                 }});
  all.push_back(
      {"split", "split: parts of size 0 of [2, 3]: give at least 1", [] { split(x(), 0); }});
  all.push_back({"chunk", "chunk: 0 chunks of [2, 3]: give at least 1", [] { chunk(x(), 0); }});
  all.push_back({"clone", "clone: the tensor is undefined (no numbers were ever put in it)",
                 [] { clone(Tensor()); }});
  all.push_back({"view",
                 "view: the values of [3, 2] with strides [1, 3] do not lie as [6] needs them: use",
                 [] { view(transpose(x()), {6}); }});
  all.push_back({"contiguous",
                 "contiguous: the tensor is undefined (no numbers were ever put in it)",
                 [] { contiguous(Tensor()); }});
  all.push_back({"cat", "cat: tensor 0 is [2, 3] but tensor 1 is [2, 2]: all sizes but that", [] {
                   cat({x(), values({2, 2})}, 0);
                 }});
  all.push_back(
      {"stack", "stack: tensor 0 is [2, 3] but tensor 1 is [3, 2]: all sizes must be", [] {
         stack({x(), values({3, 2})});
       }});
  all.push_back({"repeat", "repeat: [2, 3] has 2 axes but the times [2] only 1: give one for each",
                 [] { repeat(x(), {2}); }});
  all.push_back(
      {"flip", "flip: axis 2 of a tensor with 2 axes: give -2 to 1", [] { flip(x(), {2}); }});
  all.push_back(
      {"tril", "tril: [3] has fewer than two axes, so no diagonal", [] { tril(values({3})); }});
  all.push_back(
      {"triu", "triu: [3] has fewer than two axes, so no diagonal", [] { triu(values({3})); }});
  all.push_back({"pad", "pad: -1 before and 0 after axis 0 of [2, 3]: neither can be",
                 [] { pad(x(), 0, -1, 0); }});
}

void add_reductions(Mistakes& all) {
  const std::pair<const char*, std::function<void(const Tensor&, const Axes&)>> reductions[] = {
      {"sum", [](const Tensor& a, const Axes& axes) { sum(a, axes); }},
      {"mean", [](const Tensor& a, const Axes& axes) { mean(a, axes); }},
      {"var", [](const Tensor& a, const Axes& axes) { var(a, axes); }},
      {"std", [](const Tensor& a, const Axes& axes) { std(a, axes); }},
      {"max", [](const Tensor& a, const Axes& axes) { max(a, axes); }},
      {"min", [](const Tensor& a, const Axes& axes) { min(a, axes); }},
      {"logsumexp", [](const Tensor& a, const Axes& axes) { logsumexp(a, axes); }},
      {"prod", [](const Tensor& a, const Axes& axes) { prod(a, axes); }},
      {"norm", [](const Tensor& a, const Axes& axes) { norm(a, axes); }},
  };
  for (const auto& [name, f] : reductions) {
    all.push_back({name, "axis 2 of a tensor with 2 axes: give -2 to 1", [f = f] { f(x(), {2}); }});
    all.push_back({name, "axis 0 is named twice in [0, 0]", [f = f] { f(x(), {0, 0}); }});
  }
  all.push_back({"max", "max: [2, 0] has no elements along axes [1], and nothing has no max", [] {
                   max(values({2, 0}), {1});
                 }});
  all.push_back({"min", "min: [2, 0] has no elements along axes [1], and nothing has no min", [] {
                   min(values({2, 0}), {1});
                 }});
  all.push_back(
      {"cumsum", "cumsum: axis -3 of a tensor with 2 axes: give -2 to 1", [] { cumsum(x(), -3); }});
}

void add_indexing(Mistakes& all) {
  all.push_back({"index_select", "index_select: index 3 at [1] of [2] is not in [0, 3)", [] {
                   index_select(x(), 1, indices({0, 3}));
                 }});
  all.push_back({"index_select",
                 "index_select: the index is f64, and must be i64: convert with to(x,",
                 [] { index_select(x(), 1, values({2})); }});
  all.push_back(
      {"gather", "gather: an index [2] does not fit [2, 3] along axis 1: it needs as", [] {
         gather(x(), 1, indices({0, 1}));
       }});
  all.push_back({"gather", "gather: index -1 at [1, 0] of [2, 1] is not in [0, 3)", [] {
                   gather(x(), 1, reshape(indices({0, -1}), {2, 1}));
                 }});
  all.push_back({"scatter_add", "scatter_add: index 3 at [1, 0] of [2, 1] is not in [0, 3)", [] {
                   scatter_add(x(), 1, reshape(indices({0, 3}), {2, 1}), values({2, 1}));
                 }});
  all.push_back({"scatter_add",
                 "scatter_add: the source is [2, 2] but the index [2, 1]: they must be alike", [] {
                   scatter_add(x(), 1, reshape(indices({0, 1}), {2, 1}), values({2, 2}));
                 }});
  all.push_back(
      {"embedding", "embedding: id 2 at [1] of [2] is not in [0, 2): make the table for a", [] {
         embedding(x(), indices({0, 2}));
       }});
  all.push_back({"embedding",
                 "embedding: padding_idx 2 is no row of [2, 3]: give one of [0, 2), or none",
                 [] { embedding(x(), indices({0}), 2); }});
  all.push_back(
      {"sort", "sort: axis 2 of a tensor with 2 axes: give -2 to 1", [] { sort(x(), 2); }});
  all.push_back({"topk", "topk: 4 of the 3 elements along axis 1 of [2, 3]", [] { topk(x(), 4); }});
}

void add_undefined(Mistakes& all) {
  const Tensor at = indices({0});
  const std::pair<const char*, std::function<void(const Tensor&)>> functions[] = {
      {"flatten", [](const Tensor& a) { flatten(a); }},
      {"transpose", [](const Tensor& a) { transpose(a); }},
      {"permute", [](const Tensor& a) { permute(a, {}); }},
      {"squeeze", [](const Tensor& a) { squeeze(a, 0); }},
      {"unsqueeze", [](const Tensor& a) { unsqueeze(a, 0); }},
      {"slice", [](const Tensor& a) { slice(a, 0, 0, 1); }},
      {"repeat", [](const Tensor& a) { repeat(a, {2}); }},
      {"flip", [](const Tensor& a) { flip(a, {0}); }},
      {"tril", [](const Tensor& a) { tril(a); }},
      {"triu", [](const Tensor& a) { triu(a); }},
      {"cumsum", [](const Tensor& a) { cumsum(a, 0); }},
      {"index_select", [=](const Tensor& a) { index_select(a, 0, at); }},
      {"gather", [=](const Tensor& a) { gather(a, 0, at); }},
  };
  for (const auto& [name, f] : functions)
    all.push_back(
        {name, std::string(name) + ": the tensor is undefined", [f = f] { f(Tensor()); }});
}

void add_scatter(Mistakes& all) {
  const Tensor at = reshape(indices({0, 1}), {2, 1}), source = values({2, 1});
  const auto scatter = [=](const Tensor& a, const Tensor& index, const Tensor& from) {
    return [=] { scatter_add(a, 1, index, from); };
  };
  const char* undefined = "scatter_add: a tensor is undefined";
  all.push_back({"scatter_add", undefined, scatter(Tensor(), at, source)});
  all.push_back({"scatter_add", undefined, scatter(x(), at, Tensor())});
  all.push_back(
      {"scatter_add", "scatter_add: the index is undefined", scatter(x(), Tensor(), source)});
  all.push_back({"scatter_add", "scatter_add: the index is f64, and must be i64",
                 scatter(x(), source, source)});
  all.push_back({"scatter_add", "scatter_add: an index [3, 1] does not fit [2, 3] along axis 1",
                 scatter(x(), reshape(indices({0, 1, 2}), {3, 1}), values({3, 1}))});
  all.push_back({"scatter_add", "scatter_add: bool is added to bool: both must be the same kind",
                 scatter(greater(x(), 0), at, greater(source, 0))});
  all.push_back({"gather", "gather: an index [3, 1] does not fit [2, 3] along axis 1", [] {
                   gather(x(), 1, reshape(indices({0, 1, 2}), {3, 1}));
                 }});
}

}  // namespace

Mistakes shape_mistakes() {
  Mistakes all;
  add_movement(all);
  add_reductions(all);
  add_indexing(all);
  add_undefined(all);
  add_scatter(all);
  return all;
}

}  // namespace gradus::testing
