// layer_norm, rms_norm and batch_norm: statistics, recomputed outputs, bad arguments, threads.
#include "gradus/ops/batch_norm.h"
#include "gradus/ops/normalization.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <string>

#include "gradus/base/parallel.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/node.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/registry.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing {
namespace {

/// Are all of these in the message?
bool says(const std::string& text, std::initializer_list<const char*> parts) {
  return std::all_of(parts.begin(), parts.end(), [&](const char* part) { return has(text, part); });
}

bool near(const std::vector<double>& a, const std::vector<double>& b, double tolerance) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(std::abs(a[i] - b[i]) <= tolerance)) return false;
  return true;
}

struct Statistics {
  Tensor mean, variance;
};

}  // namespace

TEST_CASE("layer_norm keeps its accuracy far from 0 in f32") {
  // Neighbours of 1000 are 6e-5 apart in f32, so that x is exact in units of 1/1024 and no finer.
  std::vector<float> numbers;
  for (int i = 0; i < 512; ++i)
    numbers.push_back(1000.0f + static_cast<float>(i * 37 % 512) / 1024);
  const Tensor x = tensor(numbers, {512});
  const Tensor y = layer_norm(x).to(Dtype::f64), exact = layer_norm(x.to(Dtype::f64));
  // A mean that is off by an ulp of 1000, against a standard deviation of 0.144.
  CHECK(near(y.to_vector<double>(), exact.to_vector<double>(), 6e-5 / 0.144));
}

TEST_CASE("a constant row gives the bias, and a NaN affects only its row") {
  const Tensor bias = tensor({1, 2, 3}, Dtype::f64);
  const double nan = std::nan("");
  const Tensor x = tensor({{5, 5, 5}, {1, nan, 2}, {1, 2, 3}}, Dtype::f64);
  const std::vector<double> y = layer_norm(x, {}, bias).to_vector<double>();
  CHECK(y[0] == 1);
  CHECK(y[1] == 2);
  CHECK(y[2] == 3);
  for (std::size_t i = 3; i < 6; ++i) CHECK(std::isnan(y[i]));
  for (std::size_t i = 6; i < 9; ++i) CHECK(std::isfinite(y[i]));
  const std::vector<double> z = rms_norm(x).to_vector<double>();
  for (std::size_t i = 3; i < 6; ++i) CHECK(std::isnan(z[i]));
  CHECK(std::isfinite(z[6]));
  CHECK(rms_norm(zeros({3}, Dtype::f64)).to_vector<double>() == std::vector<double>{0, 0, 0});
}

TEST_CASE("a matmul after a norm recomputes its output from x") {
  const Tensor weight = values({5}, 1), other = values({3, 5}, 2);
  for (const bool rms : {false, true}) {
    const Tensor x = values({3, 5}).requires_grad_();
    const auto norm = [&](const Tensor& in) {
      return rms ? rms_norm(in, weight) : layer_norm(in, weight, weight);
    };
    Tensor copy;
    {
      const Tensor y = norm(x);
      CHECK(y.node()->op->is_recomputable());
      CHECK(y.node()->op->recompute().to_vector<double>() == y.to_vector<double>());
      copy = square(y) * other;
    }
    copy.backward(other);
    const Tensor same = values({3, 5}).requires_grad_();
    {
      const FormulaScope formula;
      (square(norm(same)) * other).backward(other);
    }
    // Sums of five numbers of order 1, each rounded a few times.
    CHECK(near(x.grad().to_vector<double>(), same.grad().to_vector<double>(), 1e-13));
  }
}

TEST_CASE("writing to the input of a norm before backward throws") {
  const Tensor weight = ones({3}).requires_grad_();
  Tensor x = ones({2, 3});
  const Tensor y = layer_norm(x, weight);
  x.fill_(2);
  CHECK_THROWS_AS(y.backward(ones({2, 3})), GraphError);
}

TEST_CASE("frozen parameters and inputs get no gradient, and dy does not change") {
  const Tensor x = values({2, 3}), dy = values({2, 3}, 4), before = dy.clone();
  const Tensor weight = values({3}, 1).requires_grad_(), bias = values({3}, 2);
  layer_norm(x, weight, bias).backward(dy);
  CHECK(weight.grad().defined());
  CHECK(!bias.grad().defined());
  const Tensor leaf = x.clone().requires_grad_();
  layer_norm(leaf, weight.detach(), bias).backward(dy);
  rms_norm(leaf, weight.detach()).backward(dy);
  CHECK(leaf.grad().defined());
  CHECK(dy.to_vector<double>() == before.to_vector<double>());
}

TEST_CASE("batch_norm updates running statistics with the unbiased variance") {
  const Tensor x = tensor({{1, 10}, {3, 10}, {8, 40}}, Dtype::f64);
  for (const bool formula : {false, true}) {
    const FormulaScope scope(formula);
    const Statistics running{tensor({1, 0}, Dtype::f64), ones({2}, Dtype::f64)};
    batch_norm(x, {}, {}, running.mean, running.variance, true, {.momentum = 0.25});
    // means 4 and 20; sums of squares about them 26 and 600
    CHECK(near(running.mean.to_vector<double>(), {1.75, 5}, 1e-15));
    CHECK(near(running.variance.to_vector<double>(), {0.75 + 0.25 * 13, 0.75 + 0.25 * 300}, 1e-13));
    const Tensor before = running.mean.clone();
    batch_norm(x, {}, {}, running.mean, running.variance, false);
    CHECK(running.mean.to_vector<double>() == before.to_vector<double>());
  }
}

TEST_CASE("batch_norm accepts momentum 0 and 1 and applies it in double") {
  const Tensor x = tensor({{2, 0}, {6, 4}}, Dtype::f64);  // means 4 and 2, variances 8
  for (const double momentum : {0.0, 0.1, 1.0}) {
    const Statistics running{tensor({1, 2}, Dtype::f64), tensor({3, 8}, Dtype::f64)};
    batch_norm(x, {}, {}, running.mean, running.variance, true, {momentum, 0});
    CHECK(near(running.mean.to_vector<double>(), {1 + momentum * 3, 2}, 1e-15));
    CHECK(near(running.variance.to_vector<double>(), {3 + momentum * 5, 8}, 2e-15));
  }
}

TEST_CASE("parameter gradients of norms are summed in chunks of rows") {
  // To 2²⁴ an f32 adds no 1; the rows after the first chunk add up to enough by themselves.
  const std::int64_t kRows = 2048, kLength = 64, kChunk = rows_grain(kLength);
  const Tensor weight = ones({kLength}, Dtype::f32).requires_grad_(),
               bias = zeros({kLength}, Dtype::f32).requires_grad_();
  Tensor dy = ones({kRows, kLength}, Dtype::f32);
  Tensor first = slice(dy, 0, 0, 1);
  first.fill_(0x1p24);
  layer_norm(randn({kRows, kLength}, Dtype::f32), weight, bias).backward(dy);
  const std::vector<float> wanted(kLength, 0x1p24f + static_cast<float>(kRows - kChunk));
  CHECK(bias.grad().to_vector<float>() == wanted);
}

TEST_CASE("batch_norm in evaluation uses the running statistics") {
  const Tensor x = tensor({{3, 5}}, Dtype::f64);
  const Tensor y =
      batch_norm(x, tensor({2, 1}, Dtype::f64), tensor({0, 7}, Dtype::f64),
                 tensor({1, 5}, Dtype::f64), tensor({4, 9}, Dtype::f64), false, {0.1, 0});
  CHECK(near(y.to_vector<double>(), {2, 7}, 1e-15));
}

TEST_CASE("layer_norm and rms_norm refuse wrong arguments and report them") {
  const Tensor x = ones({2, 3}), v = ones({3}), wide = ones({4}), wrong = ones({3}, Dtype::f64);
  CHECK(says(message_of<ShapeError>([&] { layer_norm(x, wide); }),
             {"layer_norm", "[2, 3]", "weight [4]", "[3]"}));
  CHECK(says(message_of<ShapeError>([&] { layer_norm(x, v, wide); }), {"layer_norm", "bias [4]"}));
  CHECK(
      says(message_of<DtypeError>([&] { layer_norm(x, v, wrong); }), {"layer_norm", "f32", "f64"}));
  CHECK(says(message_of<ShapeError>([] { layer_norm(tensor(1.0)); }), {"layer_norm", "[]"}));
  CHECK(says(message_of<ValueError>([&] { layer_norm(x, v, v, -1); }), {"layer_norm: eps is -1"}));
  CHECK(says(message_of<ValueError>([] { layer_norm(Tensor()); }), {"layer_norm", "undefined"}));
  CHECK(says(message_of<DtypeError>([] { layer_norm(arange(3)); }), {"layer_norm", "i64"}));
  CHECK(says(message_of<DtypeError>([] { rms_norm(arange(3)); }), {"rms_norm", "i64"}));
  CHECK(says(message_of<ShapeError>([&] { rms_norm(x, wide); }), {"rms_norm", "[2, 3]", "[4]"}));
  CHECK(says(message_of<DtypeError>([&] { rms_norm(x, wrong); }), {"rms_norm", "f32", "f64"}));
  CHECK(says(message_of<ValueError>([&] { rms_norm(x, v, std::nan("")); }), {"rms_norm: eps is"}));
  CHECK(says(message_of<ValueError>([] { rms_norm(Tensor()); }), {"rms_norm", "undefined"}));
}

TEST_CASE("batch_norm refuses wrong arguments and reports them") {
  const Tensor x = ones({2, 3}), v = ones({3}), wide = ones({4});
  const auto train = [](const Tensor& in, const Tensor& w, double momentum) {
    return batch_norm(in, w, {}, {}, {}, true, {.momentum = momentum});
  };
  CHECK(says(message_of<ShapeError>([&] { train(x, wide, 0.1); }),
             {"batch_norm", "[2, 3]", "weight [4]", "[3]"}));
  CHECK(says(message_of<ShapeError>([&] { train(ones({3}), v, 0.1); }),
             {"batch_norm", "[3]", "[N, C, L]"}));
  CHECK(says(message_of<ValueError>([&] { train(x, v, 1.5); }), {"batch_norm: momentum is 1.5"}));
  CHECK(says(message_of<ValueError>([&] {
               train(ones({1, 3}), v, 0.1);
             }),
             {"batch_norm", "[1, 3]"}));
  CHECK(says(message_of<ValueError>([&] { batch_norm(x, v, v, {}, v, false); }), {"running_mean"}));
  CHECK(says(message_of<ShapeError>([&] { batch_norm(x, v, v, wide, v, true); }),
             {"running_mean [4]"}));
  CHECK(says(message_of<DtypeError>([&] { batch_norm(x, v, v, v, ones({3}, Dtype::f64), true); }),
             {"batch_norm", "running_var", "f64"}));
}

TEST_CASE("norms have the same bits with one thread and two") {
  const int threads = num_threads();
  const Tensor x = randn({1021, 67}, Dtype::f32), dy = randn({1021, 67}, Dtype::f32);
  for (const int which : {0, 1, 2}) {
    std::vector<std::vector<float>> results;
    for (const int n : {1, 2}) {
      set_num_threads(n);
      const Tensor leaf = x.clone().requires_grad_();
      const Tensor w = ones({67}, Dtype::f32).requires_grad_(),
                   b = zeros({67}, Dtype::f32).requires_grad_();
      const Tensor y = which == 0   ? layer_norm(leaf, w, b)
                       : which == 1 ? rms_norm(leaf, w)
                                    : batch_norm(leaf, w, b, {}, {}, true);
      y.backward(dy);
      std::vector<float> all = y.to_vector<float>();
      for (const Tensor& g : {leaf.grad(), w.grad()}) {
        const std::vector<float> part = g.to_vector<float>();
        all.insert(all.end(), part.begin(), part.end());
      }
      results.push_back(all);
    }
    CHECK(results[0] == results[1]);
  }
  set_num_threads(threads);
}

}  // namespace gradus::testing
