// What positions, convolution, einsum, linear attention and checkpoints refuse.
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
  all.push_back(
      {"rotate", "rotate: x is [1, 2, 3, 5], not [batch, heads, length, an even width]", [] {
         rotate(values({1, 2, 3, 5}), std::vector<std::int64_t>{0, 1, 2});
       }});
  all.push_back(
      {"rotate", "rotate: 4 positions for x [2, 1, 3, 2]: give 3, one for each place, or", [] {
         rotate(values({2, 1, 3, 2}), std::vector<std::int64_t>{0, 1, 2, 3});
       }});
  all.push_back({"rotate", "rotate: the tensor is undefined",
                 [] { rotate(Tensor(), std::vector<std::int64_t>{0}); }});
  for (const Shape& shape : {Shape{1, 3, 4}, Shape{1, 1, 1, 2, 2}})
    all.push_back({"rotate",
                   "rotate: x is " + to_string(shape) + ", not [batch, heads, length, an even",
                   [=] { rotate(values(shape), std::vector<std::int64_t>{0}); }});
  all.push_back({"rotate", "rotate: base is 0, but must be positive", [] {
                   rotate(values({1, 1, 1, 2}), std::vector<std::int64_t>{1}, {.base = 0});
                 }});
}

void add_convolution(Mistakes& all) {
  const auto conv = [](const Shape& x, const Shape& weight, const Conv1dOptions& options) {
    return [=] { conv1d(values(x), values(weight), {}, options); };
  };
  all.push_back({"conv1d", "conv1d: the input [3, 7] must be [batch, channels, length] and the",
                 conv({3, 7}, {2, 3, 2}, {})});
  all.push_back({"conv1d", "conv1d: the weight [2, 4, 2] does not fit 3 channels in 1 groups: it",
                 conv({1, 3, 7}, {2, 4, 2}, {})});
  all.push_back({"conv1d", "conv1d: the weight [4, 1, 2] does not fit 3 channels in 2 groups",
                 conv({1, 3, 7}, {4, 1, 2}, {.groups = 2})});
  all.push_back({"conv1d",
                 "conv1d: a length of 4 with padding 1 at both ends is shorter than the 7",
                 conv({1, 1, 4}, {1, 1, 4}, {.dilation = 2, .padding = 1})});
  all.push_back({"conv1d",
                 "conv1d: stride 0, dilation 1, groups 1, padding 0: the first three must",
                 conv({1, 3, 7}, {2, 3, 2}, {.stride = 0})});
  all.push_back(
      {"conv1d", "conv1d: the bias has shape [3] where the weight [2, 3, 2] wants [2]", [] {
         conv1d(values({1, 3, 7}), values({2, 3, 2}), values({3}));
       }});
  all.push_back({"conv1d", "conv1d: the input is f64, the weight f32: convert one with to(x,", [] {
                   conv1d(values({1, 3, 7}), values({2, 3, 2}).to(Dtype::f32));
                 }});
}

void add_convolution_options(Mistakes& all) {
  const auto conv = [](const Shape& weight, const Conv1dOptions& options) {
    return [=] { conv1d(values({1, 4, 7}), values(weight), {}, options); };
  };
  const char* undefined = "conv1d: the input or the weight is undefined";
  all.push_back({"conv1d", undefined, [] { conv1d(values({1, 4, 7}), Tensor()); }});
  all.push_back({"conv1d", undefined, [] { conv1d(Tensor(), values({2, 4, 2})); }});
  all.push_back({"conv1d",
                 "conv1d: the input [1, 4, 7] must be [batch, channels, length] and the "
                 "weight [2, 4] [out, in / groups, taps]",
                 conv({2, 4}, {})});
  all.push_back({"conv1d", "conv1d: stride 1, dilation 0, groups 1, padding 0: the first three",
                 conv({2, 4, 2}, {.dilation = 0})});
  all.push_back({"conv1d", "conv1d: stride 1, dilation 1, groups 0, padding 0: the first three",
                 conv({2, 4, 2}, {.groups = 0})});
  all.push_back({"conv1d", "groups 1, padding -1: the first three must be positive, padding not",
                 conv({2, 4, 2}, {.padding = -1})});
  all.push_back({"conv1d", "conv1d: the weight [3, 2, 2] does not fit 4 channels in 2 groups",
                 conv({3, 2, 2}, {.groups = 2})});
  all.push_back({"conv1d", "is shorter than the 0 places that 0 taps reach", conv({2, 4, 0}, {})});
}

void add_einsum(Mistakes& all) {
  const auto of = [](const char* formula, const Shape& a, const Shape& b) {
    return [=] { einsum(formula, values(a), values(b)); };
  };
  all.push_back({"einsum",
                 "einsum: \"ij,jk->ik\": 'j' is 3 in the first operand [2, 3] and 5 in the second",
                 of("ij,jk->ik", {2, 3}, {5, 2})});
  all.push_back({"einsum",
                 "einsum: \"...i,...i->...\": an axis of \"...\" is 2 in the first operand",
                 of("...i,...i->...", {2, 5}, {3, 5})});
  all.push_back({"einsum", "einsum: wants f32 or f64, not i64: convert with to(x, Dtype::f32)", [] {
                   einsum("i,i->", indices({1, 2}), indices({3, 4}));
                 }});
  all.push_back({"einsum", "einsum: \"ijk\" names 3 axes, but operand 2 is [5, 2]",
                 of("ij,ijk->k", {2, 3}, {5, 2})});
  all.push_back({"einsum", "einsum: 'i' stands twice in \"ii\" of \"ii,i->i\": a diagonal is not",
                 of("ii,i->i", {2, 2}, {2})});
  all.push_back({"einsum", "einsum: 'z' of the result stands in no operand of \"ij,jk->iz\"",
                 of("ij,jk->iz", {2, 3}, {3, 2})});
  all.push_back({"einsum", "einsum: \"ij,jk\" has no \"->\": write the letters of the result after",
                 of("ij,jk", {2, 3}, {3, 2})});
  all.push_back({"einsum", "einsum: \"ij->ji\" is for 1 tensors, but there are 2",
                 of("ij->ji", {2, 3}, {3, 2})});
  all.push_back({"einsum", "einsum: '1' in \"i1,i->i\" is no letter: axes are a to z and A to Z",
                 of("i1,i->i", {2, 3}, {2})});
  all.push_back({"einsum", "einsum: \"...i,i->i\" has \"...\" in an operand, but not in the result",
                 of("...i,i->i", {2, 3}, {3})});
}

/// Which of the three does not fit, and how.
void add_linear_attention_sizes(Mistakes& all) {
  const auto refuses = [&](const std::string& words, const Shape& q, const Shape& k,
                           const Shape& v) {
    all.push_back({"linear_attention", "linear_attention: " + words,
                   [=] { linear_attention(values(q), values(k), values(v)); }});
  };
  const std::string flat = "must be [batch, heads, length, width]", unlike = "do not fit: batch";
  const Shape one{1, 2, 3, 4};
  for (const Shape& shape : {Shape{2, 3, 4}, Shape{1, 1, 2, 3, 4}}) {
    const std::string name = to_string(shape), fits = to_string(one);
    refuses("q " + name + ", k " + fits + ", v " + fits + " " + flat, shape, one, one);
    refuses("q " + fits + ", k " + name + ", v " + fits + " " + flat, one, shape, one);
    refuses("q " + fits + ", k " + fits + ", v " + name + " " + flat, one, one, shape);
  }
  for (const Shape& shape : {Shape{2, 2, 3, 4}, Shape{1, 1, 3, 4}, Shape{1, 2, 5, 4}}) {
    const std::string name = to_string(shape), fits = to_string(one);
    if (shape[2] == 3) {
      refuses("q " + name + ", k " + fits + " and v " + fits + " " + unlike, shape, one, one);
      refuses("q " + fits + ", k " + name + " and v " + name + " " + unlike, one, shape, shape);
    }
    refuses("q " + fits + ", k " + fits + " and v " + name + " " + unlike, one, one, shape);
  }
  for (const int undefined : {0, 1, 2})
    all.push_back({"linear_attention", "linear_attention: an input is undefined", [=] {
                     std::vector<Tensor> in(3, values(one));
                     in[static_cast<std::size_t>(undefined)] = Tensor();
                     linear_attention(in[0], in[1], in[2]);
                   }});
}

void add_einsum_operands(Mistakes& all) {
  const auto of = [](const char* formula, const Shape& a, const Shape& b) {
    return [=] { einsum(formula, values(a), values(b)); };
  };
  all.push_back({"einsum", "'j' is 1 in the first operand [2, 1] and 5 in the second [5, 2]",
                 of("ij,jk->ik", {2, 1}, {5, 2})});
  all.push_back({"einsum", "'j' is 3 in the first operand [2, 3] and 1 in the second [1, 2]",
                 of("ij,jk->ik", {2, 3}, {1, 2})});
  all.push_back({"einsum", "einsum: the operands are f64 [2] and f32 [2]",
                 [] { einsum("i,i->", values({2}), values({2}).to(Dtype::f32)); }});
  all.push_back({"einsum", "einsum: operand 1 is undefined", [] { einsum("i->", Tensor()); }});
  all.push_back(
      {"einsum", "einsum: operand 2 is undefined", [] { einsum("i,i->", values({2}), Tensor()); }});
  all.push_back({"einsum", "einsum: 'z' of the result stands in no operand of \"ij->jz\"", [] {
                   einsum("ij->jz", values({2, 3}));
                 }});
  all.push_back(
      {"einsum", "einsum: \"...j->j\" has \"...\" in an operand, but not in the result", [] {
         einsum("...j->j", values({2, 3}));
       }});
}

void add_linear_attention(Mistakes& all) {
  const auto x = [](std::int64_t length, std::int64_t width) {
    return values({1, 2, length, width});
  };
  all.push_back({"linear_attention",
                 "linear_attention: q [1, 2, 3, 4], k [1, 2, 3, 5] and v [1, 2, 3, 2] do not fit:",
                 [=] { linear_attention(x(3, 4), x(3, 5), x(3, 2)); }});
  all.push_back({"linear_attention",
                 "linear_attention: causal with 3 queries and 5 keys: there must",
                 [=] { linear_attention(x(3, 4), x(5, 4), x(5, 2), {.causal = true}); }});
  all.push_back({"linear_attention", "linear_attention: eps is -1, but must not be negative",
                 [=] { linear_attention(x(3, 4), x(3, 4), x(3, 4), {.eps = -1}); }});
  all.push_back({"linear_attention",
                 "mask_padding: a length of 6 for [1, 2, 3, 4], which has 3 places",
                 [=] { linear_attention(x(3, 4), x(3, 4), x(3, 4), {.lengths = {6}}); }});
  for (const Shape& shape : {Shape{7, 3}, Shape{0, 4}, Shape{4}})
    all.push_back({"performer_attention",
                   "FAVOR+ features: the projection " + to_string(shape) +
                       " must be [features, 4] with at least one",
                   [=] { performer_attention(x(3, 4), x(3, 4), x(3, 4), values(shape)); }});
  all.push_back({"performer_attention",
                 "performer_attention: q [3, 4], k [1, 2, 3, 4], v [1, 2, 3, 4] must be [batch,",
                 [=] {
                   performer_attention(values({3, 4}), x(3, 4), x(3, 4), values({7, 4}));
                 }});
  all.push_back(
      {"favor_features", "FAVOR+ features: the projection [5, 2] must be [features, 3] with", [] {
         favor_features(values({2, 3}), values({5, 2}));
       }});
  all.push_back(
      {"mask_padding", "mask_padding: wants [batch, heads, length, width], not [2, 3]", [] {
         mask_padding(values({2, 3}), {1, 2});
       }});
  all.push_back({"mask_padding", "padding_mask: 3 lengths for a batch of 1", [=] {
                   mask_padding(x(3, 4), {1, 2, 3});
                 }});
}

void add_measures(Mistakes& all) {
  const std::vector<std::int64_t> three = {0, 1, 2};
  all.push_back({"attention_entropy", "attention_entropy: a single number has no rows",
                 [] { attention_entropy(tensor(0.5)); }});
  all.push_back(
      {"attention_span",
       "attention_span: weights [1, 2, 3, 5] for 3 query and 3 key positions of 0 examples", [=] {
         attention_span(values({1, 2, 3, 5}), three, three);
       }});
  const auto span = [&](const Shape& shape, std::int64_t examples) {
    const std::vector<std::int64_t> positions(
        static_cast<std::size_t>(3 * std::max<std::int64_t>(examples, 1)), 1);
    all.push_back({"attention_span",
                   "attention_span: weights " + to_string(shape) + " for 3 query and 3 key",
                   [=] { attention_span(values(shape), positions, positions, examples); }});
  };
  span({1, 2, 5, 3}, 0), span({2, 3, 3}, 0), span({1, 1, 2, 3, 3}, 0), span({1, 2, 3, 1}, 0);
  span({1, 2, 1, 3}, 0), span({3, 2, 3, 3}, 2), span({1, 2, 3, 3}, 2);
  all.push_back({"attention_entropy", "attention_entropy: the weights are undefined",
                 [] { attention_entropy(Tensor()); }});
  all.push_back({"attention_span", "attention_span: the weights are undefined",
                 [=] { attention_span(Tensor(), three, three); }});
  all.push_back({"checkpoint", "checkpoint: the function gives no tensor: return its result", [] {
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
