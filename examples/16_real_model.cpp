// Lesson 16: one token on its way through a pretrained model.
//
//   x = token vectors                                          no positions are added
//   h = x / √(mean(x²) + ε) ⊗ weight                           RMS norm
//   q, k, v = h Wᵀ + b, split into heads; q and k rotated by their position
//   x = x + (softmax(q kᵀ / √D, causal) v) Woᵀ + b
//   x = x + (silu(h Gᵀ) ⊗ (h Uᵀ)) Dᵀ                           h normed again; swiglu
//   logits = norm(x) Wᵀ
//
// These six lines are Llama. The lesson computes them op by op and compares the results with
// nn::GPT. After each block, the last norm and projection show the token that it would predict.
//
// Without arguments, the lesson reads a small random model that was written by `transformers`. For
// a real one:
//   build/release/16_real_model SmolLM2-135M-Instruct.Q4_1.gguf "The capital of France is"

#include "gradus/examples/apps/support/lesson.h"
#include "gradus/gradus.h"
#include "gradus/io/pretrained/pretrained.h"
#include "gradus/io/pretrained/pretrained_tokenizer.h"
#include "gradus/io/pretrained/tensor_source.h"

using namespace gradus;
using examples::expect;

namespace {

const char* const kSmall = "tests/golden/families/llama";
const char* const kWords = "The capital of France is";

struct Text {
  std::vector<std::int64_t> ids;
  std::function<std::string(std::int64_t)> spell;  // text of an id
};

/// Tokens of the small model are "#id".
Text read(const std::string& path, const std::string& words, const std::vector<std::int64_t>& ids) {
  if (path == kSmall) return {ids, [](std::int64_t id) { return str_cat("#", id); }};
  const auto tokenizer = std::make_shared<io::PretrainedTokenizer>(
      io::PretrainedTokenizer::of_gguf(io::TensorSource::open(path).facts(), path));
  return {tokenizer->encode(words),
          [tokenizer](std::int64_t id) { return tokenizer->bytes_of(id); }};
}

/// Compares up to f32 rounding in sums of a thousand terms and thirty blocks.
bool close(const Tensor& a, const Tensor& b) {
  return max(abs(a - b)).item() < 1e-4 * max(abs(b)).item();
}

Tensor turned(const Tensor& x, const RotaryOptions& rotary) {
  std::vector<std::int64_t> positions;
  for (std::int64_t t = 0; t < x.size(2); ++t) positions.push_back(t);
  return apply_rotary(x, positions, rotary);
}

/// One block by its formulas: x [1, T, C] → [1, T, C]. Sets `weights` to the attention weights.
Tensor block_by_hand(const nn::Block& block, const Tensor& x, Tensor& weights) {
  const nn::BlockOptions& o = block.options;
  const std::int64_t H = o.heads, G = o.kv_heads.value_or(H), T = x.size(1);
  const std::int64_t D = o.head.width.value_or(o.width / H);
  const nn::Linear& project = block.attention.qkv_proj;
  const Tensor h = rms_norm(x, block.norm1.weight, o.norm_eps);
  const auto parts = split(linear(h, project.weight, project.bias), {H * D, G * D, G * D}, -1);
  const Tensor q = turned(nn::split_heads(parts[0], H), o.head.rotary);  // [1, H, T, D]
  const auto for_all = [&](const Tensor& kv) {  // each head of keys serves H / G query heads
    return reshape(expand(unsqueeze(kv, 2), {1, G, H / G, T, D}), {1, H, T, D});
  };
  const Tensor k = for_all(turned(nn::split_heads(parts[1], G), o.head.rotary));
  const Tensor v = for_all(nn::split_heads(parts[2], G));
  const Tensor scores = matmul(q, transpose(k, 2, 3)) / std::sqrt(static_cast<double>(D));
  const Tensor later = triu(ones({T, T}), 1) > 0;
  weights = softmax(masked_fill(scores, later, -INFINITY), -1);  // [1, H, T, T]
  const nn::Linear& out = block.attention.out_proj;
  const Tensor attended = x + linear(nn::merge_heads(matmul(weights, v)), out.weight, out.bias);
  const Tensor normed = rms_norm(attended, block.norm2.weight, o.norm_eps);
  const nn::Linear &up = block.feed_forward.up, &down = block.feed_forward.down;
  const auto gate_and_up = chunk(linear(normed, up.weight, up.bias), 2, -1);
  const Tensor gated = silu(gate_and_up[0]) * gate_and_up[1];
  return attended + linear(gated, down.weight, down.bias);
}

/// Returns the most likely next token if the model ended with x.
std::string guess(const nn::GPT& model, const Tensor& x, const Text& text) {
  const Tensor last = select(model.norm(x), 1, -1);  // [1, C]
  const Tensor logits = linear(last, model.options.tied ? model.token.weight : model.head.weight);
  const Tensor p = softmax(logits, -1);
  const std::int64_t best = argmax(p, -1).to_vector<std::int64_t>()[0];
  return str_cat(text.spell(best), "  (", std::round(1000 * p[0][best].item()) / 10, " %)");
}

double length_of_last(const Tensor& x) { return select(x, 1, -1).square().sum().sqrt().item(); }

void follow(const nn::GPT& model, const Text& text) {
  const nn::GPTOptions& o = model.options;
  const Tensor ids = tensor(text.ids, {1, std::ssize(text.ids)});
  Tensor x = model.token(ids), weights;  // [1, T, C]
  std::printf("the last token is \"%s\"; %zu tokens, vectors of %lld values\n\n",
              text.spell(text.ids.back()).c_str(), text.ids.size(),
              static_cast<long long>(o.block.width));
  std::printf("after       norm   attends most to  predicts\ntokens  %8.2f\n", length_of_last(x));
  for (std::size_t layer = 0; layer < model.blocks.size(); ++layer) {
    const Tensor by_module = model.blocks[layer](x, causal_mask());
    x = block_by_hand(model.blocks[layer], x, weights);
    expect(close(x, by_module), "the formulas give the block's result");
    const Tensor seen = select(mean(weights, 1), 1, -1);  // [1, T], mean over heads
    const auto at = static_cast<std::size_t>(argmax(seen, -1).to_vector<std::int64_t>()[0]);
    std::printf("block %-2zu%8.2f   %-14s   %s\n", layer, length_of_last(x),
                text.spell(text.ids[at]).c_str(), guess(model, x, text).c_str());
  }
  const Tensor last = model.norm(x);
  const Tensor logits = o.tied ? linear(last, model.token.weight) : model.head(last);
  expect(close(logits, model(ids)), "all blocks together give the model's logits");
}

/// Follows the last token of `words`, or of `small_ids` for the small model, which has no
/// tokenizer.
void real_model(const std::string& path = kSmall, const std::string& words = kWords,
                const std::vector<std::int64_t>& small_ids = {1, 5, 9, 0, 17, 3, 22}) {
  const NoGrad off;
  const nn::GPT model = io::load_gpt(path);
  const nn::GPTOptions& o = model.options;
  std::printf("%s: %lld blocks, %lld query heads, %lld for keys and values, %s parameters\n",
              path.c_str(), static_cast<long long>(o.layers), static_cast<long long>(o.block.heads),
              static_cast<long long>(o.block.kv_heads.value_or(o.block.heads)),
              io::grouped(model.parameter_count()).c_str());
  follow(model, read(path, words, small_ids));
  if (path == kSmall) {
    const auto golden = io::load_safetensors(path + "/golden.safetensors").tensors;
    expect(close(model(golden.at("ids")), golden.at("output")),
           "transformers gives the same logits");
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    real_model(argc > 1 ? argv[1] : kSmall, argc > 2 ? argv[2] : kWords);
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "16_real_model: %s\n", error.what());
    return 2;
  }
}
