// Each rule is one pass over a piece. This file is compiled for every vector width
// (tools/cmake/GradusLibrary.cmake).
#include <cmath>

#include "gradus/engine/base/math64.h"
#include "gradus/train/optim/optim.h"
#include "gradus/train/optim/stages.h"

namespace gradus::optim {
namespace {

void check_betas(const char* name, const std::array<double, 2>& betas) {
  for (const double beta : betas)
    require(0 <= beta && beta < 1, name, ": betas must be in [0, 1), got ", betas[0], " and ",
            betas[1]);
}

/// `nesterov` is a template parameter, because a branch in the loop would prevent vectorization.
template <class T, bool nesterov>
GRADUS_INLINE void sgd_kernel(T* p, const T* g, T* velocity, std::int64_t n,
                              std::array<double, 4> constants) {
  const auto [rate, scale, decay, momentum] = as<T>(constants);
  for (std::int64_t i = 0; i < n; ++i) {
    const T gradient = g[i] * scale + decay * p[i];
    velocity[i] = momentum * velocity[i] + gradient;
    p[i] -= rate * (nesterov ? gradient + momentum * velocity[i] : velocity[i]);
  }
}

template <class T>
GRADUS_INLINE void plain_sgd_kernel(T* p, const T* g, std::int64_t n,
                                    std::array<double, 4> constants) {
  const auto [rate, scale, decay, momentum] = as<T>(constants);
  for (std::int64_t i = 0; i < n; ++i) p[i] -= rate * (g[i] * scale + decay * p[i]);
}

template <class T>
GRADUS_INLINE void adam_kernel(T* p, const T* g, T* m, T* v, std::int64_t n,
                               std::array<double, 10> constants) {
  const auto [scale, decay, keep, b1, new1, b2, new2, size, correction, eps] = as<T>(constants);
  for (std::int64_t i = 0; i < n; ++i) {
    const T gradient = g[i] * scale + decay * p[i];
    const T mean = b1 * m[i] + new1 * gradient, square = b2 * v[i] + new2 * gradient * gradient;
    m[i] = mean;
    v[i] = square;
    p[i] = p[i] * keep - size * mean / (std::sqrt(square) * correction + eps);
  }
}

template <class T>
GRADUS_INLINE void lion_kernel(T* p, const T* g, T* m, std::int64_t n,
                               std::array<double, 7> constants) {
  const auto [scale, keep, b1, new1, b2, new2, size] = as<T>(constants);
  for (std::int64_t i = 0; i < n; ++i) {
    const T gradient = g[i] * scale, mixed = b1 * m[i] + new1 * gradient;
    const T sign = mixed > 0 ? T(1) : (mixed < 0 ? T(-1) : T(0));
    p[i] = p[i] * keep - size * sign;
    m[i] = b2 * m[i] + new2 * gradient;
  }
}

}  // namespace

SGD::SGD(std::vector<Group> groups, const SGDOptions& options)
    : Optimizer(std::move(groups), options.lr, options.weight_decay,
                {options.momentum != 0 ? GroupState{{"velocity"}} : GroupState{}}),
      options_(options) {
  require(options.momentum >= 0 && options.momentum < 1, "SGD: momentum must be in [0, 1), got ",
          options.momentum);
  require(!options.nesterov || options.momentum > 0, "SGD: nesterov needs a momentum above 0");
}

void SGD::update(const Piece& piece) const {
  const std::array constants{piece.learning_rate, piece.scale, piece.group->weight_decay,
                             options_.momentum};
  dispatch_float("SGD", piece.parameter.dtype(), [&]<class T>() {
    T* p = elements<T>(piece.parameter);
    const T* g = piece.gradient.data<T>();
    const std::int64_t n = piece.parameter.numel();
    if (piece.state.empty()) return simd::run<plain_sgd_kernel<T>>(p, g, n, constants);
    T* velocity = elements<T>(piece.state[0]);
    if (options_.nesterov) return simd::run<sgd_kernel<T, true>>(p, g, velocity, n, constants);
    simd::run<sgd_kernel<T, false>>(p, g, velocity, n, constants);
  });
}

Adam::Adam(std::vector<Group> groups, const AdamOptions& options, bool decoupled)
    : Optimizer(std::move(groups), options.lr, options.weight_decay,
                {GroupState{{"exp_avg", "exp_avg_sq"}}}),
      options_(options),
      decoupled_(decoupled) {
  check_adam("Adam", options);
}

void check_adam(const char* optimizer, const AdamOptions& options) {
  check_betas(optimizer, options.betas);
  require(options.eps > 0, optimizer, ": eps must be positive, got ", options.eps);
}

void adam_update(const Piece& piece, const AdamOptions& options, bool decoupled, std::int64_t t) {
  const double steps = static_cast<double>(t), decay = piece.group->weight_decay;
  const auto [beta1, beta2] = options.betas;
  const std::array constants{piece.scale,
                             decoupled ? 0 : decay,
                             decoupled ? 1 - piece.learning_rate * decay : 1,
                             beta1,
                             1 - beta1,
                             beta2,
                             1 - beta2,
                             piece.learning_rate / (1 - math64::pow(beta1, steps)),
                             1 / std::sqrt(1 - math64::pow(beta2, steps)),
                             options.eps};
  dispatch_float("Adam", piece.parameter.dtype(), [&]<class T>() {
    simd::run<adam_kernel<T>>(elements<T>(piece.parameter), piece.gradient.data<T>(),
                              elements<T>(piece.state[0]), elements<T>(piece.state[1]),
                              piece.parameter.numel(), constants);
  });
}

void Adam::update(const Piece& piece) const { adam_update(piece, options_, decoupled_, steps_); }

Lion::Lion(std::vector<Group> groups, const LionOptions& options)
    : Optimizer(std::move(groups), options.lr, options.weight_decay, {GroupState{{"exp_avg"}}}),
      options_(options) {
  check_betas("Lion", options.betas);
}

void Lion::update(const Piece& piece) const {
  const auto [beta1, beta2] = options_.betas;
  const std::array constants{piece.scale,
                             1 - piece.learning_rate * piece.group->weight_decay,
                             beta1,
                             1 - beta1,
                             beta2,
                             1 - beta2,
                             piece.learning_rate};
  dispatch_float("Lion", piece.parameter.dtype(), [&]<class T>() {
    simd::run<lion_kernel<T>>(elements<T>(piece.parameter), piece.gradient.data<T>(),
                              elements<T>(piece.state[0]), piece.parameter.numel(), constants);
  });
}

}  // namespace gradus::optim
