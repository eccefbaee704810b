// Faulty ops on tensors, and correct host functions.
#pragma once

#include <string>
#include <vector>

#include "gradus/check/gradients.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/support/registry.h"

namespace gradus::faulty_tensor_ops {

using check::Function;
using check::Tensors;
using check::Vjp;
using testing::values;

struct Host {
  std::string name;
  Function forward;
  Vjp right;
  Tensors inputs;
};

/// An empty cause means that no cause explains the fault.
struct FaultyOp {
  std::string name;
  Host host;
  Vjp wrong;  // empty: forward calls a faulty op
  std::string cause;
  std::size_t input = 0;
  bool second = false;  // only the second derivative is wrong
};

Host square_host();
Host tanh_host();
Host multiply_host();       // [2,3] · [2,3]
Host broadcast_host();      // [2,3,4] · [3,1]
Host matmul_host();         // [3,4] [4,2]
Host linear_host();         // x [3,4], weight [2,4], bias [2]
Host sum_host();            // [3,4], over axis 1
Host softmax_host();        // [3,5]
Host log_softmax_host();    // [3,5]
Host layer_norm_host();     // [3,5], [5], [5]
Host rms_norm_host();       // [3,5], [5]
Host attention_host();      // q [2,3,4], k [2,5,4], v [2,5,3]
Host rows_host();           // x [4,3], rows 2 0 2 1 0
Host loss_host();           // mean squared error of two tensors [3,4]
Host cross_entropy_host();  // logits [4,3]
std::vector<Host> all_hosts();

std::vector<FaultyOp> faulty_formula();
std::vector<FaultyOp> faulty_layout();
std::vector<FaultyOp> faulty_operation();
std::vector<FaultyOp> faulty_side_effect();
inline std::vector<FaultyOp> all_faulty_ops() {
  std::vector<FaultyOp> all;
  for (const auto& part :
       {faulty_formula(), faulty_layout(), faulty_side_effect(), faulty_operation()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

using Change = std::function<Tensor(const Tensor& dx, const Tensors& x, const Tensor& dy)>;
Vjp changed(const Host& host, std::size_t input, const Change& change);

check::Report run(const FaultyOp& faulty);

}  // namespace gradus::faulty_tensor_ops
