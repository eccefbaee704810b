// Valid and corrupted variables for the debuggers' printers. The debugger stops in look(); cases.py
// contains the expected output.
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "gradus/engine/apply.h"
#include "gradus/engine/strided.h"
#include "gradus/gradus.h"

using namespace gradus;

namespace fixture {

struct Tiny : nn::Layer<Tiny> {
  nn::Linear up{2, 3, {.bias = false}}, down{3, 1};
  std::vector<nn::Linear> more;
  Tensor scale = Tensor::empty({2}, Dtype::f64).fill_(0.5);
  std::int64_t heads = 4;
  nn::Members members() override { return {{"up", up}, {"down", down}, {"scale", scale}}; }
  Tensor forward(const Tensor& x) const { return down(tanh(up(x))); }
};

struct KeepsInput {
  Saved x;
};

struct Cube final : Op, KeepsInput {  // y = x³, dx = 3 x² dy
  const char* name() const override { return "cube"; }
  Tensor forward(const Tensor& in) {
    x = in;
    return in * in * in;
  }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    const Tensor t = x.value();
    return {3.0 * t * t * dy};
  }
};

/// Raw bytes that represent an uninitialized variable.
template <class T>
struct Unborn {
  explicit Unborn(int byte) { std::memset(bytes, byte, sizeof bytes); }
  T& it() { return *reinterpret_cast<T*>(bytes); }
  alignas(T) unsigned char bytes[sizeof(T)];
};

void look() { std::puts("here"); }

/// Copies `from`, and replaces the pointer in the copy at the offset of `part` in `from`.
void damage(Unborn<Tensor>& copy, const Tensor& from, const void* part, std::uintptr_t pointer) {
  std::memcpy(copy.bytes, static_cast<const void*>(&from), sizeof from);
  const auto at = static_cast<const char*>(part) - reinterpret_cast<const char*>(&from);
  std::memcpy(copy.bytes + at, &pointer, sizeof pointer);
}

void tensors() {
  const Tensor f32 = tensor({{1.5, -2.25, 3}, {4, 5, 6}});
  const Tensor f64 = Tensor::empty({3}, Dtype::f64).fill_(2);
  const Tensor i64 = arange(4);
  const Tensor flags = greater(f32, 2.0);
  const Tensor number = Tensor::empty({}, Dtype::f32).fill_(0.125);
  Tensor special = Tensor::empty({4}, Dtype::f32).fill_(0);
  special.mutable_data<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  special.mutable_data<float>()[1] = -std::numeric_limits<float>::infinity();
  special.mutable_data<float>()[3] = 1e9F;
  const Tensor small = Tensor::empty({2}, Dtype::f64).fill_(1e-7);
  const Tensor long_row = arange(0.0, 100.0);
  const Tensor view = transpose(f32), piece = f32[{Slice{}, slice(1, 3)}];
  const Tensor expanded = expand(f32[1], {2, 3});
  const Tensor empty = Tensor::empty({0, 3}, Dtype::f32);
  const Tensor nothing, shape_only = f32.metadata_only();
  Tensor source = f32.clone();
  const Tensor thief = std::move(source);
  const Tensor eight = arange(0.0, 256.0).view({2, 2, 2, 2, 2, 2, 2, 2});
  const Tensor wide = arange(0.0, 4096.0).view({4, 4, 4, 4, 4, 4});
  const Tensor past = kernel::over(f32.storage(), {8}, Dtype::f32);  // its size exceeds the storage
  Unborn<Tensor> zeros(0), ones(0xFF), sevens(0x07), wild_storage(0), wild_node(0);
  damage(wild_storage, f32, &f32.storage(), 0x10);
  damage(wild_node, f32, &f32.node(), 0x10);
  [[maybe_unused]] const Tensor &zeroed = zeros.it(), &all_ones = ones.it(),
                                &all_sevens = sevens.it();
  [[maybe_unused]] const Tensor &no_storage = wild_storage.it(), &no_node = wild_node.it();
  look();
}

void others() {
  const Shape shape{2, 3};
  Unborn<Shape> unborn(0x7F);
  [[maybe_unused]] const Shape& bad_shape = unborn.it();
  const Mask everything, causal = causal_mask(), late = causal_mask(2);
  const Mask padding = padding_mask({3, 1}), both = causal & padding;
  const Mask dense = dense_mask(greater(arange(0.0, 4.0).view({2, 2}), 0.0));
  std::vector<float> mine = {1, 2};
  const Storage borrowed(mine.data(), 8, nullptr);
  Tensor written = Tensor::empty({2}, Dtype::f32);
  Saved saved_written = written.fill_(3);
  written.fill_(4);
  const Saved not_saved;
  const Gradient no_gradient, whole(written), part = Gradient::slice(written, 1, 4, 2);
  const Gradient rows = Gradient::rows(written, arange(2));
  Tiny net;
  net.more.push_back(nn::Linear(2, 2));
  net.eval();
  Unborn<Tiny> no_net(0x07);
  [[maybe_unused]] nn::Module& module = net;
  [[maybe_unused]] nn::Module& bad_module = no_net.it();
  look();
}

void graph() {
  Tensor x = tensor({{1, 2}, {3, 3}}).requires_grad_();
  Tensor frozen = tensor({1}).requires_grad_().requires_grad_(false);
  const Tensor y = softmax(x), z = apply(Cube{}, y);
  const Tensor loss = sum(z);
  [[maybe_unused]] const Node &leaf = *x.node(), &node = *y.node(), &cube = *z.node();
  const NodePtr made_y = y.node(), no_maker;
  Unborn<Node> no_node(0x07);
  [[maybe_unused]] const Node& bad_node = no_node.it();
  look();
  const FormulaScope formula(std::getenv("FIXTURE_FORMULA") != nullptr);
  loss.backward();
  look();
}

/// Calls only functions of the standard library.
double standard_library(const std::vector<double>& values) {
  double largest = 0;
  for (const double v : values) largest = std::max(largest, v);
  return largest;
}

}  // namespace fixture

int main() {
  seed(1);
  fixture::tensors();
  fixture::others();
  fixture::graph();
  return fixture::standard_library({1, 3, 2}) == 3 ? 0 : 1;
}
