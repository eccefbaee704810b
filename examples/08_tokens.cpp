// Lesson 08: tokens and their vectors.
//
//   text → ids         a tokenizer: one id per character, word or byte pair
//   ids → vectors      x_t = W[id_t]: row id_t of a table W [V, C], which is learned
//   backward           dW[v] = Σ of dx_t over all t with id_t = v

#include <array>

#include "gradus/examples/apps/support/lesson.h"
#include "gradus/gradus.h"

using namespace gradus;
using examples::expect;
using examples::same;
using examples::show;

namespace {

void print_tokens(const io::Tokenizer& tokenizer, const std::string& text) {
  const std::vector<std::int64_t> ids = tokenizer.encode(text);
  std::printf("%-10s %4lld in the vocabulary, %2zu tokens:", tokenizer.name().c_str(),
              static_cast<long long>(tokenizer.vocab_size()), ids.size());
  for (const std::int64_t id : ids) std::printf(" [%s]", tokenizer.bytes_of(id).c_str());
  std::printf("\n");
  expect(tokenizer.decode(ids) == text, "decode() gives the text back");
}

/// A larger vocabulary makes sequences shorter.
void text_to_ids(const std::string& text = "the cat sat on the mat, the cat ate the rat",
                 const std::string& part = "the cat") {
  std::printf("\"%s\"\n", text.c_str());
  print_tokens(io::CharTokenizer(text), part);
  print_tokens(io::WordTokenizer::train(text, 100), part);
  print_tokens(io::ByteTokenizer(), part);
  print_tokens(io::BpeTokenizer::train(text, 260), part);  // 4 merges
  print_tokens(io::BpeTokenizer::train(text, 270), part);  // until no pair occurs twice
}

void ids_to_vectors() {
  const Tensor W =
      tensor({{1, 0, 2}, {0, 1, 1}, {3, 3, 0}, {5, 1, 4}}).to(Dtype::f64).requires_grad_();
  const Tensor ids = indices({2, 0, 2});  // token 2 occurs twice, 1 and 3 do not occur
  const Tensor x = embedding(W, ids);     // [3, 3]
  std::printf("\nids 2, 0, 2\n");
  show("x = embedding(W, ids): rows of W", x);
  expect(same(x, matmul(one_hot(ids, 4, Dtype::f64), W)), "a lookup is one_hot(ids) W");

  const Tensor dx = tensor({{0.1, 0.2, 0.3}, {1.0, 1.0, 1.0}, {0.4, 0.4, 0.4}});
  x.backward(dx);
  show("dx", dx);
  show("dW: row 2 is the sum of two rows of dx", W.grad());
  expect(same(W.grad(), matmul(transpose(one_hot(ids, 4, Dtype::f64)), dx)),
         "the gradient of a lookup is one_hot(ids)ᵀ dx");
}

/// Trains each word's vector to predict the next word, so words that precede the same words get
/// similar vectors. Returns the cosines of cat and dog, of sits and runs, and of cat and sits.
std::array<double, 3> vectors_get_meaning(int steps = 300, double rate = 0.05) {
  // 0 the, 1 cat, 2 dog, 3 sits, 4 runs, 5 "."
  // "the cat sits . the dog runs . the cat runs . the dog sits ."
  const Tensor now = indices({0, 1, 3, 5, 0, 2, 4, 5, 0, 1, 4, 5, 0, 2, 3});
  const Tensor next = indices({1, 3, 5, 0, 2, 4, 5, 0, 1, 4, 5, 0, 2, 3, 5});
  seed(3);
  nn::Embedding table(6, 8);
  nn::Linear scores(8, 6);
  std::vector<nn::NamedTensor> all = table.parameters();
  for (const nn::NamedTensor& each : scores.parameters()) all.push_back(each);
  optim::Adam optimizer(all, {.lr = rate});
  const auto likeness = [&](std::int64_t a, std::int64_t b) {  // cosine of the angle
    const Tensor u = table.weight[a].detach(), v = table.weight[b].detach();
    return (sum(u * v) / (norm(u) * norm(v))).item();
  };
  std::printf("\ncosine of two words' vectors   cat, dog   sits, runs   cat, sits\n");
  const auto print = [&](const std::string& when) {
    std::printf("%-30s %8.2f %12.2f %11.2f\n", when.c_str(), likeness(1, 2), likeness(3, 4),
                likeness(1, 3));
  };
  print("before training");
  for (int step = 0; step < steps; ++step) {
    const Tensor loss = cross_entropy(scores(table(now)), next);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step({.factor = 1 - step / double(steps)});
  }
  print(str_cat("after ", steps, " steps"));
  return {likeness(1, 2), likeness(3, 4), likeness(1, 3)};
}

}  // namespace

int main() {
  set_default_dtype(Dtype::f64);
  text_to_ids();
  ids_to_vectors();
  const auto [nouns, verbs, mixed] = vectors_get_meaning();
  expect(nouns > mixed && verbs > mixed, "words that predict the same words have similar vectors");
}
