// Parameters that backward did not reach: an optimizer reports them once, in its first step.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/reduce.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/said.h"
#include "gradus/tests/support/thrown.h"
#include "gradus/trace/watch.h"
#include "gradus/train/optim.h"

namespace gradus::testing {
namespace {

struct Parameters {
  Tensor used = ones({2}).requires_grad_(), lost = ones({3}).requires_grad_(),
         frozen = ones({4}).requires_grad_().requires_grad_(false);
  std::vector<nn::NamedTensor> all() const {
    return {{"used", used}, {"lost", lost}, {"frozen", frozen}};
  }
};

TEST_CASE("the first step reports the parameters without a gradient, once") {
  Parameters p;
  optim::SGD sgd(p.all());
  const auto step = [&] {
    sum(square(p.used)).backward();
    sgd.step();
  };
  sgd.zero_grad();
  sum(square(p.used)).backward();
  CHECK(sgd.unreached() == std::vector<std::string>{"lost"});
  const std::string said = said_by(step);
  CHECK(has(said, "did not reach 1 of 3 parameters: lost [3]; why(loss, model)"));
  CHECK(std::count(said.begin(), said.end(), '\n') == 1);
  CHECK(said_by(step) == "");
  sum(square(p.lost)).backward();
  CHECK(sgd.unreached().empty());
}

TEST_CASE("nothing is reported if all are reached or report_unreached is off") {
  Parameters p;
  optim::SGD good(p.all()), quiet(p.all());
  sum(square(p.used)).backward();
  quiet.report_unreached(false);
  CHECK(said_by([&] { quiet.step(); }) == "");
  sum(square(p.lost)).backward();
  CHECK(said_by([&] { good.step(); }) == "");  // what is frozen counts for nothing
}

TEST_CASE("the report names five parameters and counts the rest") {
  const auto said = [](int count) {
    std::vector<nn::NamedTensor> many;
    for (int i = 0; i < count; ++i)
      many.push_back({"p" + std::to_string(i), ones({1}).requires_grad_()});
    optim::SGD sgd(many);
    sum(many[0].tensor).backward();
    return said_by([&] { sgd.step(); });
  };
  const std::string five = "parameters: p1 [1], p2 [1], p3 [1], p4 [1], p5 [1]";
  CHECK(has(said(6), "5 of 6 " + five + "; why"));
  CHECK(has(said(9), "8 of 9 " + five + " and 3 more;"));
}

TEST_CASE("under a watch, the report names the operation where the path ended") {
  Parameters p;
  optim::SGD sgd(p.all());
  const trace::Watch watch;
  const Tensor twice = (p.lost * 2.0).detach();
  (sum(square(p.used)) + sum(exp(twice))).backward();
  CHECK(has(said_by([&] { sgd.step(); }), "lost [3] (it was detached before exp);"));
}

TEST_CASE("only_finite skips a step whose norm is not finite") {
  Parameters p;
  optim::AdamW adamw(p.all());
  adamw.report_unreached(false);
  p.used.set_grad(tensor({1, INFINITY}));
  CHECK(std::isinf(adamw.step({.only_finite = true})));
  CHECK(adamw.steps() == 0);
  CHECK(p.used.to_vector<float>() == std::vector<float>{1, 1});
  CHECK(adamw.state_dict().at("exp_avg.used").to_vector<float>() == std::vector<float>{0, 0});
  p.used.set_grad(tensor({1, 1}));
  CHECK(adamw.step({.only_finite = true}) > 1.41);
  CHECK(adamw.steps() == 1);
}

}  // namespace
}  // namespace gradus::testing
