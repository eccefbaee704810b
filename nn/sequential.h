// Sequential: layers and functions, one after the other.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "gradus/nn/feed_forward.h"
#include "gradus/nn/module_list.h"

namespace gradus::nn {

/// What can stand in a Sequential: a layer Tensor → Tensor (given away), or a function.
template <class S>
concept SequentialLayer = GivenModule<S> && std::is_invocable_r_v<Tensor, const S&, const Tensor&>;
template <class S>
concept SequentialFunction = !std::derived_from<std::remove_cvref_t<S>, Module> &&
                             std::is_invocable_r_v<Tensor, const S&, const Tensor&>;
template <class S>
concept SequentialStep =
    SequentialLayer<S> || SequentialFunction<S> || std::same_as<std::remove_cvref_t<S>, Activation>;

/// f_n(… f_2(f_1(x))). Members are called "0", "1", … by their place; functions take a place too,
/// as activations do in PyTorch. A function with further arguments needs a lambda, or an
/// Activation:
///
///   nn::Sequential net(nn::Linear(2, 16), relu, nn::Linear(16, 16), nn::Activation::gelu_tanh, …);
class Sequential : public Layer<Sequential> {
 public:
  Sequential() = default;
  template <SequentialStep... Steps>
  requires(sizeof...(Steps) > 0) explicit Sequential(Steps&&... steps) {
    (add(std::forward<Steps>(steps)), ...);
  }

  template <SequentialLayer M>
  void add(M&& layer) {
    steps_.push_back(step_of(std::forward<M>(layer)));
  }
  template <SequentialFunction F>
  void add(F&& function) {
    steps_.push_back({std::forward<F>(function), nullptr, {}});
  }
  void add(Activation activation);

  std::size_t size() const { return steps_.size(); }
  Tensor forward(const Tensor& x) const;
  Members members() override;
  Sequential same_architecture() const;

 private:
  struct Step {
    std::function<Tensor(const Tensor&)> run;
    std::unique_ptr<Module> layer;  // null for a function
    /// The same with a layer of its own; null for a function.
    std::function<Step()> same_architecture;
  };
  template <class M>
  static Step step_of(M layer) {
    auto owned = std::make_unique<M>(std::move(layer));
    const M* at = owned.get();
    return {[at](const Tensor& x) { return (*at)(x); }, std::move(owned),
            [at] { return step_of(blank_of(*at)); }};
  }

  std::vector<Step> steps_;
};

}  // namespace gradus::nn
