// Makes samples of layers. Parameters become inputs as shared handles, so that gradients reach
// them.
#pragma once

#include <initializer_list>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include "gradus/engine/base/random.h"
#include "gradus/nn/module.h"
#include "gradus/ops/create.h"
#include "gradus/tests/support/naive.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing {

using naive::numbers;
template <class T>
using Parameters = std::vector<List<T>>;  // in the order of members()

/// Replaces the module's parameters, in order, with the inputs from `next` on. Converts buffers to
/// the inputs' dtype. In training mode, inputs that require no gradient become new leaves, because
/// modules require leaves.
inline void take_parameters(nn::Module& m, const Inputs& in, std::size_t& next) {
  for (const nn::Member& member : m.members()) {
    if (Tensor* p = member.parameter(); p && p->defined()) {
      const Tensor& given = in[next++];
      *p = m.training() && !given.requires_grad() ? nn::parameter(given.clone()) : given;
    }
    if (Tensor* b = member.buffer(); b && b->defined()) *b = b->to(in[0].dtype());
    for (const auto& child : member.children()) take_parameters(*child.second, in, next);
  }
}

/// Returns small values, so that no softmax saturates.
inline Tensor parameter_values(const Shape& shape, int which) {
  List<double> x = numbers(values(shape, which));
  for (double& each : x) each *= 0.5;
  return tensor(x, shape);
}

enum class Phase { training, evaluation };

/// `make` constructs the layer and `call` calls it. Random values come from a separate generator.
template <class Make, class Call, class Reference>
Sample layer(const char* op, std::string what, Inputs data, Make make, Call call,
             Reference reference, Phase phase = Phase::evaluation) {
  const std::string type = typeid(decltype(make())).name();  // includes all namespaces
  const bool application = type.find("examples") != std::string::npos;
  const std::size_t given = data.size();
  int which = 3;
  for (const nn::NamedTensor& each : make().parameters())
    data.push_back(parameter_values(each.tensor.shape(), ++which));
  return {op,
          std::move(what),
          std::move(data),
          [=](const Inputs& in) {
            auto module = make();
            module.train(phase == Phase::training);
            std::size_t next = given;
            take_parameters(module, in, next);
            Generator seven(7);
            const GeneratorScope scope(seven);
            return call(module, in);
          },
          [=]<class T>(const Arguments<T>& in) {
            Parameters<T> p;
            for (std::size_t i = given; i < in.size(); ++i) p.push_back(numbers(in[i]));
            return reference(in, p);
          },
          {},
          true,
          true,
          false,
          (application ? "examples::" : "nn::") + make().type_name()};
}

constexpr auto call_one = [](const auto& module, const Inputs& in) { return module(in[0]); };

inline Tensor ids(std::initializer_list<std::int64_t> values, const Shape& shape) {
  return tensor(std::vector<std::int64_t>(values), shape);
}

}  // namespace gradus::testing
