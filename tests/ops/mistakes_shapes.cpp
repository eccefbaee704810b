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

Tensor grid() { return values({2, 3}); }

void add_movement(Mistakes& all) {
  for (const Shape& shape : {Shape{-2, -3}, Shape{-2, 3}, Shape{3, -2}})
    all.push_back({"reshape", {"-2", "-1"}, [=] { reshape(grid(), shape); }});
  all.push_back({"reshape", {"reshape", "[2, 3]", "-1"}, [] { reshape(grid(), {4, -1}); }});
  all.push_back({"reshape", {"reshape", "[2, 3]", "[5]"}, [] { reshape(grid(), {5}); }});
  all.push_back({"flatten", {"flatten", "[2, 3]", "1"}, [] { flatten(grid(), 1, 0); }});
  all.push_back({"transpose", {"transpose", "-2", "2"}, [] { transpose(grid(), 0, 2); }});
  all.push_back({"transpose", {"transpose", "-3", "-2"}, [] { transpose(grid(), -3, 1); }});
  all.push_back({"permute", {"permute", "[0, 0]", "[2, 3]"}, [] { permute(grid(), {0, 0}); }});
  all.push_back({"expand", {"expand", "[2, 3]", "[4, 3]"}, [] { expand(grid(), {4, 3}); }});
  all.push_back({"squeeze", {"squeeze", "[2, 3]", "select()"}, [] { squeeze(grid(), 1); }});
  all.push_back({"unsqueeze", {"unsqueeze", "-3", "4"}, [] { unsqueeze(grid(), 4); }});
  all.push_back({"slice", {"slice", "[2, 3]", "flip()"}, [] { slice(grid(), 0, 0, 1, 0); }});
  all.push_back({"slice", {"slice", "-2", "2"}, [] { slice(grid(), 2, 0, 1); }});
  all.push_back({"select", {"select", "[2, 3]", "-3"}, [] { select(grid(), 1, 3); }});
  all.push_back({"split", {"split", "[2, 3]", "2"}, [] { split(grid(), {1, 1}, 1); }});
  all.push_back({"split", {"split", "[2, 3]", "0"}, [] { split(grid(), 0); }});
  all.push_back({"chunk", {"chunk", "[2, 3]", "0"}, [] { chunk(grid(), 0); }});
  all.push_back({"clone", {"clone", "undefined"}, [] { clone(Tensor()); }});
  all.push_back({"view", {"view", "[3, 2]", "[1, 3]"}, [] { view(transpose(grid()), {6}); }});
  all.push_back({"contiguous", {"contiguous", "undefined"}, [] { contiguous(Tensor()); }});
  all.push_back({"cat", {"cat", "[2, 3]", "[2, 2]"}, [] { cat({grid(), values({2, 2})}, 0); }});
  all.push_back({"stack", {"stack", "[2, 3]", "[3, 2]"}, [] { stack({grid(), values({3, 2})}); }});
  all.push_back({"repeat", {"repeat", "[2, 3]", "[2]"}, [] { repeat(grid(), {2}); }});
  all.push_back({"flip", {"flip", "-2", "2"}, [] { flip(grid(), {2}); }});
  all.push_back({"tril", {"tril", "[3]"}, [] { tril(values({3})); }});
  all.push_back({"triu", {"triu", "[3]"}, [] { triu(values({3})); }});
  all.push_back({"pad", {"pad", "[2, 3]", "-1"}, [] { pad(grid(), 0, -1, 0); }});
  all.push_back({"reshape", {"[-1, -1]"}, [] { reshape(grid(), {-1, -1}); }});
  all.push_back({"reshape", {"reshape", "[0]"}, [] { reshape(values({0}), {-1, 0}); }});
  all.push_back({"expand", {"expand", "[3]", "[2, 3]"}, [] { expand(grid(), {3}); }});
  all.push_back({"expand", {"expand", "-1"}, [] { expand(grid(), {-1, 2, 3}); }});
  all.push_back({"transpose", {"transpose", "-2"}, [] { transpose(values({3})); }});
  all.push_back({"permute", {"permute", "[0]"}, [] { permute(grid(), {0}); }});
  all.push_back({"permute", {"[2, 3]", "1"}, [] { permute(grid(), {1, -1}); }});
  all.push_back({"flip", {"flip", "[0, -2]", "0"}, [] { flip(grid(), {0, -2}); }});
  all.push_back({"cat", {"i64", "f64"}, [] { cat({indices({1}), values({1})}); }});
  all.push_back({"cat", {"cat"}, [] { cat({tensor(1.0), tensor(2.0)}); }});
  all.push_back({"cat", {"cat", "tensors"}, [] { cat(std::vector<Tensor>{}); }});
  all.push_back({"stack", {"stack", "undefined"}, [] { stack({grid(), Tensor()}); }});
  all.push_back({"split", {"split", "1", "2"}, [] { split(grid(), {2, 2}, 1); }});
  all.push_back({"repeat", {"repeat", "-1"}, [] { repeat(grid(), {1, -1}); }});
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
    all.push_back({name, {"-2", "2"}, [f = f] { f(grid(), {2}); }});
    all.push_back({name, {"[0, 0]", "0"}, [f = f] { f(grid(), {0, 0}); }});
    all.push_back({name, {name, "undefined"}, [f = f] { f(Tensor(), {}); }});
  }
  all.push_back({"max", {"max", "[2, 0]", "[1]"}, [] { max(values({2, 0}), {1}); }});
  all.push_back({"min", {"min", "[2, 0]", "[1]"}, [] { min(values({2, 0}), {1}); }});
  all.push_back({"logsumexp", {"f32", "f64"}, [] { logsumexp(indices({1})); }});
  all.push_back({"cumsum", {"cumsum", "-3", "-2"}, [] { cumsum(grid(), -3); }});
}

void add_indexing(Mistakes& all) {
  all.push_back({"index_select", {"index_select", "[1]", "[2]"}, [] {
                   index_select(grid(), 1, indices({0, 3}));
                 }});
  all.push_back({"index_select", {"index_select", "f64", "i64"}, [] {
                   index_select(grid(), 1, values({2}));
                 }});
  all.push_back({"gather", {"gather", "[2]", "[2, 3]"}, [] {
                   gather(grid(), 1, indices({0, 1}));
                 }});
  all.push_back({"gather", {"gather", "[1, 0]", "[2, 1]"}, [] {
                   gather(grid(), 1, reshape(indices({0, -1}), {2, 1}));
                 }});
  all.push_back({"scatter_add", {"scatter_add", "[1, 0]", "[2, 1]"}, [] {
                   scatter_add(grid(), 1, reshape(indices({0, 3}), {2, 1}), values({2, 1}));
                 }});
  all.push_back({"scatter_add", {"scatter_add", "[2, 2]", "[2, 1]"}, [] {
                   scatter_add(grid(), 1, reshape(indices({0, 1}), {2, 1}), values({2, 2}));
                 }});
  all.push_back({"embedding", {"embedding", "[1]", "[2]"}, [] {
                   embedding(grid(), indices({0, 2}));
                 }});
  all.push_back({"embedding", {"embedding", "[2, 3]", "padding_idx"}, [] {
                   embedding(grid(), indices({0}), 2);
                 }});
  all.push_back({"embedding", {"embedding", "f64"}, [] { embedding(grid(), values({2})); }});
  all.push_back({"embedding", {"embedding", "[5]"}, [] { embedding(values({5}), indices({0})); }});
  all.push_back({"index_select", {"index_select", "[1, 2]"}, [] {
                   index_select(grid(), 0, reshape(indices({0, 0}), {1, 2}));
                 }});
  all.push_back(
      {"index_select", {"index_select", "2"}, [] { index_select(grid(), 2, indices({0})); }});
  all.push_back({"gather", {"gather", "[1, 4]", "[2, 3]"}, [] {
                   gather(grid(), 0, reshape(indices({0, 0, 0, 0}), {1, 4}));
                 }});
  all.push_back({"gather", {"gather", "undefined"}, [] { gather(grid(), 0, Tensor()); }});
  all.push_back({"scatter_add", {"scatter_add", "f32", "f64"}, [] {
                   scatter_add(grid(), 0, reshape(indices({0}), {1, 1}), ones({1, 1}, Dtype::f32));
                 }});
  all.push_back({"sort", {"sort", "-2", "2"}, [] { sort(grid(), 2); }});
  all.push_back({"topk", {"topk", "[2, 3]", "4"}, [] { topk(grid(), 4); }});
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
    all.push_back({name, {std::string(name)}, [f = f] { f(Tensor()); }});
}

void add_scatter(Mistakes& all) {
  const Tensor at = reshape(indices({0, 1}), {2, 1}), source = values({2, 1});
  const auto scatter = [=](const Tensor& a, const Tensor& index, const Tensor& from) {
    return [=] { scatter_add(a, 1, index, from); };
  };
  all.push_back({"scatter_add", {"scatter_add", "undefined"}, scatter(Tensor(), at, source)});
  all.push_back({"scatter_add", {"scatter_add", "undefined"}, scatter(grid(), at, Tensor())});
  all.push_back({"scatter_add", {"scatter_add", "undefined"}, scatter(grid(), Tensor(), source)});
  all.push_back({"scatter_add", {"scatter_add", "f64", "i64"}, scatter(grid(), source, source)});
  all.push_back({"scatter_add",
                 {"scatter_add", "[3, 1]", "[2, 3]"},
                 scatter(grid(), reshape(indices({0, 1, 2}), {3, 1}), values({3, 1}))});
  all.push_back({"scatter_add",
                 {"scatter_add", "bool"},
                 scatter(greater(grid(), 0), at, greater(source, 0))});
  all.push_back({"gather", {"gather", "[3, 1]", "[2, 3]"}, [] {
                   gather(grid(), 1, reshape(indices({0, 1, 2}), {3, 1}));
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
