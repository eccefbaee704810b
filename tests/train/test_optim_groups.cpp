// What an optimiser's rules do not depend on: how parameters are cut into pieces and tensors; and
// which group a parameter comes into.
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <random>

#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/train/muon.h"

namespace gradus::testing {
namespace {

using Made = std::unique_ptr<optim::Optimizer>;
using Parameters = std::vector<nn::NamedTensor>;

/// Small whole numbers: sums of their squares are exact, so that a norm has the same bits however
/// its parameters are cut.
std::vector<float> whole_numbers(std::size_t count, unsigned step) {
  std::mt19937 random(step);
  std::vector<float> out(count);
  for (float& each : out) each = static_cast<float>(random() % 15) - 7;
  return out;
}

const std::vector<std::function<Made(const Parameters&)>> kElementwise = {
    [](auto& p) {
      return std::make_unique<optim::SGD>(p, optim::SGDOptions{0.1, 0, 0.01});
    },
    [](auto& p) {
      return std::make_unique<optim::SGD>(p, optim::SGDOptions{0.1, 0.9, 0.01});
    },
    [](auto& p) {
      return std::make_unique<optim::SGD>(p, optim::SGDOptions{0.1, 0.9, 0, true});
    },
    [](auto& p) { return std::make_unique<optim::Adam>(p); },
    [](auto& p) { return std::make_unique<optim::AdamW>(p); },
    [](auto& p) { return std::make_unique<optim::Lion>(p, optim::LionOptions{0.1}); }};

/// The numbers after three clipped steps, cut into tensors of these sizes.
std::vector<float> after_steps(const std::function<Made(const Parameters&)>& make,
                               const std::vector<std::size_t>& sizes, bool in_backward) {
  Parameters parameters;
  for (const std::size_t size : sizes)
    parameters.push_back({std::to_string(parameters.size()),
                          zeros({static_cast<std::int64_t>(size)}).requires_grad_()});
  const Made optimizer = make(parameters);
  std::size_t all = 0;
  for (const std::size_t size : sizes) all += size;
  for (unsigned step = 0; step < 3; ++step) {
    const std::vector<float> numbers = whole_numbers(all, step);
    auto at = numbers.begin();
    if (in_backward) optimizer->step_in_backward(0.5);
    for (nn::NamedTensor& each : parameters) {
      const auto end = at + each.tensor.numel();
      const Tensor gradient = tensor(std::vector<float>(at, end), each.tensor.shape());
      in_backward ? each.tensor.backward(gradient) : each.tensor.set_grad(gradient);
      at = end;
    }
    if (!in_backward) optimizer->step({.clip_norm = 10, .factor = 0.5});
  }
  std::vector<float> out;
  for (const nn::NamedTensor& each : parameters) {
    const std::vector<float> more = each.tensor.to_vector<float>();
    out.insert(out.end(), more.begin(), more.end());
  }
  return out;
}

TEST_CASE("a large parameter is updated as its parts would be") {
  constexpr std::size_t kPiece = 65536;  // that an optimiser works on; sizes of whole vectors
  for (std::size_t which = 0; which < kElementwise.size(); ++which) {
    CAPTURE(which);
    const auto& make = kElementwise[which];
    for (const bool in_backward : {false, true})
      CHECK(after_steps(make, {2 * kPiece + 1024}, in_backward) ==
            after_steps(make, {kPiece - 1024, 2048, kPiece}, in_backward));
  }
}

TEST_CASE("a step counts as a write, takes any strides, and its settings are finite") {
  for (std::size_t which = 0; which < kElementwise.size(); ++which) {
    CAPTURE(which);
    const auto& make = kElementwise[which];
    Tensor p = zeros({3, 5}).requires_grad_(), q = zeros({3, 5}).requires_grad_();
    const Made one = make({{"p", p}}), other = make({{"p", q}});
    const Tensor gradient = transpose(tensor(whole_numbers(15, 1), {5, 3}), 0, 1);
    p.set_grad(gradient), q.set_grad(gradient.contiguous());
    const Tensor before = sum(square(p));  // it has saved p
    one->step(), other->step();
    CHECK(p.to_vector<float>() == q.to_vector<float>());
    CHECK_THROWS_AS(before.backward(), GraphError);
    std::map<std::string, Tensor> state = one->state_dict();
    state["more"] = zeros({1});
    CHECK_THROWS_AS(other->load_state_dict(state), ShapeError);
    for (auto& [name, tensor] : std::map<std::string, Tensor>(one->state_dict())) {
      state = one->state_dict();
      state[name] = tensor.to(Dtype::f64);
      CHECK_THROWS_AS(other->load_state_dict(state), ShapeError);
    }
    for (const double bad : {HUGE_VAL, std::nan(""), -0.5}) {
      CHECK_THROWS_AS(one->set_learning_rate(bad), ValueError);
      if (!(bad < 0)) CHECK_THROWS_AS(optim::SGD({optim::Group{{{"p", p}}, bad}}), ValueError);
      if (!(bad < 0)) CHECK_THROWS_AS(optim::SGD({optim::Group{{{"p", p}}, -1, bad}}), ValueError);
    }
  }
}

TEST_CASE("matrices and more axes decay, Muon takes matrices alone, others keep their rate") {
  Parameters all;
  for (int rank = 0; rank < 5; ++rank) {
    Shape shape;
    for (int axis = 0; axis < rank; ++axis) shape.push_back(2);
    all.push_back({std::to_string(rank), zeros(shape).requires_grad_()});
  }
  const auto names = [](const optim::Group& group) {
    std::string out;
    for (const nn::NamedTensor& each : group.parameters) out += each.name;
    return out;
  };
  const std::vector<optim::Group> decay = optim::decay_matrices_only(all, 0.1);
  CHECK(names(decay[0]) == "234");
  CHECK(names(decay[1]) == "01");
  CHECK(decay[1].weight_decay == 0);
  optim::MuonGroups muon = optim::muon_groups(all);
  CHECK(names(muon.matrices) == "2");
  CHECK(names(muon.others) == "0134");
  muon.others.lr = 0.25;
  CHECK(optim::Muon(muon.matrices, muon.others).groups()[1].lr == 0.25);

  optim::SGD sgd(optim::decay_matrices_only(all, 0.1));
  sgd.set_learning_rate(0.125);
  for (const optim::Group& group : sgd.groups()) CHECK(group.lr == 0.125);
  CHECK_THROWS_AS(sgd.set_learning_rate(-1), ValueError);
}

}  // namespace
}  // namespace gradus::testing
