// The stages of Optimizer::step: pieces(), their norm(), and then Optimizer::apply(). Optimizer
// runs them on entire parameters, and distributed::ShardedOptimizer on one process's part of them.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gradus/engine/base/function_ref.h"
#include "gradus/engine/base/parallel.h"
#include "gradus/engine/base/simd.h"
#include "gradus/train/optim/optim.h"

namespace gradus::optim {

/// One parameter of an optimizer, and what the optimizer keeps for it.
struct Slot {
  std::string name;
  Tensor parameter;
  const Group* group;
  std::vector<nn::NamedTensor> state;   // "exp_avg.w": of the elements [begin, end)
  bool whole;                           // GroupState::whole
  std::int64_t chunk;                   // index of its first chunk
  std::int64_t begin, end;              // the elements to update: all, or this process's part
  std::optional<HookHandle> hook = {};  // of step_in_backward()
  bool due = false;                     // step_in_backward() waits for its gradient

  bool is_complete() const { return end - begin == parameter.numel(); }
};

/// Squares are added in chunks of this many elements in the tensor's own type, and the sums of the
/// chunks in double. Chunks are counted over all parameters; each parameter begins a new one.
constexpr std::int64_t kChunk = 1024;
constexpr std::int64_t chunks_in(std::int64_t elements) { return (elements + kChunk - 1) / kChunk; }

/// Elements [begin, end) of a contiguous tensor, as a view with one axis; if these are all, the
/// tensor in its own shape.
Tensor part_of(const Tensor& x, std::int64_t begin, std::int64_t end);

/// The pieces of the parameters that require a gradient and have one. gradient_of(slot) returns the
/// elements [begin, end) of the gradient, or an undefined tensor. GraphError if all are undefined,
/// or if a module has replaced a parameter. `warn`: if some are, prints one line on stderr.
std::vector<Piece> pieces(std::span<const Slot> slots, bool warn,
                          FunctionRef<Tensor(const Slot&)> gradient_of);

/// √ Σ g². The sums of all chunks are added in one order, whichever process computed them: the
/// chunks of a piece, then the pieces. exchange(sums) completes the sums of the chunks in `work`.
double norm(std::span<const Slot> slots, std::vector<Piece>& work,
            FunctionRef<void(std::vector<double>&)> exchange);

/// Calls f(piece) for each piece, in parallel.
template <class F>
void for_each_piece(std::vector<Piece>& work, F&& f) {
  parallel_for(std::ssize(work), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) f(work[static_cast<std::size_t>(i)]);
  });
}

// What rules need: the elements of a piece's tensor, to be written (the write has been counted for
// all pieces at once), and a kernel's constants in the tensor's type.
template <class T>
T* elements(const Tensor& x) {
  return const_cast<T*>(x.data<T>());
}
template <class T, std::size_t N>
GRADUS_INLINE std::array<T, N> as(const std::array<double, N>& constants) {
  std::array<T, N> out;
  for (std::size_t i = 0; i < N; ++i) out[i] = static_cast<T>(constants[i]);
  return out;
}

}  // namespace gradus::optim
