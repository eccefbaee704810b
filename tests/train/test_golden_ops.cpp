// Compares ops and layers with those of PyTorch (tests/golden/make_ops.py).
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "gradus/io/safetensors.h"
#include "gradus/nn/attention.h"
#include "gradus/nn/linear.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/train/golden.h"

namespace gradus::testing::test_golden_ops {
namespace {

using Inputs = std::vector<Tensor>;
using Function = std::function<Tensor(const Inputs&)>;
using Functions = std::map<std::string, Function>;

void add_activations_and_norms(Functions& f) {
  f["softmax"] = [](const Inputs& x) { return softmax(x[0], 1); };
  f["softmax_far"] = [](const Inputs& x) { return softmax(x[0]); };
  f["log_softmax"] = [](const Inputs& x) { return log_softmax(x[0], 0); };
  f["logsumexp"] = [](const Inputs& x) { return logsumexp(x[0], {0, 2}); };
  f["layer_norm"] = [](const Inputs& x) { return layer_norm(x[0], x[1], x[2]); };
  f["layer_norm_small"] = f["layer_norm"];
  f["rms_norm"] = [](const Inputs& x) { return rms_norm(x[0], x[1]); };
  f["batch_norm"] = [](const Inputs& x) {
    return batch_norm(x[0], x[1], x[2], zeros({3}, Dtype::f64), ones({3}, Dtype::f64), true);
  };
  f["gelu_tanh"] = [](const Inputs& x) { return gelu(x[0], Gelu::tanh); };
  f["gelu_erf"] = [](const Inputs& x) { return gelu(x[0], Gelu::erf); };
  f["silu"] = [](const Inputs& x) { return silu(x[0]); };
  f["elu"] = [](const Inputs& x) { return elu(x[0]); };
  f["relu"] = [](const Inputs& x) { return relu(x[0]); };
  f["softplus"] = [](const Inputs& x) { return softplus(x[0]); };
  f["leaky_relu"] = [](const Inputs& x) { return leaky_relu(x[0], 0.3); };
  f["glu"] = [](const Inputs& x) { return glu(x[0], 1); };
  f["swiglu"] = [](const Inputs& x) { return swiglu(x[0], x[1]); };
}

void add_losses(Functions& f) {
  const auto with = [](const CrossEntropyOptions& options) {
    return [options](const Inputs& x) {
      CrossEntropyOptions own = options;
      if (x.size() > 2) own.weight = x[2].detach();
      return cross_entropy(x[0], x[1], own);
    };
  };
  f["cross_entropy_mean"] = f["cross_entropy_weight"] = with({});
  f["cross_entropy_sum"] = with({.reduction = Reduction::sum});
  f["cross_entropy_none"] = with({.reduction = Reduction::none});
  f["cross_entropy_smooth"] = with({.label_smoothing = 0.1});
  f["cross_entropy_ignore"] = with({.ignore_index = 3});
  f["cross_entropy_weight_smooth"] = with({.label_smoothing = 0.2});
  f["cross_entropy_weight_sum"] = with({.label_smoothing = 0.3, .reduction = Reduction::sum});
  f["cross_entropy_soft"] = [](const Inputs& x) { return cross_entropy_soft(x[0], x[1]); };
  f["nll_loss"] = [](const Inputs& x) { return nll_loss(x[0], x[1], {.weight = x[2].detach()}); };
  f["mse_loss"] = [](const Inputs& x) { return mse_loss(x[0], x[1]); };
  f["l1_loss"] = [](const Inputs& x) { return l1_loss(x[0], x[1], Reduction::sum); };
  f["huber_loss"] = [](const Inputs& x) { return huber_loss(x[0], x[1], 0.5, Reduction::none); };
  f["bce_with_logits"] = [](const Inputs& x) { return bce_with_logits(x[0], x[1]); };
  f["kl_div"] = [](const Inputs& x) { return kl_div(x[0], x[1]); };
}

void add_attention(Functions& f) {
  const auto with = [](const Mask& mask, const AttentionOptions& options = {}) {
    return [=](const Inputs& x) {
      return scaled_dot_product_attention(x[0], x[1], x[2], mask, options);
    };
  };
  AttentionOptions scaled;
  scaled.scale = 0.3;
  f["attention"] = with({});
  f["attention_scale"] = with({}, scaled);
  f["attention_causal"] = with(causal_mask());
  f["attention_mask"] = [](const Inputs& x) {
    return scaled_dot_product_attention(x[0], x[1], x[2], dense_mask(x[3]));
  };
  f["attention_bias"] = [](const Inputs& x) {
    AttentionOptions options;
    options.bias = x[3];
    return scaled_dot_product_attention(x[0], x[1], x[2], {}, options);
  };
}

void add_indexing_and_order(Functions& f) {
  f["embedding"] = [](const Inputs& x) { return embedding(x[0], x[1]); };
  f["embedding_padding"] = [](const Inputs& x) { return embedding(x[0], x[1], 4); };
  f["index_select"] = [](const Inputs& x) { return index_select(x[0], 1, x[1]); };
  f["gather"] = [](const Inputs& x) { return gather(x[0], 1, x[1]); };
  f["scatter_add"] = [](const Inputs& x) { return scatter_add(x[0], 1, x[1], x[2]); };
  f["sort"] = [](const Inputs& x) { return sort(x[0], 0, true).values; };
  f["topk"] = [](const Inputs& x) { return topk(x[0], 3, 1).values; };
}

void add_reductions(Functions& f) {
  f["cumsum"] = [](const Inputs& x) { return cumsum(x[0], 1); };
  f["var"] = [](const Inputs& x) { return var(x[0], {0, 2}); };
  f["var_biased"] = [](const Inputs& x) { return var(x[0], {1}, false, 0); };
  f["std"] = [](const Inputs& x) { return std(x[0], {1}, true); };
  f["mean"] = [](const Inputs& x) { return mean(x[0], {0, 1}); };
  f["norm"] = [](const Inputs& x) { return norm(x[0], {1}); };
  f["prod"] = [](const Inputs& x) { return prod(x[0], {1}); };
  f["max_ties"] = [](const Inputs& x) { return max(x[0], {1}); };
  f["min_ties"] = [](const Inputs& x) { return min(x[0], {0}); };
}

void add_elementwise(Functions& f) {
  f["maximum_ties"] = [](const Inputs& x) { return maximum(x[0], x[1]); };
  f["minimum_ties"] = [](const Inputs& x) { return minimum(x[0], x[1]); };
  f["clamp_bounds"] = [](const Inputs& x) { return clamp(x[0], -0.5, 1); };
  f["abs_zero"] = [](const Inputs& x) { return abs(x[0]); };
  f["power"] = [](const Inputs& x) { return pow(x[0], x[1]); };
  f["pow_number"] = [](const Inputs& x) { return pow(x[0], -1.5); };
  f["divide"] = [](const Inputs& x) { return x[0] / x[1]; };
  f["where"] = [](const Inputs& x) { return where(x[0], x[1], x[2]); };
  f["erf_tanh"] = [](const Inputs& x) { return erf(x[0]) * tanh(x[0]) + expm1(x[0]); };
}

void add_movement_and_products(Functions& f) {
  f["permute"] = [](const Inputs& x) { return permute(x[0], {2, 0, 1}); };
  f["tril"] = [](const Inputs& x) { return tril(x[0], 1); };
  f["pad"] = [](const Inputs& x) { return pad(x[0], 1, 2, 1); };
  f["repeat"] = [](const Inputs& x) { return repeat(x[0], {2, 1, 3}); };
  f["matmul"] = f["matmul_vector"] = [](const Inputs& x) { return matmul(x[0], x[1]); };
}

void add_convolutions(Functions& f) {
  const auto with = [](const Conv1dOptions& options) {
    return [options](const Inputs& x) {
      return conv1d(x[0], x[1], x.size() > 2 ? x[2] : Tensor(), options);
    };
  };
  f["conv1d"] = f["conv1d_one"] = with({});
  f["conv1d_stride"] = with({.stride = 3, .padding = 2});
  f["conv1d_stride_wide"] = with({.stride = 5});
  f["conv1d_dilation"] = with({.stride = 2, .dilation = 4, .padding = 3});
  f["conv1d_padding"] = with({.padding = 3});
  f["conv1d_groups"] = with({.padding = 1, .groups = 3});
  f["conv1d_depthwise"] = with({.padding = 2, .groups = 5});
  f["conv1d_all"] = with({.stride = 3, .dilation = 2, .padding = 5, .groups = 2});
}

void add_einsum(Functions& f) {
  const auto formula = [](const std::string& words) {
    return [words](const Inputs& x) {
      return x.size() > 1 ? einsum(words, x[0], x[1]) : einsum(words, x[0]);
    };
  };
  f["einsum_scores"] = formula("bhtd,bhsd->bhts");
  f["einsum_values"] = formula("bhts,bshd->bthd");
  f["einsum_summed_batch"] = formula("bij,bjk->ik");
  f["einsum_bilinear"] = formula("bi,ijk->bjk");
  f["einsum_outer"] = formula("i,j->ji");
  f["einsum_dot"] = formula("ij,ij->");
  f["einsum_elementwise"] = formula("bi,bj->jbi");
  f["einsum_alone"] = formula("ij,kj->i");
  f["einsum_dots"] = formula("...ij,...jk->...ki");
  f["einsum_dots_summed"] = formula("b...c,cd->...bd");
  f["einsum_permuted"] = formula("abcd->dbac");
  f["einsum_reduced"] = formula("ijk->ki");
  f["einsum_sum"] = formula("ij->");
}

void add_layers(Functions& f) {
  f["nn_linear"] = [](const Inputs& x) {
    nn::Linear layer(5, 7);
    layer.eval();
    layer.weight = x[1];
    layer.bias = x[2];
    return layer(x[0]);
  };
  const auto attention = [](std::int64_t heads, const Mask& mask) {
    return [=](const Inputs& x) {
      nn::MultiHeadAttention layer({.width = 8, .heads = heads});
      layer.eval();
      layer.qkv_proj.weight = x[1];
      layer.qkv_proj.bias = x[2];
      layer.out_proj.weight = x[3];
      layer.out_proj.bias = x[4];
      return layer(x[0], mask);
    };
  };
  f["nn_attention"] = attention(2, {});
  f["nn_attention_padding"] = attention(2, padding_mask({3, 4}));
  f["nn_attention_causal"] = attention(4, causal_mask());
}

Functions all_functions() {
  Functions f;
  add_activations_and_norms(f);
  add_losses(f);
  add_attention(f);
  add_indexing_and_order(f);
  add_reductions(f);
  add_elementwise(f);
  add_movement_and_products(f);
  add_convolutions(f);
  add_einsum(f);
  add_layers(f);
  return f;
}

}  // namespace

// About twelve rounding errors of 1e-16 are amplified by exponents of up to 300, and by squares of
// 1e3 in layer_norm_small. The total error is below 1e-10.
TEST_CASE("operations and layers have PyTorch's values and gradients") {
  const std::map<std::string, Tensor> data =
      io::load_safetensors(GRADUS_SOURCE_DIR "/tests/golden/ops/ops.safetensors").tensors;
  std::set<std::string> recorded;
  for (const auto& [name, tensor] : data) recorded.insert(name.substr(0, name.find('.')));
  const Functions functions = all_functions();
  for (const std::string& name : recorded) {
    INFO(name);
    REQUIRE(functions.count(name) == 1);
    Inputs x;
    for (int i = 0; data.count(name + ".x" + std::to_string(i)) > 0; ++i) {
      x.push_back(data.at(name + ".x" + std::to_string(i)).clone());
      if (data.count(name + ".dx" + std::to_string(i)) > 0) x.back().requires_grad_();
    }
    const Tensor y = functions.at(name)(x);
    CHECK(apart(y.detach(), data.at(name + ".y")) < 1e-10);
    y.backward(data.at(name + ".dy"));
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!x[i].requires_grad()) continue;
      CAPTURE(i);
      REQUIRE(x[i].grad().defined());
      CHECK(apart(x[i].grad(), data.at(name + ".dx" + std::to_string(i))) < 1e-10);
    }
  }
  CHECK(recorded.size() == functions.size());
}

}  // namespace gradus::testing::test_golden_ops
