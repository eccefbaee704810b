#include <array>
#include <cmath>
#include <functional>
#include <memory>

#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/registry.h"
#include "gradus/train/optim/muon.h"
#include "gradus/train/optim/optim.h"

namespace gradus::testing::test_optim_law {
namespace {

using List = std::vector<double>;
using Made = std::unique_ptr<optim::Optimizer>;

enum class Rule { sgd, momentum, nesterov, adam, adamw, lion, muon, mud };
enum class Clip { none, norm, value };

/// Options of the second parameter group. Negative values select the defaults.
struct Own {
  double rate = -1, decay = -1;
  bool any() const { return rate >= 0 || decay >= 0; }
};

struct Setup {
  Rule rule;
  Clip clip;
  double decay;
  Own own;
  bool schedule;
  int accumulate;
  bool in_backward, stops;  // stops: each step uses a new optimizer with restored state
  bool turns_matrices() const { return rule == Rule::muon || rule == Rule::mud; }
};

constexpr double kRate = 0.1, kAdamRate = 0.05;
constexpr double kMomentum = 0.9, kBeta1 = 0.8, kBeta2 = 0.95, kEps = 1e-3, kNorm = 1.5,
                 kValue = 0.7;
// The sizes of the matrix parameter. The other parameter is a vector.
constexpr std::int64_t kRows = 3, kColumns = 2;
constexpr int kSteps = 4;

std::vector<optim::Group> groups_of(const Setup& s, const std::vector<nn::NamedTensor>& all) {
  if (!s.own.any() && !s.turns_matrices()) return {{all}};
  return {{{all[0]}}, {{all[1]}, s.own.rate, s.own.decay}};
}

Made make(const Setup& s, const std::vector<nn::NamedTensor>& all) {
  const std::vector<optim::Group> groups = groups_of(s, all);
  const optim::AdamOptions adam{kRate, {kBeta1, kBeta2}, kEps, s.decay};
  switch (s.rule) {
    case Rule::adam:
      return std::make_unique<optim::Adam>(groups, adam);
    case Rule::adamw:
      return std::make_unique<optim::AdamW>(
          groups, optim::AdamWOptions{kRate, {kBeta1, kBeta2}, kEps, s.decay});
    case Rule::lion:
      return std::make_unique<optim::Lion>(groups,
                                           optim::LionOptions{kRate, {kBeta1, kBeta2}, s.decay});
    case Rule::muon:
    case Rule::mud:
      return std::make_unique<optim::Muon>(
          groups[0], groups[1],
          optim::MuonOptions{.lr = kRate,
                             .momentum = kMomentum,
                             .weight_decay = s.decay,
                             .adam = {kAdamRate, {kBeta1, kBeta2}, kEps},
                             .orthogonalizer = s.rule == Rule::mud
                                                   ? optim::Orthogonalizer::mud
                                                   : optim::Orthogonalizer::newton_schulz});
    default:
      return std::make_unique<optim::SGD>(
          groups, optim::SGDOptions{kRate, s.rule == Rule::sgd ? 0 : kMomentum, s.decay,
                                    s.rule == Rule::nesterov});
  }
}

struct Plain {
  List p, m, v;
  double rate, decay;
  bool matrix;
};

List times(const List& a, const List& b, std::size_t rows, std::size_t columns, bool turned) {
  const std::size_t width = turned ? rows : columns, depth = turned ? columns : rows;
  List out(rows * width);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < width; ++j)
      for (std::size_t k = 0; k < depth; ++k)
        out[i * width + j] += a[i * depth + k] * (turned ? b[j * depth + k] : b[k * width + j]);
  return out;
}

List orthogonal(List x) {
  double norm = 0;
  for (const double each : x) norm += each * each;
  for (double& each : x) each /= std::sqrt(norm);
  for (int i = 0; i < 5; ++i) {
    const List gram = times(x, x, kRows, kColumns, true),
               once = times(gram, x, kRows, kColumns, false),
               twice = times(gram, once, kRows, kColumns, false);
    for (std::size_t k = 0; k < x.size(); ++k)
      x[k] = 3.4445 * x[k] - 4.7750 * once[k] + 2.0315 * twice[k];
  }
  return x;
}

/// Normalizes each column, subtracts its components along earlier columns, and renormalizes it.
List decorrelated(List x) {
  const auto dot = [&](const List& a, const List& b, std::size_t i, std::size_t j) {
    double sum = 0;
    for (std::size_t r = 0; r < kRows; ++r) sum += a[r * kColumns + i] * b[r * kColumns + j];
    return sum;
  };
  const auto normalize = [&] {
    for (std::size_t j = 0; j < kColumns; ++j) {
      const double length = std::sqrt(dot(x, x, j, j));
      for (std::size_t r = 0; r < kRows; ++r) x[r * kColumns + j] /= length;
    }
  };
  normalize();
  const List q = x;
  for (std::size_t i = 0; i < kColumns; ++i)
    for (std::size_t j = 0; j < i; ++j)
      for (std::size_t r = 0; r < kRows; ++r)
        x[r * kColumns + i] -= dot(q, q, i, j) * x[r * kColumns + j];
  normalize();
  return x;
}

/// Updates x as in the papers. g must already be clipped; t counts from 1.
void update(const Setup& s, Plain& x, const List& g, double factor, int t) {
  const double lr = x.rate * factor, wd = x.decay;
  List direction;
  for (std::size_t i = 0; i < g.size() && s.turns_matrices() && x.matrix; ++i) {
    x.m[i] = kMomentum * x.m[i] + (1 - kMomentum) * g[i];
    direction.push_back((1 - kMomentum) * g[i] + kMomentum * x.m[i]);
  }
  if (!direction.empty())
    direction = s.rule == Rule::mud ? decorrelated(direction) : orthogonal(direction);
  for (std::size_t i = 0; i < g.size(); ++i) {
    double &p = x.p[i], &m = x.m[i], &v = x.v[i];
    if (!direction.empty()) {
      p -= lr * (wd * p + std::sqrt(double(kRows) / kColumns) * direction[i]);
    } else if (s.rule == Rule::lion) {
      const double mixed = kBeta1 * m + (1 - kBeta1) * g[i];
      p -= lr * ((mixed > 0) - (mixed < 0) + wd * p);
      m = kBeta2 * m + (1 - kBeta2) * g[i];
    } else if (s.rule <= Rule::nesterov) {
      const double d = g[i] + wd * p;
      m = s.rule == Rule::sgd ? d : kMomentum * m + d;
      p -= lr * (s.rule == Rule::nesterov ? d + kMomentum * m : m);
    } else {
      const bool decoupled = s.rule != Rule::adam;
      const double d = decoupled ? g[i] : g[i] + wd * p;
      m = kBeta1 * m + (1 - kBeta1) * d, v = kBeta2 * v + (1 - kBeta2) * d * d;
      const double step =
          m / (1 - std::pow(kBeta1, t)) / (std::sqrt(v / (1 - std::pow(kBeta2, t))) + kEps);
      p -= lr * (step + (decoupled ? wd * p : 0));
    }
  }
}

void clip(const Setup& s, std::array<List, 2>& g) {
  double squares = 0;
  for (const List& one : g)
    for (const double each : one) squares += each * each;
  const double scale = std::min(1.0, kNorm / (std::sqrt(squares) + 1e-6));
  for (List& one : g)
    for (double& each : one)
      each = s.clip == Clip::norm    ? each * scale
             : s.clip == Clip::value ? std::clamp(each, -kValue, kValue)
                                     : each;
}

/// Returns the constants c of the loss Σ c p + ½ p², whose gradient is c + p.
Tensor constants(const Tensor& p, int step, int k) {
  return values(p.shape(), 10 * step + 3 * k + (p.rank() == 2 ? 1 : 2));
}

struct Both {
  Tensor matrix = values({kRows, kColumns}, 50).clone().requires_grad_();
  Tensor vector = values({5}, 51).clone().requires_grad_();
  std::vector<nn::NamedTensor> parameters() const { return {{"w", matrix}, {"b", vector}}; }

  Tensor loss(int step, int k) const {
    Tensor total = zeros({}, Dtype::f64);
    for (const Tensor& p : {matrix, vector})
      total = total + sum(constants(p, step, k) * p) + 0.5 * sum(square(p));
    return total;
  }
};

double factor_of(const Setup& s, int step) { return s.schedule ? 1.0 / (step + 2) : 1.0; }

void library_step(const Setup& s, Both& x, optim::Optimizer& optimizer, int step) {
  optimizer.zero_grad();
  if (s.in_backward) optimizer.step_in_backward(factor_of(s, step));
  for (int k = 0; k < s.accumulate; ++k) (x.loss(step, k) / double(s.accumulate)).backward();
  if (s.in_backward) return;
  if (s.clip == Clip::value) optim::clip_grad_value(x.parameters(), kValue);
  optimizer.step({.clip_norm = s.clip == Clip::norm ? kNorm : 0, .factor = factor_of(s, step)});
}

void plain_step(const Setup& s, const Both& x, std::array<Plain, 2>& plain, int step) {
  std::array<List, 2> g;
  for (std::size_t i = 0; i < 2; ++i) {
    g[i].resize(plain[i].p.size());
    for (int k = 0; k < s.accumulate; ++k) {
      const List c = constants(i == 0 ? x.matrix : x.vector, step, k).to_vector<double>();
      for (std::size_t j = 0; j < c.size(); ++j) g[i][j] += (c[j] + plain[i].p[j]) / s.accumulate;
    }
  }
  clip(s, g);
  for (std::size_t i = 0; i < 2; ++i) update(s, plain[i], g[i], factor_of(s, step), step + 1);
}

std::array<Plain, 2> plain_of(const Setup& s, const Both& x) {
  std::array<Plain, 2> out;
  for (std::size_t i = 0; i < 2; ++i) {
    const List p = (i == 0 ? x.matrix : x.vector).to_vector<double>();
    out[i] = {p, List(p.size()), List(p.size()), kRate, s.decay, i == 0};
  }
  if (s.turns_matrices()) out[1].rate = kAdamRate;
  if (s.own.rate >= 0) out[1].rate = s.own.rate;
  if (s.own.decay >= 0) out[1].decay = s.own.decay;
  return out;
}

std::map<std::string, Tensor> copy_of_state(const optim::Optimizer& optimizer) {
  std::map<std::string, Tensor> copy;
  for (const auto& [name, tensor] : optimizer.state_dict()) copy[name] = tensor.clone();
  return copy;
}

void walk(const Setup& s) {
  CAPTURE(int(s.rule), int(s.clip), s.decay, s.own.rate, s.own.decay, s.schedule, s.accumulate,
          s.in_backward, s.stops);
  Both x;
  std::array<Plain, 2> plain = plain_of(s, x);
  Made optimizer = make(s, x.parameters());
  for (int step = 0; step < kSteps; ++step) {
    plain_step(s, x, plain, step);
    library_step(s, x, *optimizer, step);
    for (std::size_t i = 0; i < 2; ++i) {
      const List now = (i == 0 ? x.matrix : x.vector).to_vector<double>();
      // Each step has about 30 rounding errors of 2⁻⁵³. They are magnified by a few hundred, either
      // by five Newton-Schulz iterations with slopes up to 3.4, or by Adam's 1 / eps if v is small.
      for (std::size_t j = 0; j < now.size(); ++j)
        CHECK(std::abs(now[j] - plain[i].p[j]) <= 1e-12 * (1 + std::abs(now[j])));
    }
    if (!s.stops) continue;
    const std::map<std::string, Tensor> state = copy_of_state(*optimizer);
    optimizer = make(s, x.parameters());
    optimizer->load_state_dict(state);
  }
}

TEST_CASE("each optimizer follows its formula under every combination of options", "[kernel]") {
  for (const Rule rule : {Rule::sgd, Rule::momentum, Rule::nesterov, Rule::adam, Rule::adamw,
                          Rule::lion, Rule::muon, Rule::mud})
    for (const double decay : {0.0, 0.3})
      for (const Own own : {Own{}, Own{0.03, 0.4}, Own{-1, 0}, Own{0, -1}})
        for (const bool schedule : {false, true})
          for (const bool stops : {false, true}) {
            walk({rule, Clip::none, decay, own, schedule, 1, true, stops});
            for (const Clip clip : {Clip::none, Clip::norm, Clip::value})
              for (const int accumulate : {1, 3})
                walk({rule, clip, decay, own, schedule, accumulate, false, stops});
          }
}

}  // namespace
}  // namespace gradus::testing::test_optim_law
