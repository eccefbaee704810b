#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "gradus/nn/feed_forward.h"
#include "gradus/nn/module_list.h"

namespace gradus::nn {

/// A step of a Sequential: a layer from Tensor to Tensor, or a function.
template <class S>
concept SequentialLayer = ModuleArg<S> && std::is_invocable_r_v<Tensor, const S&, const Tensor&>;
template <class S>
concept SequentialFunction = !std::derived_from<std::remove_cvref_t<S>, Module> &&
                             std::is_invocable_r_v<Tensor, const S&, const Tensor&>;
template <class S>
concept SequentialStep =
    SequentialLayer<S> || SequentialFunction<S> || std::same_as<std::remove_cvref_t<S>, Activation>;

/// f_n(… f_2(f_1(x))). Steps are named "0", "1", …, as in PyTorch. Wrap a function with more
/// arguments in a lambda, or use an Activation:
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
    const auto call = [](const Module& m, const Tensor& x) -> Tensor {
      return static_cast<const M&>(m)(x);
    };
    steps_.push_back({{}, std::make_unique<M>(std::forward<M>(layer)), call});
  }
  template <SequentialFunction F>
  void add(F&& function) {
    steps_.push_back({std::forward<F>(function), nullptr, nullptr});
  }
  void add(Activation activation);

  std::size_t size() const { return steps_.size(); }
  Tensor forward(const Tensor& x) const;
  Members members() override;
  Sequential same_architecture() const;

 private:
  struct Step {
    std::function<Tensor(const Tensor&)> function;
    std::unique_ptr<Module> layer;  // null if the step is a function
    Tensor (*call)(const Module& layer, const Tensor& x);
  };

  std::vector<Step> steps_;
};

}  // namespace gradus::nn
