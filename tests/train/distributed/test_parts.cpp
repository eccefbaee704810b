// A sharded optimizer against an unsharded one: cuts, steps, norms and states, to the bit.
#include <memory>

#include "gradus/engine/base/random.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/ops/ops.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/train/distributed/parts.h"
#include "gradus/train/distributed/threads.h"
#include "gradus/train/optim/muon.h"

namespace gradus::testing::test_parts {
namespace {

using distributed::Transport;
using Floats = std::vector<float>;

/// Tensors smaller and larger than the 1,024 numbers at which parameters are cut.
const std::vector<Shape> kShapes = {{3, 5}, {2100}, {1}, {5, 240}, {1024}, {40}};

struct Set {
  std::vector<nn::NamedTensor> all;
  std::unique_ptr<optim::Optimizer> optimizer;

  explicit Set(int kind) {
    seed(7);
    for (const Shape& shape : kShapes)
      all.push_back({str_cat("p", all.size()), nn::parameter(randn(shape))});
    if (kind == 0) optimizer = std::make_unique<optim::SGD>(all, optim::SGDOptions{.lr = 0.1});
    if (kind == 1) optimizer = std::make_unique<optim::AdamW>(optim::decay_matrices_only(all, 0.1));
    if (kind == 2) {
      optim::MuonGroups groups = optim::muon_groups(all);
      optimizer = std::make_unique<optim::Muon>(groups.matrices, groups.others);
    }
    optimizer->report_unreached(false);
  }
  Floats numbers() const {  // in the order of the groups
    Floats out;
    for (const nn::NamedTensor& each : optimizer->flat()) {
      const Floats more = each.tensor.detach().to_vector<float>();
      out.insert(out.end(), more.begin(), more.end());
    }
    return out;
  }
};

/// Of a step: the numbers of all gradients, in the order of the groups, and which there are.
Tensor gradient(std::int64_t step) {
  seed(100 + static_cast<std::uint64_t>(step));
  return randn({15 + 2100 + 1 + 1200 + 1024 + 40});
}
std::vector<char> reached(std::int64_t step) { return {1, 1, step != 1, 1, step != 0, 1}; }

void step_whole(Set& set, std::int64_t step) {
  const Floats numbers = gradient(step).to_vector<float>();
  const std::vector<char> there = reached(step);
  std::size_t at = 0, i = 0;
  for (nn::NamedTensor each : set.optimizer->flat()) {
    const auto n = static_cast<std::size_t>(each.tensor.numel());
    const auto begin = numbers.begin() + static_cast<std::ptrdiff_t>(at);
    each.tensor.set_grad(
        there[i++] == 0 ? Tensor()
                        : tensor(Floats(begin, begin + std::ptrdiff_t(n)), each.tensor.shape()));
    at += n;
  }
}

double step_part(Set& set, std::int64_t step) {
  const optim::Optimizer& o = *set.optimizer;
  const Tensor all = gradient(step);
  const std::vector<char> there = reached(step);
  // What is not reached counts for nothing in the norm, as in one piece.
  const optim::FlatGradient flat{kernel::copy(optim::part_of(all, o.part_begin(), o.part_end())),
                                 there};
  return set.optimizer->step({.clip_norm = 0.5, .factor = 0.5, .gradient = &flat});
}

std::string text(const nn::StateDict& state) {
  std::string out;
  for (const auto& [name, x] : state)
    out += str_cat(name, " ", x.shape(), " ", sum(abs(x.to(Dtype::f64))).item(), "\n");
  return out;
}

/// Two steps, the state written and read by others, and one step more.
void compare(int kind, Transport& transport) {
  Set whole(kind), part(kind), again(kind);
  part.optimizer->shard(transport);
  again.optimizer->shard(transport);
  const auto check = [&](const Set& one, const char* what) {
    const Floats a = whole.numbers(), b = one.numbers();
    const auto begin = one.optimizer->part_begin(), end = one.optimizer->part_end();
    require<Error>(std::equal(a.begin() + begin, a.begin() + end, b.begin() + begin), what, ", ",
                   kind, " of ", transport.size());
  };
  const auto both = [&](Set& one, std::int64_t step) {
    step_whole(whole, step);
    const double norm = whole.optimizer->step({.clip_norm = 0.5, .factor = 0.5});
    require<Error>(step_part(one, step) == norm, "norms differ");
    check(one, "steps");
  };
  both(part, 0);
  both(part, 1);
  const nn::StateDict state = part.optimizer->state_dict(), wanted = whole.optimizer->state_dict();
  require<Error>(text(state) == (transport.rank() == 0 ? text(wanted) : ""), "states differ");
  again.optimizer->load_state_dict(wanted);
  const std::vector<nn::NamedTensor> to = again.optimizer->flat(), from = whole.optimizer->flat();
  for (std::size_t i = 0; i < to.size(); ++i)
    Tensor(to[i].tensor).detach().copy_(from[i].tensor.detach());
  both(again, 2);
}

}  // namespace

TEST_CASE("a sharded optimizer makes the steps of an unsharded one and has its state") {
  for (int kind = 0; kind < 3; ++kind)
    for (const int size : {1, 3})
      distributed::run_threads(size, [&](Transport& transport) { compare(kind, transport); });
}

TEST_CASE("an optimizer can be sharded once, and requires gradients that match its parts") {
  Set set(0), other(0), inside(0);
  set.optimizer->shard(distributed::alone());
  inside.optimizer->step_in_backward();
  const optim::FlatGradient none{zeros({4380}), std::vector<char>(6, 0)},
      zero{zeros({4380}), std::vector<char>(6, 1)}, last{zeros({4380}), {0, 0, 0, 0, 0, 1}};
  CHECK_REFUSES(GraphError, set.optimizer->shard(distributed::alone()), "shard",
                "step_in_backward");
  CHECK_REFUSES(GraphError, inside.optimizer->shard(distributed::alone()), "shard",
                "step_in_backward");
  CHECK_REFUSES(GraphError, set.optimizer->step_in_backward(), "step_in_backward", "after");
  CHECK_REFUSES(GraphError, set.optimizer->step(), "optimiser", "FlatGradient");
  CHECK_REFUSES(GraphError, other.optimizer->step({.gradient = &zero}), "optimiser",
                "FlatGradient");
  CHECK_REFUSES(GraphError, set.optimizer->step({.gradient = &none}), "optimiser", "parameter");
  CHECK(set.optimizer->step({.gradient = &zero}) == 0);
  CHECK(set.optimizer->step({.gradient = &last}) == 0);
  CHECK(set.optimizer->steps() == 2);
  CHECK_REFUSES(GraphError, other.optimizer->step(), "optimiser", "parameter");
}

TEST_CASE("a sharded optimizer loads its part of a state with any strides") {
  distributed::run_threads(2, [](Transport& t) {
    const Tensor rows = reshape(arange(0, 3000), {1500, 2}).to(Dtype::f32);
    const Tensor columns = transpose(transpose(rows, 0, 1).clone(), 0, 1);  // the same numbers
    optim::SGD optimizer({{"w", nn::parameter(zeros({1500, 2}))}}, {.momentum = 0.5});
    optimizer.shard(t);
    nn::StateDict state = {{"step", full({}, 1, Dtype::i64)}, {"velocity.w", columns}};
    optimizer.load_state_dict(state);
    const nn::StateDict now = optimizer.state_dict();
    if (t.rank() == 0)
      require<Error>(now.at("velocity.w").to_vector<float>() == rows.to_vector<float>(), "order");
  });
}

TEST_CASE("part_of and bytes_of respect the offset of a view") {
  const Tensor all = tensor(std::vector<double>{0, 1, 2, 3, 4, 5}), x = slice(all, 0, 2, 6);
  CHECK(optim::part_of(x, 1, 3).to_vector<double>() == std::vector<double>{3, 4});
  CHECK(optim::bytes_of(x, 1, 3).data() ==
        reinterpret_cast<const std::byte*>(all.data<double>() + 3));
  CHECK(optim::bytes_of(x, 1, 3).size() == 16);
}

}  // namespace gradus::testing::test_parts
