// Stages of Optimizer::step: pieces(), norm(), Optimizer::apply(). distributed::ShardedOptimizer
// runs these stages on its part of the parameters.
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

/// A parameter with its optimizer state.
struct Slot {
  std::string name;
  Tensor parameter;
  const Group* group;
  std::vector<nn::NamedTensor> state;  // "exp_avg.w", elements [begin, end)
  bool whole;
  std::int64_t chunk;                   // index of its first chunk
  std::int64_t begin, end;              // elements to update: all, or this process's part
  std::optional<HookHandle> hook = {};  // hook that step_in_backward() registers
  bool due = false;                     // true while waiting for its gradient

  bool is_complete() const { return end - begin == parameter.numel(); }
};

/// Squares are added in chunks of this many elements in the tensor's dtype, and the sums of chunks
/// in double. Chunks are numbered consecutively over all parameters. Each parameter begins a new
/// chunk.
constexpr std::int64_t kChunk = 1024;
constexpr std::int64_t chunks_in(std::int64_t elements) { return (elements + kChunk - 1) / kChunk; }

/// Returns a view of elements [begin, end): the entire tensor, or a view with one axis.
Tensor part_of(const Tensor& x, std::int64_t begin, std::int64_t end);

/// Returns pieces of the parameters that require and have a gradient. gradient_of(slot) returns
/// elements [begin, end) of the gradient, or an undefined tensor. Throws GraphError if all are
/// undefined or a parameter was replaced. If `warn`, reports parameters without a gradient on
/// stderr.
std::vector<Piece> pieces(std::span<const Slot> slots, bool warn,
                          FunctionRef<Tensor(const Slot&)> gradient_of);

/// Returns √ Σ g². Adds chunks in a fixed order that does not depend on the number of processes.
/// exchange(sums) adds the chunks of other processes to those of `work`.
double norm(std::span<const Slot> slots, std::vector<Piece>& work,
            FunctionRef<void(std::vector<double>&)> exchange);

/// Calls f(piece) for each piece, in parallel.
template <class F>
void for_each_piece(std::vector<Piece>& work, F&& f) {
  parallel_for(std::ssize(work), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) f(work[static_cast<std::size_t>(i)]);
  });
}

/// Throws ValueError unless Adam's betas are in [0, 1) and its eps is positive.
void check_adam(const char* optimizer, const AdamOptions& options);

// Helpers for update rules. elements() returns a pointer for writing and does not count the write,
// because Optimizer::update_all() has counted it. as() converts constants to type T.
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
