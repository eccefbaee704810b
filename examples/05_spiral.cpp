// Lesson 05: a two-layer net learns which arm of a spiral a point lies on.
//
//   05_spiral [FILE.csv]

#include <cstdio>

#include "gradus/gradus.h"

using namespace gradus;

namespace {

/// Points [N, 2] → scores of the two arms [N, 2].
struct TwoLayerNet : nn::Layer<TwoLayerNet> {
  explicit TwoLayerNet(std::int64_t width) : hidden(2, width), scores(width, 2) {}
  nn::Members members() override { return {{"hidden", hidden}, {"scores", scores}}; }

  Tensor forward(const Tensor& points) const {
    const Tensor h = tanh(hidden(4 * points));  // [N, width]; 4, because arms are 1/4 apart
    return scores(h);                           // [N, 2]
  }

  nn::Linear hidden, scores;
};

/// One training step. Returns the loss.
double train_step(const TwoLayerNet& net, optim::Optimizer& optimizer, const train::Batch& batch) {
  const Tensor loss = cross_entropy(net(batch.x), batch.y);
  optimizer.zero_grad();
  loss.backward();
  optimizer.step();
  return loss.item();
}

double accuracy(const TwoLayerNet& net, const Tensor& points, const Tensor& arms) {
  const NoGrad not_recorded;
  const Tensor right = equal(argmax(net(points), 1), arms);  // [N]
  return mean(to(right, Dtype::f32)).item();
}

/// Trains on rows (x, y, arm) of a CSV file. Returns the accuracy.
double spiral(const std::string& file = "examples/data/spiral.csv", std::int64_t width = 48,
              int epochs = 300, double lr = 2e-2) {
  seed(1);
  const Tensor table = io::load_csv(file).values.to(Dtype::f32);  // [N, 3]
  const Tensor points = slice(table, 1, 0, 2);                    // [N, 2]
  const Tensor arms = select(table, 1, 2).to(Dtype::i64);         // [N]
  std::printf("%lld points from %s\n", static_cast<long long>(points.size(0)), file.c_str());

  TwoLayerNet net(width);
  optim::Adam optimizer(net.parameters(), {.lr = lr});
  std::printf("%s", net.summary().c_str());
  for (int epoch = 0; epoch < epochs; ++epoch) {
    const auto batches = train::batches(points, arms, 50, static_cast<std::uint64_t>(epoch));
    double total = 0;
    for (const train::Batch& batch : batches) total += train_step(net, optimizer, batch);
    if (epoch % 50 == 49)
      std::printf("epoch %3d  loss %.4f\n", epoch + 1, total / static_cast<double>(batches.size()));
  }

  const double right = accuracy(net, points, arms);
  std::printf("%.1f %% of the points are classified correctly\n", 100 * right);
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const double right = argc > 1 ? spiral(argv[1]) : spiral();
    return right > 0.97 ? 0 : 1;
  } catch (const Error& error) {
    std::fprintf(stderr, "05_spiral: %s\n", error.what());
    return 2;
  }
}
