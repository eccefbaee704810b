#include "gradus/io/safetensors.h"

#include "gradus/nn/feed_forward.h"
#include "gradus/nn/linear.h"
#include "gradus/nn/norm.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/io/files.h"

namespace gradus::testing::test_module_file {
namespace {

std::vector<double> numbers(const Tensor& x) { return x.to(Dtype::f64).to_vector<double>(); }

}  // namespace

TEST_CASE("a module is restored from a file, also in another dtype") {
  const Folder folder;
  const Tensor x = randn({2, 3});
  nn::FeedForward net({.width = 3, .hidden = 5}), other({.width = 3, .hidden = 5});
  CHECK(numbers(net(x)) != numbers(other(x)));
  io::save(folder / "net.safetensors", net);
  io::load(folder / "net.safetensors", other);
  CHECK(numbers(other(x)) == numbers(net(x)));
  nn::FeedForward wide({.width = 3, .hidden = 5});
  wide.to(Dtype::f64);
  io::load(folder / "net.safetensors", wide);
  CHECK(wide.up.weight.dtype() == Dtype::f64);
  CHECK(numbers(wide.up.weight) == numbers(net.up.weight));
}

TEST_CASE("buffers are saved with the parameters") {
  const Folder folder;
  nn::BatchNorm1d norm(3), other(3);
  static_cast<void>(norm(randn({8, 3})));  // updates the running statistics
  io::save(folder / "norm", norm);
  io::load(folder / "norm", other);
  CHECK(numbers(other.running_mean) == numbers(norm.running_mean));
  CHECK(numbers(other.running_mean) != std::vector<double>{0, 0, 0});
}

TEST_CASE("a state dict loads into its module and shares its storage") {
  nn::Linear a(3, 2), b(3, 2);
  b.load_state_dict(a.state_dict());
  CHECK(numbers(b.weight) == numbers(a.weight));
  CHECK(b.weight.storage() != a.weight.storage());
  CHECK(a.state_dict().at("weight").storage() == a.weight.storage());
  CHECK(!a.state_dict().at("weight").requires_grad());
}

TEST_CASE("a file with mismatched tensors does not change a module") {
  const Folder folder;
  nn::Linear small(3, 2), large(4, 2, {.bias = false});
  io::save(folder / "small", small);
  const std::vector<double> before = numbers(large.weight);
  const std::string message = message_of<ShapeError>([&] { io::load(folder / "small", large); });
  CHECK(contains(message, "weight"));
  CHECK(contains(message, "bias"));
  CHECK(numbers(large.weight) == before);
  CHECK_THROWS_AS(io::load(folder / "missing", small), FileError);
  CHECK_THROWS_AS(io::save(folder / "no/such/folder", small), FileError);
}

}  // namespace gradus::testing::test_module_file
