// Trains, saves and loads a custom model, attention over characters, and generates text.
#include <gradus/gradus.h>

#include <cstdio>
#include <filesystem>

using namespace gradus;

struct Writer : nn::Layer<Writer> {
  Writer(std::int64_t vocab, std::int64_t context, std::int64_t width)
      : token(vocab, width), position(context, width), head(width, vocab) {}

  Tensor forward(const Tensor& ids) const {        // i64 [B, T]
    const Tensor x = position(token(ids));         // [B, T, C]
    return head(x + attention(x, causal_mask()));  // [B, T, V]
  }
  nn::Members members() override {
    return {{"token", token}, {"position", position}, {"attention", attention}, {"head", head}};
  }

  nn::Embedding token;
  nn::LearnedPosition position;
  nn::MultiHeadAttention attention{{.width = 32, .heads = 4}};
  nn::Linear head;
};

int main() {
  const std::string line = "a model of my own learns this line by heart and writes it down again; ";
  const std::int64_t context = 16, steps = 300;
  const io::CharTokenizer characters(line);
  const train::TokenBatches batches(characters.encode(line + line), context, 16, 1);

  seed(1);
  Writer writer(characters.vocab_size(), context, 32);
  optim::AdamW optimizer(writer.parameters(), {.lr = 1e-2});
  train::Progress progress(0, steps, 16 * context);
  for (std::int64_t step = 0; step < steps; ++step) {
    const auto [x, y] = batches.at(step);
    const Tensor loss = cross_entropy(writer(x), y);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step({.clip_norm = 1.0});
    progress.show(step + 1, loss.item());
  }

  const std::string file = std::filesystem::temp_directory_path() / "writer.safetensors";
  io::save(file, writer);
  Writer again(characters.vocab_size(), context, 32);
  io::load(file, again);

  const NoGrad no_training;
  std::vector<std::int64_t> ids = characters.encode("a model of my ow");  // as long as the context
  for (int i = 0; i < 53; ++i) {
    const std::vector<std::int64_t> last(ids.end() - context, ids.end());
    const Tensor logits = again(tensor(last, {1, context}))[{0, -1}];  // [V]
    ids.push_back(nn::sample_token(logits, {.temperature = 0}, 0));
  }
  std::puts(characters.decode(ids).c_str());
}
