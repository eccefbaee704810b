// Lesson 15: a Transformer learns to write words backwards.
//
//   memory = encoder(source)                         letters attend to all letters
//   logits = decoder(target so far, memory)          letters attend to earlier ones and the memory:
//     cross-attention: Q from the target, K and V from the memory;  weights [T, S]
//   loss   = −log p(next letter), for all positions at once: the causal mask hides the answers
//
// Position t must attend to position S − 1 − t of the source. Decoding letter by letter with a
// cache gives the same values.

#include "gradus/examples/apps/support/lesson.h"
#include "gradus/gradus.h"
#include "gradus/nn/models/translator.h"

using namespace gradus;
using namespace gradus::examples;

namespace {

constexpr std::int64_t kLetters = 10, kStart = 10, kEnd = 11, kLongest = 7;

struct Words {
  Tensor source;         // [B, S]
  Tensor given, wanted;  // [B, S + 1]: decoder input after "start"; its target before "end"
};

Words draw(std::int64_t count, std::int64_t length) {
  const Tensor source = randint(0, kLetters, {count, length}), backwards = flip(source, {1});
  const Tensor start = tensor(nn::Tokens(static_cast<std::size_t>(count), kStart), {count, 1});
  return {source, cat({start, backwards}, 1), cat({backwards, start + 1}, 1)};
}

std::string spell(const Tensor& ids) {
  std::string word;
  for (const std::int64_t id : ids.to_vector<std::int64_t>())
    word += id == kEnd ? '.' : static_cast<char>('a' + id);
  return word;
}

/// Makes one training step. Returns the loss.
double train_step(const nn::Translator& model, optim::Optimizer& optimizer, const Words& words,
                  double factor) {
  const Tensor loss = cross_entropy(model(words.source, words.given), words.wanted);
  optimizer.zero_grad();
  loss.backward();
  optimizer.step({.factor = factor});
  return loss.item();
}

/// Trains on words of 3 … `longest` letters.
void learn(nn::Translator& model, int steps, int longest, double lr) {
  optim::Adam optimizer(model.parameters(), {.lr = lr});
  const optim::Schedule rate = optim::warmup_cosine(50, steps, 0.01);
  for (int step = 0; step < steps; ++step) {
    const Words words = draw(32, 3 + step % (longest - 2));
    const double loss = train_step(model, optimizer, words, rate(step));
    if (step % 500 == 499) std::printf("step %4d  loss %.4f\n", step + 1, loss);
  }
}

/// Accuracy on 200 new words, letter by letter with a cache.
double accuracy(const nn::Translator& model, std::int64_t length) {
  const Words words = draw(200, length);
  nn::TranslatorDecoderState writer(model, words.source);
  const std::vector<nn::Tokens> starts(200, {kStart});
  const auto written = nn::generate(
      writer, starts, {.tokens = kLongest + 1, .end = kEnd, .sampling = {.temperature = 0}},
      generator().next(), [](std::int64_t, std::int64_t) { return true; });
  double right = 0;
  for (std::int64_t b = 0; b < 200; ++b)
    right += written[static_cast<std::size_t>(b)] == words.wanted[b].to_vector<std::int64_t>();
  return right / 200;
}

/// Checks the cache. Returns whether each position t attends most to S − 1 − t.
bool look_inside(const nn::Translator& model) {
  const NoGrad off;
  const Words words = draw(50, kLongest);
  const Tensor memory = model.encode(words.source);  // [B 50, S 7, C]
  nn::AttentionRecord record;
  const Tensor logits = model.decode(words.given, memory);                          // [B, T 8, V]
  const Tensor weights = select(record.weights("blocks.0.cross_attention"), 1, 0);  // [B, T 8, S 7]
  draw_weights(weights[0], spell(words.source[0]), spell(words.wanted[0]));
  const nn::Tokens places = argmax(mean(weights, {0}), 1).to_vector<std::int64_t>();
  bool mirrored = true;
  for (std::int64_t t = 0; t < kLongest; ++t)
    mirrored = mirrored && places[static_cast<std::size_t>(t)] == kLongest - 1 - t;

  nn::KVCache cache({.capacity = kLongest + 1});
  for (std::int64_t t = 0; t <= kLongest; ++t) {
    cache.advance(50, 1);
    const Tensor one = model.decode(slice(words.given, 1, t, t + 1), memory, {}, &cache);
    expect(same(one, slice(logits, 1, t, t + 1)), "the cache keeps all logits");  // [B, 1, V]
  }
  return mirrored;
}

struct Learned {
  double worst;   // lowest accuracy for words of 3, 5 and 7 letters
  bool mirrored;  // position t attends most to S − 1 − t
};

/// Trains on words of 3 … `longest` letters, at most 7; steps > 50.
Learned transformer(int steps = 1200, int longest = kLongest, double lr = 5e-3) {
  seed(1);
  nn::Translator model({.source_vocab = kLetters,
                        .target_vocab = kEnd + 1,
                        .context = kLongest + 1,
                        .encoder_layers = 1,
                        .decoder_layers = 1,
                        .block = {.width = 32, .heads = 1}});
  std::printf("%d parameters\n", static_cast<int>(model.parameter_count()));
  learn(model, steps, longest, lr);
  model.eval();
  double worst = 1;
  for (const int length : {3, 5, 7}) {
    const double right = accuracy(model, length);
    std::printf("%d letters: %.1f %% of 200 new words are right\n", length, 100 * right);
    worst = std::min(worst, right);
  }
  model.to(Dtype::f64);  // so that rounding cannot hide a mistake
  const bool mirrored = look_inside(model);
  std::printf("\nwith a cache, one letter at a time: the same values\n");
  return {worst, mirrored};
}

}  // namespace

int main() {
  const Learned learned = transformer();
  expect(learned.worst > 0.95, "the model has learned to write backwards");
  expect(learned.mirrored, "position t attends to S - 1 - t");
}
