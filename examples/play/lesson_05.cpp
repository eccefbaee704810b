// Lesson 05 in the playground.
#include "05_spiral.cpp"
#include "gradus/examples/play/lesson.h"

namespace gradus::play {
namespace {

constexpr std::int64_t kBatch = 50, kGrid = 40;  // kGrid: points per side of the picture

class Spiral final : public Training {
 public:
  explicit Spiral(const Values& v)
      : net_((seed(1), v.integer("width"))), optimizer_(net_.parameters(), {.lr = v.number("lr")}) {
    const Tensor table = io::load_csv("examples/data/spiral.csv").values.to(Dtype::f32);  // [N, 3]
    points_ = slice(table, 1, 0, 2);
    arms_ = select(table, 1, 2).to(Dtype::i64);
    std::printf("%s", net_.summary().c_str());
  }

  double step() override {
    if (at_ == batches_.size()) {
      batches_ = train::batches(points_, arms_, kBatch, epoch_++);
      at_ = 0;
    }
    return train_step(net_, optimizer_, batches_[at_++]);
  }

  /// Returns the probability of arm 1 on a grid over [-1, 1]², row by row from the top, and the
  /// points.
  nlohmann::json picture() override {
    const NoGrad not_recorded;
    std::vector<float> grid;
    for (std::int64_t row = 0; row < kGrid; ++row)
      for (std::int64_t column = 0; column < kGrid; ++column) {
        grid.push_back(2 * (static_cast<float>(column) + 0.5f) / kGrid - 1);
        grid.push_back(1 - 2 * (static_cast<float>(row) + 0.5f) / kGrid);
      }
    const Tensor p = softmax(net_(tensor(std::span<const float>(grid), {kGrid * kGrid, 2})));
    return {{"boundary",
             {{"size", kGrid},
              {"values", select(p, 1, 1).to_vector<float>()},
              {"points", points_.to_vector<float>()},
              {"arms", arms_.to_vector<std::int64_t>()}}},
            {"accuracy", accuracy(net_, points_, arms_)}};
  }

 private:
  TwoLayerNet net_;
  optim::Adam optimizer_;
  Tensor points_, arms_;
  std::vector<train::Batch> batches_;
  std::size_t at_ = 0;
  std::uint64_t epoch_ = 0;
};

}  // namespace

Lesson lesson_05() {
  return {5,
          "A spiral",
          "examples/05_spiral.cpp",
          Dtype::f32,
          {{"spiral",
            "Train a two-layer net",
            {integer("width", "hidden units", 48, 1, 256),
             number("lr", "learning rate", 0.02, 0.0001, 1)},
            nullptr,
            [](const Values& v) { return std::make_unique<Spiral>(v); },
            "spiral(\"examples/data/spiral.csv\", {width}, 300, {lr});"}}};
}

}  // namespace gradus::play
