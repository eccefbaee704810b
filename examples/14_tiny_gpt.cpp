// Lesson 14: a language model in four stages, from a table of pairs to a GPT.
//
//   bigram      scores the next character by this one: a table [V, V]
//   average     adds the mean of all characters so far: attention with equal weights
//   attention   uses a weighted mean with learned weights
//   GPT         adds residuals, norms, feed-forward networks, more heads and a second block
//
//   14_tiny_gpt [FILE [STEPS]]

#include <cstdio>
#include <cstdlib>

#include "gradus/gradus.h"

using namespace gradus;

namespace {

constexpr std::int64_t kContext = 64, kBatch = 16, kWidth = 64;

struct Bigram : nn::Layer<Bigram> {
  explicit Bigram(std::int64_t vocab) : table(vocab, vocab) {}
  nn::Members members() override { return {{"table", table}}; }
  Tensor forward(const Tensor& ids) const { return table(ids); }  // [B, T] → [B, T, V]
  nn::Embedding table;
};

/// Each position averages the vectors up to itself.
struct Average : nn::Layer<Average> {
  explicit Average(std::int64_t vocab) : token(vocab, kWidth), head(kWidth, vocab) {}
  nn::Members members() override { return {{"token", token}, {"head", head}}; }

  Tensor forward(const Tensor& ids) const {
    const Tensor x = token(ids);  // [B, T, C]
    const std::int64_t T = ids.size(1);
    const Tensor weights = tril(ones({T, T}));                           // row t: 1 up to t
    const Tensor before = matmul(weights / sum(weights, {1}, true), x);  // [B, T, C]
    return head(x + before);
  }
  nn::Embedding token;
  nn::Linear head;
};

/// The weights of the average become softmax(q kᵀ / √D).
struct Attention : nn::Layer<Attention> {
  explicit Attention(std::int64_t vocab)
      : token(vocab, kWidth),
        attention({.width = kWidth, .heads = 1, .head = {.position = nn::HeadPosition::rotary}}),
        head(kWidth, vocab) {}
  nn::Members members() override {
    return {{"token", token}, {"attention", attention}, {"head", head}};
  }

  Tensor forward(const Tensor& ids) const {
    const Tensor x = token(ids);
    return head(x + attention(x, causal_mask()));
  }
  nn::Embedding token;
  nn::MultiHeadAttention attention;
  nn::Linear head;
};

nn::GPT gpt(std::int64_t vocab) {
  return nn::GPT(
      {.vocab = vocab,
       .context = kContext,
       .layers = 2,
       .block = {.width = kWidth, .heads = 4, .head = {.position = nn::HeadPosition::rotary}}});
}

struct Text {
  explicit Text(const std::string& text) : tokenizer(text) {
    std::vector<std::int64_t> ids = tokenizer.encode(text);
    const auto split = ids.begin() + std::ssize(ids) * 9 / 10;
    training.assign(ids.begin(), split);
    held_out.assign(split, ids.end());
  }
  io::CharTokenizer tokenizer;
  std::vector<std::int64_t> training, held_out;
};

template <class Model>
double held_out_loss(const Model& model, const Text& text) {
  const NoGrad not_recorded;
  const train::TokenBatches batches(text.held_out, kContext, kBatch, 0);
  double total = 0;
  for (std::int64_t i = 0; i < 10; ++i) {
    const train::Batch batch = batches.at(i);
    total += cross_entropy(model(batch.x), batch.y).item();
  }
  return total / 10;
}

/// Continues `start` by 60 characters, each drawn from the scores after the last one.
template <class Model>
std::string sample(const Model& model, const Text& text, const std::string& start = "The ") {
  const NoGrad not_recorded;
  std::vector<std::int64_t> ids = text.tokenizer.encode(start);
  for (int i = 0; i < 60; ++i) {
    const std::int64_t T = std::min(std::ssize(ids), std::ptrdiff_t{kContext});
    const Tensor seen =
        tensor(std::span<const std::int64_t>(ids).last(static_cast<std::size_t>(T)), {1, T});
    const Tensor p = softmax(select(model(seen), 1, T - 1));  // [1, V]
    ids.push_back(multinomial(p, 1).to_vector<std::int64_t>()[0]);
  }
  std::string out = text.tokenizer.decode(ids);
  std::replace(out.begin(), out.end(), '\n', ' ');
  return out;
}

/// Makes one training step. Returns the loss.
template <class Model>
double train_step(const Model& model, optim::Optimizer& optimizer, const train::Batch& batch,
                  double factor) {
  const Tensor loss = cross_entropy(model(batch.x), batch.y);
  optimizer.zero_grad();
  loss.backward();
  optimizer.step({.clip_norm = 1, .factor = factor});
  return loss.item();
}

template <class Model>
double stage(const char* name, Model model, double rate, const Text& text, std::int64_t steps) {
  const train::TokenBatches batches(text.training, kContext, kBatch, 1);
  optim::AdamW optimizer(model.parameters(), {.lr = rate});
  const optim::Schedule schedule = optim::warmup_cosine(steps / 20, steps, 0);
  for (std::int64_t step = 0; step < steps; ++step)
    train_step(model, optimizer, batches.at(step), schedule(step));
  const double loss = held_out_loss(model, text);
  std::printf("%-10s %7lld parameters   held-out loss %.3f\n           %s\n", name,
              static_cast<long long>(model.parameter_count()), loss, sample(model, text).c_str());
  std::fflush(stdout);
  return loss;
}

int run(const char* file, std::int64_t steps) {
  const Text text(io::read_text(file));
  const std::int64_t vocab = text.tokenizer.vocab_size();
  std::printf(
      "%s: %zu characters to learn from, %lld different ones; %lld steps for each stage\n\n", file,
      text.training.size(), static_cast<long long>(vocab), static_cast<long long>(steps));
  seed(1);
  const double bigram = stage("bigram", Bigram(vocab), 0.1, text, steps);
  stage("average", Average(vocab), 0.01, text, steps);
  const double attention = stage("attention", Attention(vocab), 0.01, text, steps);
  const double full = stage("GPT", gpt(vocab), 0.005, text, steps);
  return attention < bigram && full < attention ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : "examples/data/prose.txt",
               argc > 2 ? std::max(20L, std::atol(argv[2])) : 500);
  } catch (const Error& error) {
    std::fprintf(stderr, "14_tiny_gpt: %s\n", error.what());
    return 2;
  }
}
