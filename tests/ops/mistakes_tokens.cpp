#include <algorithm>
#include <string>
#include <vector>

#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/support/mistakes.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing {
namespace {

void add_rotary(Mistakes& all) {
  all.push_back({"apply_rotary", {"apply_rotary", "[1, 2, 3, 5]"}, [] {
                   apply_rotary(values({1, 2, 3, 5}), std::vector<std::int64_t>{0, 1, 2});
                 }});
  all.push_back({"apply_rotary", {"apply_rotary", "[2, 1, 3, 2]", "4"}, [] {
                   apply_rotary(values({2, 1, 3, 2}), std::vector<std::int64_t>{0, 1, 2, 3});
                 }});
  all.push_back({"apply_rotary", {"apply_rotary", "undefined"}, [] {
                   apply_rotary(Tensor(), std::vector<std::int64_t>{0});
                 }});
  for (const Shape& shape : {Shape{1, 3, 4}, Shape{1, 1, 1, 2, 2}})
    all.push_back({"apply_rotary", {to_string(shape)}, [=] {
                     apply_rotary(values(shape), std::vector<std::int64_t>{0});
                   }});
  all.push_back({"apply_rotary", {"apply_rotary", "0"}, [] {
                   apply_rotary(values({1, 1, 1, 2}), std::vector<std::int64_t>{1}, {.base = 0});
                 }});
}

void add_convolution(Mistakes& all) {
  const auto conv = [](const Shape& x, const Shape& weight, const Conv1dOptions& options) {
    return [=] { conv1d(values(x), values(weight), {}, options); };
  };
  all.push_back({"conv1d", {"conv1d", "[3, 7]"}, conv({3, 7}, {2, 3, 2}, {})});
  all.push_back({"conv1d", {"conv1d", "[2, 4, 2]", "3"}, conv({1, 3, 7}, {2, 4, 2}, {})});
  all.push_back(
      {"conv1d", {"conv1d", "[4, 1, 2]", "3"}, conv({1, 3, 7}, {4, 1, 2}, {.groups = 2})});
  all.push_back(
      {"conv1d", {"conv1d", "4", "1"}, conv({1, 1, 4}, {1, 1, 4}, {.dilation = 2, .padding = 1})});
  all.push_back({"conv1d", {"conv1d", "0", "1"}, conv({1, 3, 7}, {2, 3, 2}, {.stride = 0})});
  all.push_back({"conv1d", {"conv1d", "[3]", "[2, 3, 2]"}, [] {
                   conv1d(values({1, 3, 7}), values({2, 3, 2}), values({3}));
                 }});
  all.push_back({"conv1d", {"conv1d", "f64", "f32"}, [] {
                   conv1d(values({1, 3, 7}), values({2, 3, 2}).to(Dtype::f32));
                 }});
}

void add_convolution_options(Mistakes& all) {
  const auto conv = [](const Shape& weight, const Conv1dOptions& options) {
    return [=] { conv1d(values({1, 4, 7}), values(weight), {}, options); };
  };
  all.push_back({"conv1d", {"conv1d", "undefined"}, [] { conv1d(values({1, 4, 7}), Tensor()); }});
  all.push_back({"conv1d", {"conv1d", "undefined"}, [] { conv1d(Tensor(), values({2, 4, 2})); }});
  all.push_back({"conv1d", {"conv1d", "[1, 4, 7]", "[2, 4]"}, conv({2, 4}, {})});
  all.push_back({"conv1d", {"conv1d", "1", "0"}, conv({2, 4, 2}, {.dilation = 0})});
  all.push_back({"conv1d", {"conv1d", "1", "0"}, conv({2, 4, 2}, {.groups = 0})});
  all.push_back({"conv1d", {"-1", "1"}, conv({2, 4, 2}, {.padding = -1})});
  all.push_back({"conv1d", {"conv1d", "[3, 2, 2]", "4"}, conv({3, 2, 2}, {.groups = 2})});
  all.push_back({"conv1d", {"0"}, conv({2, 4, 0}, {})});
}

void add_einsum(Mistakes& all) {
  const auto of = [](const char* formula, const Shape& a, const Shape& b) {
    return [=] { einsum(formula, values(a), values(b)); };
  };
  all.push_back({"einsum", {"einsum", "\"ij,jk->ik\"", "[2, 3]"}, of("ij,jk->ik", {2, 3}, {5, 2})});
  all.push_back({"einsum",
                 {"einsum", "\"...i,...i->...\"", "\"...\""},
                 of("...i,...i->...", {2, 5}, {3, 5})});
  all.push_back({"einsum", {"einsum", "f32", "f64"}, [] {
                   einsum("i,i->", indices({1, 2}), indices({3, 4}));
                 }});
  all.push_back({"einsum", {"einsum", "\"ijk\"", "[5, 2]"}, of("ij,ijk->k", {2, 3}, {5, 2})});
  all.push_back({"einsum", {"einsum", "\"ii\"", "\"ii,i->i\""}, of("ii,i->i", {2, 2}, {2})});
  all.push_back({"einsum", {"einsum", "\"ij,jk->iz\""}, of("ij,jk->iz", {2, 3}, {3, 2})});
  all.push_back({"einsum", {"einsum", "\"ij,jk\"", "\"->\""}, of("ij,jk", {2, 3}, {3, 2})});
  all.push_back({"einsum", {"einsum", "\"ij->ji\"", "1"}, of("ij->ji", {2, 3}, {3, 2})});
  all.push_back({"einsum", {"einsum", "\"i1,i->i\"", "1"}, of("i1,i->i", {2, 3}, {2})});
  all.push_back({"einsum", {"einsum", "\"...i,i->i\"", "\"...\""}, of("...i,i->i", {2, 3}, {3})});
}

void add_linear_attention_sizes(Mistakes& all) {
  const auto add_mistake = [&](const std::string& words, const Shape& q, const Shape& k,
                               const Shape& v) {
    all.push_back(
        {"linear_attention", {words}, [=] { linear_attention(values(q), values(k), values(v)); }});
  };
  const std::string flat = "must be [batch, heads, length, width]", mismatch = "do not fit. Batch";
  const Shape one{1, 2, 3, 4};
  for (const Shape& shape : {Shape{2, 3, 4}, Shape{1, 1, 2, 3, 4}}) {
    const std::string name = to_string(shape), fits = to_string(one);
    add_mistake("q " + name + ", k " + fits + " and v " + fits + " " + flat, shape, one, one);
    add_mistake("q " + fits + ", k " + name + " and v " + fits + " " + flat, one, shape, one);
    add_mistake("q " + fits + ", k " + fits + " and v " + name + " " + flat, one, one, shape);
  }
  for (const Shape& shape : {Shape{2, 2, 3, 4}, Shape{1, 1, 3, 4}, Shape{1, 2, 5, 4}}) {
    const std::string name = to_string(shape), fits = to_string(one);
    if (shape[2] == 3) {
      add_mistake("q " + name + ", k " + fits + " and v " + fits + " " + mismatch, shape, one, one);
      add_mistake("q " + fits + ", k " + name + " and v " + name + " " + mismatch, one, shape,
                  shape);
    }
    add_mistake("q " + fits + ", k " + fits + " and v " + name + " " + mismatch, one, one, shape);
  }
  for (const int undefined : {0, 1, 2})
    all.push_back({"linear_attention", {"linear_attention", "undefined"}, [=] {
                     std::vector<Tensor> in(3, values(one));
                     in[static_cast<std::size_t>(undefined)] = Tensor();
                     linear_attention(in[0], in[1], in[2]);
                   }});
}

void add_einsum_operands(Mistakes& all) {
  const auto of = [](const char* formula, const Shape& a, const Shape& b) {
    return [=] { einsum(formula, values(a), values(b)); };
  };
  all.push_back({"einsum", {"[2, 1]", "[5, 2]"}, of("ij,jk->ik", {2, 1}, {5, 2})});
  all.push_back({"einsum", {"[2, 3]", "[1, 2]"}, of("ij,jk->ik", {2, 3}, {1, 2})});
  all.push_back({"einsum", {"einsum", "[2]", "f64"}, [] {
                   einsum("i,i->", values({2}), values({2}).to(Dtype::f32));
                 }});
  all.push_back({"einsum", {"einsum", "undefined"}, [] { einsum("i->", Tensor()); }});
  all.push_back(
      {"einsum", {"einsum", "undefined"}, [] { einsum("i,i->", values({2}), Tensor()); }});
  all.push_back({"einsum", {"einsum", "\"ij->jz\""}, [] { einsum("ij->jz", values({2, 3})); }});
  all.push_back({"einsum", {"einsum", "\"...j->j\"", "\"...\""}, [] {
                   einsum("...j->j", values({2, 3}));
                 }});
}

void add_linear_attention(Mistakes& all) {
  const auto x = [](std::int64_t length, std::int64_t width) {
    return values({1, 2, length, width});
  };
  all.push_back({"linear_attention", {"linear_attention", "[1, 2, 3, 4]", "[1, 2, 3, 5]"}, [=] {
                   linear_attention(x(3, 4), x(3, 5), x(3, 2));
                 }});
  all.push_back({"linear_attention", {"linear_attention", "3", "5"}, [=] {
                   linear_attention(x(3, 4), x(5, 4), x(5, 2), {.causal = true});
                 }});
  all.push_back({"linear_attention", {"linear_attention", "-1"}, [=] {
                   linear_attention(x(3, 4), x(3, 4), x(3, 4), {.eps = -1});
                 }});
  all.push_back({"linear_attention", {"mask_padding", "[1, 2, 3, 4]", "6"}, [=] {
                   linear_attention(x(3, 4), x(3, 4), x(3, 4), {.lengths = {6}});
                 }});
  for (const Shape& shape : {Shape{7, 3}, Shape{0, 4}, Shape{4}})
    all.push_back({"performer_attention", {to_string(shape)}, [=] {
                     performer_attention(x(3, 4), x(3, 4), x(3, 4), values(shape));
                   }});
  all.push_back({"performer_attention", {"performer_attention", "[3, 4]", "[1, 2, 3, 4]"}, [=] {
                   performer_attention(values({3, 4}), x(3, 4), x(3, 4), values({7, 4}));
                 }});
  all.push_back({"favor_features", {"[5, 2]"}, [] {
                   favor_features(values({2, 3}), values({5, 2}));
                 }});
  all.push_back({"mask_padding", {"mask_padding", "[2, 3]"}, [] {
                   mask_padding(values({2, 3}), {1, 2});
                 }});
  all.push_back({"mask_padding", {"padding_mask", "3", "1"}, [=] {
                   mask_padding(x(3, 4), {1, 2, 3});
                 }});
}

void add_measures(Mistakes& all) {
  const std::vector<std::int64_t> three = {0, 1, 2};
  all.push_back(
      {"attention_entropy", {"attention_entropy", "axis"}, [] { attention_entropy(tensor(0.5)); }});
  all.push_back({"mean_attention_distance", {"mean_attention_distance", "[1, 2, 3, 5]", "3"}, [=] {
                   mean_attention_distance(values({1, 2, 3, 5}), three, three);
                 }});
  const auto span = [&](const Shape& shape, std::int64_t examples) {
    const std::vector<std::int64_t> positions(
        static_cast<std::size_t>(3 * std::max<std::int64_t>(examples, 1)), 1);
    all.push_back({"mean_attention_distance", {to_string(shape)}, [=] {
                     mean_attention_distance(values(shape), positions, positions, examples);
                   }});
  };
  span({1, 2, 5, 3}, 0), span({2, 3, 3}, 0), span({1, 1, 2, 3, 3}, 0), span({1, 2, 3, 1}, 0);
  span({1, 2, 1, 3}, 0), span({3, 2, 3, 3}, 2), span({1, 2, 3, 3}, 2);
  all.push_back({"attention_entropy", {"attention_entropy", "undefined"}, [] {
                   attention_entropy(Tensor());
                 }});
  all.push_back({"mean_attention_distance", {"mean_attention_distance", "undefined"}, [=] {
                   mean_attention_distance(Tensor(), three, three);
                 }});
  all.push_back({"checkpoint", {"checkpoint", "function"}, [] {
                   const Tensor x = values({2, 3}).requires_grad_();
                   checkpoint([](const Tensor&) { return Tensor(); }, x);
                 }});
}

}  // namespace

Mistakes token_mistakes() {
  Mistakes all;
  add_rotary(all);
  add_convolution(all);
  add_convolution_options(all);
  add_einsum(all);
  add_linear_attention_sizes(all);
  add_einsum_operands(all);
  add_linear_attention(all);
  add_measures(all);
  return all;
}

}  // namespace gradus::testing
