#include <functional>
#include <memory>

#include "gradus/engine/base/random.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/ops/ops.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/train/distributed/sharded_optimizer.h"
#include "gradus/train/distributed/threads.h"
#include "gradus/train/optim/muon.h"
#include "gradus/train/optim/stages.h"

namespace gradus::testing::test_sharded_optimizer {
namespace {

using distributed::ShardedOptimizer;
using distributed::Transport;
using Floats = std::vector<float>;

/// Parameters are split at 1,024 elements.
const std::vector<Shape> kShapes = {{3, 5}, {2100}, {1}, {5, 240}, {1024}, {40}};

struct Set {
  std::vector<nn::NamedTensor> all;
  std::unique_ptr<optim::Optimizer> optimizer;

  explicit Set(int kind) {
    seed(7);
    for (const Shape& shape : kShapes)
      all.push_back({str_cat("p", all.size()), nn::parameter(randn(shape))});
    if (kind == 0) optimizer = std::make_unique<optim::SGD>(all, optim::SGDOptions{.lr = 0.1});
    if (kind == 1) optimizer = std::make_unique<optim::AdamW>(optim::no_decay_on_1d(all, 0.1));
    if (kind == 2) {
      optim::MuonGroups groups = optim::muon_groups(all);
      optimizer = std::make_unique<optim::Muon>(groups.matrices, groups.others);
    }
    optimizer->warn_params_without_grad(false);
  }
  std::vector<nn::NamedTensor> parameters() const {
    std::vector<nn::NamedTensor> out;
    for (const optim::Group& group : optimizer->groups())
      out.insert(out.end(), group.parameters.begin(), group.parameters.end());
    return out;
  }
  Floats numbers() const {
    Floats out;
    for (const nn::NamedTensor& each : parameters()) {
      const Floats more = each.tensor.detach().to_vector<float>();
      out.insert(out.end(), more.begin(), more.end());
    }
    return out;
  }
};

Tensor gradient(std::int64_t step) {
  seed(100 + static_cast<std::uint64_t>(step));
  return randn({15 + 2100 + 1 + 1200 + 1024 + 40});
}
std::vector<char> reached(std::int64_t step) { return {1, 1, step != 1, 1, step != 0, 1}; }

void step_whole(Set& set, std::int64_t step) {
  const Floats numbers = gradient(step).to_vector<float>();
  const std::vector<char> there = reached(step);
  std::size_t at = 0, i = 0;
  for (nn::NamedTensor each : set.parameters()) {
    const auto n = static_cast<std::size_t>(each.tensor.numel());
    const auto begin = numbers.begin() + static_cast<std::ptrdiff_t>(at);
    each.tensor.set_grad(
        there[i++] == 0 ? Tensor()
                        : tensor(Floats(begin, begin + std::ptrdiff_t(n)), each.tensor.shape()));
    at += n;
  }
}

double step_part(ShardedOptimizer& sharded, std::int64_t step) {
  const Tensor all = gradient(step);
  // The norm must exclude gradients of unreached parameters.
  const Tensor part = kernel::copy(optim::part_of(all, sharded.begin(), sharded.end()));
  return sharded.step(part, reached(step), {.clip_norm = 0.5, .factor = 0.5});
}

std::string text(const nn::StateDict& state) {
  std::string out;
  for (const auto& [name, x] : state)
    out += str_cat(name, " ", x.shape(), " ", sum(abs(x.to(Dtype::f64))).item(), "\n");
  return out;
}

void compare(int kind, Transport& transport) {
  Set unsharded(kind), part(kind), again(kind);
  ShardedOptimizer sharded(*part.optimizer, transport), resumed(*again.optimizer, transport);
  const auto both = [&](const Set& one, ShardedOptimizer& its, std::int64_t step) {
    step_whole(unsharded, step);
    const double norm = unsharded.optimizer->step({.clip_norm = 0.5, .factor = 0.5});
    require<Error>(step_part(its, step) == norm, "norms differ");
    const Floats a = unsharded.numbers(), b = one.numbers();
    require<Error>(
        std::equal(a.begin() + its.begin(), a.begin() + its.end(), b.begin() + its.begin()),
        "steps, ", kind, " of ", transport.size());
  };
  both(part, sharded, 0);
  both(part, sharded, 1);
  const nn::StateDict state = sharded.state_dict(), wanted = unsharded.optimizer->state_dict();
  require<Error>(text(state) == (transport.rank() == 0 ? text(wanted) : ""), "states differ");
  resumed.load_state_dict(wanted);
  const std::vector<nn::NamedTensor> to = again.parameters(), from = unsharded.parameters();
  for (std::size_t i = 0; i < to.size(); ++i)
    Tensor(to[i].tensor).detach().copy_(from[i].tensor.detach());
  both(again, resumed, 2);
}

}  // namespace

TEST_CASE("a sharded optimizer has the steps and state of an unsharded optimizer") {
  for (int kind = 0; kind < 3; ++kind)
    for (const int size : {1, 3})
      distributed::run_threads(size, [&](Transport& transport) { compare(kind, transport); });
}

TEST_CASE("an optimizer can be sharded once, and then steps only through its ShardedOptimizer") {
  distributed::run_threads(2, [](Transport& transport) {
    const auto error = [](const std::function<void()>& call, const char* noun) {
      const std::string problem = refusal_problem<GraphError>(call, {noun});
      require<Error>(problem.empty(), problem);
    };
    Set set(0), inside(0);
    ShardedOptimizer sharded(*set.optimizer, transport);
    inside.optimizer->step_in_backward();
    error([&] { ShardedOptimizer(*set.optimizer, transport); }, "already sharded");
    error([&] { ShardedOptimizer(*inside.optimizer, transport); }, "step_in_backward");
    error([&] { set.optimizer->step_in_backward(); }, "ShardedOptimizer");
    error([&] { set.optimizer->step(); }, "ShardedOptimizer");
    error([&] { set.optimizer->state_dict(); }, "ShardedOptimizer");
    const Tensor zero = zeros({sharded.end() - sharded.begin()});
    error([&] { sharded.step(zero, std::vector<char>(6, 0)); }, "parameter");
    const auto shape_error = [](const std::function<void()>& call, const char* noun) {
      const std::string problem = refusal_problem<ShapeError>(call, {noun});
      require<Error>(problem.empty(), problem);
    };
    shape_error([&] { sharded.step(zeros({7}), std::vector<char>(6, 1)); }, "got 7");
    shape_error([&] { sharded.step(zero, std::vector<char>(5, 1)); }, "5 entries");
    require<Error>(sharded.step(zero, std::vector<char>(6, 1)) == 0, "a norm");
    require<Error>(sharded.step(zero, {0, 0, 0, 0, 0, 1}) == 0, "a norm");
    require<Error>(set.optimizer->steps() == 2, "steps");
  });
  Set other(0);
  CHECK_REFUSES(GraphError, other.optimizer->step(), "optimizer", "parameter");
}

TEST_CASE("with one process, the sharded optimizer can still be used directly") {
  Set set(2), plain(2);
  ShardedOptimizer sharded(*set.optimizer, distributed::alone());
  for (Set* each : {&set, &plain}) {
    step_whole(*each, 0);
    each->optimizer->step();
  }
  CHECK(set.numbers() == plain.numbers());
  CHECK(text(set.optimizer->state_dict()) == text(plain.optimizer->state_dict()));
}

TEST_CASE("a sharded optimizer does not change frozen parameters") {
  Set set(1);
  ShardedOptimizer sharded(*set.optimizer, distributed::alone());
  Tensor frozen = set.parameters()[1].tensor;
  frozen.requires_grad_(false);
  const Floats before = frozen.to_vector<float>();
  step_part(sharded, 0);
  CHECK(frozen.to_vector<float>() == before);
}

TEST_CASE("a sharded optimizer loads its part of a state with any strides") {
  distributed::run_threads(2, [](Transport& t) {
    const Tensor rows = reshape(arange(0, 3000), {1500, 2}).to(Dtype::f32);
    const Tensor columns = transpose(transpose(rows, 0, 1).clone(), 0, 1);  // strided
    optim::SGD optimizer({{"w", nn::parameter(zeros({1500, 2}))}}, {.momentum = 0.5});
    ShardedOptimizer sharded(optimizer, t);
    nn::StateDict state = {{"step", full({}, 1, Dtype::i64)}, {"velocity.w", columns}};
    sharded.load_state_dict(state);
    const nn::StateDict now = sharded.state_dict();
    if (t.rank() == 0)
      require<Error>(now.at("velocity.w").to_vector<float>() == rows.to_vector<float>(), "order");
  });
}

TEST_CASE("part_of and bytes_of respect the offset of a view") {
  const Tensor all = tensor(std::vector<double>{0, 1, 2, 3, 4, 5}), x = slice(all, 0, 2, 6);
  CHECK(optim::part_of(x, 1, 3).to_vector<double>() == std::vector<double>{3, 4});
  CHECK(distributed::bytes_of(x, 1, 3).data() ==
        reinterpret_cast<const std::byte*>(all.data<double>() + 3));
  CHECK(distributed::bytes_of(x, 1, 3).size() == 16);
}

}  // namespace gradus::testing::test_sharded_optimizer
