// Computes the faulty ops for faulty_ops.py. Each line of input is a request, and each line of
// output a response. Tensors keep their memory layout, because faults may depend on strides or
// shared memory.
//
//   list                                    → one line per op, then an empty line:
//                                             name, family, cause, order, dtype, shape:values;…
//   forward NUMBER DTYPE RECORDED memory x…   → rank sizes… values…
//   backward NUMBER DTYPE WANTS POISON memory x… dy
//                                           → the memory afterwards; new blocks of the results'
//                                             memory, each with an id; the results
//
//   memory: number of blocks, then for each its size and values
//   x, dy:  block rank sizes… strides… offset; for results, -1 means none
#include <cstdint>
#include <cstdio>
#include <functional>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "gradus/engine/backward.h"
#include "gradus/engine/base/memory.h"
#include "gradus/engine/base/parallel.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/members.h"
#include "gradus/tests/check/faulty_ops.h"
#include "gradus/tests/check/faulty_tensor_ops.h"

namespace gradus {
namespace {

using Numbers = std::vector<double>;
using faulty_tensor_ops::Tensors;

struct Exhibit {
  std::string name, family, cause;
  int order = 1;
  Tensors inputs = {};
  std::function<Tensor(const Tensors& x)> forward = {};
  std::function<Tensors(const Tensors& x, const Tensor& dy)> backward = {};
};

Shape shape_of(const check::Dims& shape, std::size_t count, bool given) {
  if (!given) return {static_cast<std::int64_t>(count)};
  return Shape(std::span(shape));
}

Exhibit exhibit(const raw_cases::FaultyOp& faulty, const std::string& family) {
  Exhibit e{faulty.name, family, faulty.cause};
  const std::vector<check::Input> inputs = faulty.subject.inputs;
  for (const check::Input& each : inputs)
    if (each.differentiable)
      e.inputs.push_back(
          tensor(each.values, shape_of(each.shape, each.values.size(),
                                       !each.shape.empty() || each.values.size() == 1)));
  const auto arguments = [inputs](const Tensors& x) {
    check::Arguments out;
    auto next = x.begin();
    for (const check::Input& each : inputs)
      out.push_back(each.differentiable ? (*next++).to(Dtype::f64).to_vector<double>()
                                        : each.values);
    return out;
  };
  e.forward = [faulty, arguments](const Tensors& x) {
    const Numbers y = faulty.subject.forward(arguments(x));
    std::vector<std::int64_t> sizes;
    for (const auto n : faulty.output_shape) sizes.push_back(static_cast<std::int64_t>(n));
    return tensor(y, shape_of(sizes, y.size(), !sizes.empty())).to(x[0].dtype());
  };
  e.backward = [faulty, arguments, inputs](const Tensors& x, const Tensor& dy) {
    const check::Arguments in = arguments(x);
    const Numbers up = dy.to(Dtype::f64).to_vector<double>();
    check::Arguments dx = faulty.subject.vjp(in, up);
    faulty.spoil(dx, in, up);
    Tensors out;
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (inputs[k].differentiable)
        out.push_back(tensor(dx[k], x[out.size()].shape()).to(x[0].dtype()));
    return out;
  };
  return e;
}

Exhibit exhibit(const faulty_tensor_ops::FaultyOp& faulty) {
  Exhibit e{faulty.name, "tensors", faulty.cause, faulty.second ? 2 : 1};
  const Tensors inputs = faulty.host.inputs;
  for (const Tensor& each : inputs)
    if (is_float(each.dtype())) e.inputs.push_back(each);
  const auto all = [inputs](const Tensors& x) {
    Tensors out;
    auto next = x.begin();
    for (const Tensor& each : inputs) out.push_back(is_float(each.dtype()) ? *next++ : each);
    return out;
  };
  e.forward = [faulty, all](const Tensors& x) { return faulty.host.forward(all(x)); };
  e.backward = [faulty, all](const Tensors& x, const Tensor& dy) {
    const Tensors in = all(x);
    Tensors wanted, dx, out;
    for (const Tensor& each : in)
      if (each.requires_grad()) wanted.push_back(each);
    const Tensor y = faulty.host.forward(in);
    if (faulty.wrong)
      dx = faulty.wrong(in, dy);
    else if (y.requires_grad())
      dx = grad({y}, wanted, {dy}, {.allow_unused = true});
    for (std::size_t k = 0, i = 0; k < in.size(); ++k) {
      const Tensor found = faulty.wrong                             ? dx[k]
                           : in[k].requires_grad() && i < dx.size() ? dx[i++]
                                                                    : Tensor();
      if (is_float(in[k].dtype())) out.push_back(in[k].requires_grad() ? found : Tensor());
    }
    return out;
  };
  return e;
}

struct Memory {
  Tensors blocks, tensors;

  Memory(std::istream& in, Dtype dtype) {
    std::size_t count = 0;
    in >> count;
    for (std::size_t b = 0; b < count; ++b) {
      std::int64_t size = 0;
      in >> size;
      Numbers numbers(static_cast<std::size_t>(size));
      for (std::string word; double& number : numbers) {
        in >> word;
        number = std::stod(word);
      }
      blocks.push_back(tensor(numbers, {size}).to(dtype));
    }
    for (std::size_t block = 0; in >> block;) {
      int rank = 0;
      in >> rank;
      Shape sizes = Shape::filled(rank, 0);
      Strides strides = Strides::filled(rank, 0);
      std::int64_t offset = 0;
      for (int i = 0; i < rank; ++i) in >> sizes[i];
      for (int i = 0; i < rank; ++i) in >> strides[i];
      in >> offset;
      tensors.push_back(kernel::strided_view(blocks.at(block), sizes, strides, offset));
    }
  }
};

void print(const Numbers& values) {
  for (const double value : values) std::printf(" %.17g", value);
}

Numbers numbers_of(const Tensor& x) { return x.to(Dtype::f64).to_vector<double>(); }

void print_block(const Tensor& x) {
  const auto held = static_cast<std::int64_t>(x.storage()->bytes() / size_of(x.dtype()));
  std::printf(" %lld", static_cast<long long>(held));
  print(numbers_of(kernel::strided_view(x.detach(), {held}, {1}, 0)));
}

void print_tensor(const Tensor& x, long long block) {
  if (!x.defined()) block = -1;
  std::printf(" %lld", block);
  if (block < 0) return;
  std::printf(" %d", x.rank());
  for (int i = 0; i < x.rank(); ++i) std::printf(" %lld", static_cast<long long>(x.size(i)));
  for (int i = 0; i < x.rank(); ++i) std::printf(" %lld", static_cast<long long>(x.strides()[i]));
  std::printf(" %lld", static_cast<long long>(x.offset()));
}

/// Keeps results alive, because an address must identify one block.
struct Kept {
  std::size_t faulty = 0;
  Tensors results;
};

void backward_of(const Exhibit& e, std::istream& in, Dtype dtype, Kept& kept) {
  std::string wants;
  bool poison = false;
  in >> wants >> poison;
  Memory memory(in, dtype);
  const Tensor dy = memory.tensors.back();
  memory.tensors.pop_back();
  Tensors x;
  for (std::size_t k = 0; k < memory.tensors.size(); ++k) {
    x.push_back(memory.tensors[k].detach());
    if (wants.at(k) == '1') x.back().requires_grad_();
  }
  const bool before = memory::set_poison(poison);
  const Tensors dx = e.backward(x, dy);
  memory::set_poison(before);
  for (const Tensor& block : memory.blocks) print_block(block);
  Tensors fresh;
  std::vector<long long> names;
  for (const Tensor& each : dx) {
    names.push_back(-1);
    if (!each.defined()) continue;
    kept.results.push_back(each.detach());
    for (std::size_t b = 0; b < memory.blocks.size(); ++b)
      if (memory.blocks[b].storage() == each.storage()) names.back() = static_cast<long long>(b);
    if (names.back() >= 0) continue;
    names.back() = static_cast<long long>(reinterpret_cast<std::uintptr_t>(each.storage().get()));
    fresh.push_back(each);
  }
  std::printf(" %zu", fresh.size());
  for (const Tensor& each : fresh) {
    std::printf(" %lld",
                static_cast<long long>(reinterpret_cast<std::uintptr_t>(each.storage().get())));
    print_block(each);
  }
  for (std::size_t k = 0; k < dx.size(); ++k) print_tensor(dx[k], names[k]);
}

void list(const std::vector<Exhibit>& faulty) {
  for (const Exhibit& e : faulty) {
    std::printf("%s\t%s\t%s\t%d\t%s\t", e.name.c_str(), e.family.c_str(), e.cause.c_str(), e.order,
                e.inputs[0].dtype() == Dtype::f32 ? "f32" : "f64");
    for (std::size_t k = 0; k < e.inputs.size(); ++k) {
      std::printf("%s", k ? ";" : "");
      for (int i = 0; i < e.inputs[k].rank(); ++i)
        std::printf(" %lld", static_cast<long long>(e.inputs[k].size(i)));
      std::printf(":");
      print(numbers_of(e.inputs[k]));
    }
    std::printf("\n");
  }
  std::printf("\n");
}

void answer(const std::vector<Exhibit>& faulty, const std::string& question, Kept& kept) {
  std::istringstream in(question);
  std::string what, dtype;
  in >> what;
  if (what == "list") return list(faulty);
  std::size_t number = 0;
  in >> number >> dtype;
  if (number != kept.faulty) kept = {number, {}};
  const Dtype as = dtype == "f32" ? Dtype::f32 : Dtype::f64;
  if (what == "backward") {
    backward_of(faulty.at(number), in, as, kept);
  } else {
    bool recorded = false;
    in >> recorded;
    const GradMode mode(recorded);
    Memory memory(in, as);
    for (Tensor& x : memory.tensors)
      if (recorded) x = x.detach().requires_grad_();
    const Tensor y = faulty.at(number).forward(memory.tensors);
    std::printf(" %d", y.rank());
    for (int i = 0; i < y.rank(); ++i) std::printf(" %lld", static_cast<long long>(y.size(i)));
    print(numbers_of(y.detach()));
  }
  std::printf("\n");
}

int serve() {
  set_num_threads(1);
  std::vector<Exhibit> all;
  for (const auto& faulty : raw_cases::faulty_elementwise())
    all.push_back(exhibit(faulty, "plain"));
  for (const auto& faulty : raw_cases::faulty_norm()) all.push_back(exhibit(faulty, "plain"));
  for (const auto& faulty : raw_cases::faulty_product()) all.push_back(exhibit(faulty, "plain"));
  for (const auto& faulty : raw_cases::faulty_indexing()) all.push_back(exhibit(faulty, "plain"));
  for (const auto& faulty : faulty_tensor_ops::all_faulty_ops()) all.push_back(exhibit(faulty));
  Kept kept;
  for (std::string question; std::getline(std::cin, question);) {
    try {
      answer(all, question, kept);
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
