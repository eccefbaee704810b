// The fault zoo for other checkers: gradcheck.py asks for the values and the wrong gradients of its
// beasts, one line a question on standard input, one line an answer on standard output.
//
//   list                         → as many lines as there are beasts, then an empty one:
//                                  name, family, cause, order, shape:values;…, tabs between
//   forward NUMBER x…            → shape:values
//   backward NUMBER x… | dy…     → one number a number of x
//
// x are the values of all inputs that are differentiable, one after the other.
#include <cstdint>
#include <cstdio>
#include <functional>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "gradus/base/parallel.h"
#include "gradus/engine/backward.h"
#include "gradus/ops/members.h"
#include "gradus/tests/check/tensor_zoo.h"
#include "gradus/tests/check/zoo.h"

namespace gradus {
namespace {

using Numbers = std::vector<double>;
struct Array {
  std::vector<std::int64_t> shape;
  Numbers values;
};

/// A beast of either kind as functions of its differentiable inputs.
struct Exhibit {
  std::string name, family, cause;
  int order = 1;
  std::vector<Array> inputs;
  std::function<Array(const Numbers& x)> forward;
  std::function<Numbers(const Numbers& x, const Numbers& dy)> backward;
};

Exhibit exhibit(const raw_cases::Beast& beast, const std::string& family) {
  Exhibit e{beast.name, family, beast.cause, 1, {}, {}, {}};
  const std::vector<check::Input> inputs = beast.subject.inputs;
  for (const check::Input& each : inputs) {
    const auto size = static_cast<std::int64_t>(each.values.size());
    if (each.differentiable)
      e.inputs.push_back({each.shape.empty() ? std::vector{size} : each.shape, each.values});
  }
  const auto arguments = [inputs](const Numbers& x) {
    check::Arguments out;
    auto next = x.begin();
    for (const check::Input& each : inputs) {
      out.push_back(each.values);
      if (each.differentiable)
        for (double& value : out.back()) value = *next++;
    }
    return out;
  };
  e.forward = [beast, arguments](const Numbers& x) {
    const Numbers y = beast.subject.forward(arguments(x));
    std::vector<std::int64_t> shape{static_cast<std::int64_t>(y.size())};
    for (std::size_t i = 0; i < beast.output_shape.size(); ++i) {
      if (i == 0) shape.clear();
      shape.push_back(static_cast<std::int64_t>(beast.output_shape[i]));
    }
    return Array{shape, y};
  };
  e.backward = [beast, arguments, inputs](const Numbers& x, const Numbers& dy) {
    const check::Arguments in = arguments(x);
    check::Arguments dx = beast.subject.vjp(in, dy);
    beast.spoil(dx, in, dy);
    Numbers out;
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (inputs[k].differentiable) out.insert(out.end(), dx[k].begin(), dx[k].end());
    return out;
  };
  return e;
}

Array array_of(const Tensor& x) {
  return {{x.shape().begin(), x.shape().end()}, x.to(Dtype::f64).to_vector<double>()};
}

Exhibit exhibit(const tensor_zoo::Beast& beast) {
  Exhibit e{beast.name, "tensors", beast.cause, beast.second ? 2 : 1, {}, {}, {}};
  const tensor_zoo::Tensors inputs = beast.host.inputs;
  for (const Tensor& each : inputs)
    if (is_float(each.dtype())) e.inputs.push_back(array_of(each));
  const auto leaves = [inputs](const Numbers& x) {
    tensor_zoo::Tensors out;
    auto next = x.begin();
    for (const Tensor& each : inputs) {
      if (!is_float(each.dtype())) {
        out.push_back(each);
        continue;
      }
      const auto end = next + each.numel();
      out.push_back(tensor(Numbers(next, end), each.shape()).requires_grad_());
      next = end;
    }
    return out;
  };
  e.forward = [beast, leaves](const Numbers& x) { return array_of(beast.host.forward(leaves(x))); };
  e.backward = [beast, leaves](const Numbers& x, const Numbers& upstream) {
    tensor_zoo::Tensors in = leaves(x), wanted, dx;
    const Tensor y = beast.host.forward(in);
    const Tensor dy = tensor(upstream, y.shape());
    for (const Tensor& each : in)
      if (each.requires_grad()) wanted.push_back(each);
    if (beast.wrong)
      dx = beast.wrong(in, dy);
    else
      dx = grad({y}, wanted, {dy}, {.allow_unused = true});
    Numbers out;
    for (std::size_t k = 0, i = 0; k < in.size(); ++k) {
      if (!in[k].requires_grad()) continue;
      const Tensor& d = beast.wrong ? dx[k] : dx[i++];
      const Numbers part =
          d.defined() ? d.to_vector<double>() : Numbers(static_cast<std::size_t>(in[k].numel()));
      out.insert(out.end(), part.begin(), part.end());
    }
    return out;
  };
  return e;
}

void print(const Numbers& values) {
  for (const double value : values) std::printf(" %.17g", value);
}

void print(const Array& array) {
  for (const std::int64_t n : array.shape) std::printf(" %lld", static_cast<long long>(n));
  std::printf(":");
  print(array.values);
}

void list(const std::vector<Exhibit>& zoo) {
  for (const Exhibit& e : zoo) {
    std::printf("%s\t%s\t%s\t%d\t", e.name.c_str(), e.family.c_str(), e.cause.c_str(), e.order);
    for (std::size_t k = 0; k < e.inputs.size(); ++k) {
      std::printf("%s", k ? ";" : "");
      print(e.inputs[k]);
    }
    std::printf("\n");
  }
  std::printf("\n");
}

void answer(const std::vector<Exhibit>& zoo, const std::string& question) {
  std::istringstream words(question);
  std::string what, word;
  std::size_t number = 0;
  Numbers x, dy;
  words >> what;
  if (what == "list") return list(zoo);
  words >> number;
  for (Numbers* to = &x; words >> word;)
    if (word == "|")
      to = &dy;
    else
      to->push_back(std::stod(word));
  if (what == "forward")
    print(zoo.at(number).forward(x));
  else
    print(zoo.at(number).backward(x, dy));
  std::printf("\n");
}

int serve() {
  set_num_threads(1);
  std::vector<Exhibit> zoo;
  for (const auto& beast : raw_cases::elementwise_beasts()) zoo.push_back(exhibit(beast, "plain"));
  for (const auto& beast : raw_cases::norm_beasts()) zoo.push_back(exhibit(beast, "plain"));
  for (const auto& beast : raw_cases::product_beasts()) zoo.push_back(exhibit(beast, "plain"));
  for (const auto& beast : raw_cases::indexing_beasts()) zoo.push_back(exhibit(beast, "plain"));
  for (const auto& beast : tensor_zoo::all_beasts()) zoo.push_back(exhibit(beast));
  for (std::string question; std::getline(std::cin, question);) {
    try {
      answer(zoo, question);
    } catch (const std::exception& error) {
      std::printf("error %s\n", error.what());
    }
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace gradus

int main() { return gradus::serve(); }
