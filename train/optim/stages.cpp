#include "gradus/train/optim/stages.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "gradus/engine/base/vmath.h"
#include "gradus/engine/strided.h"

namespace gradus::optim {
namespace {

constexpr std::size_t kNamed = 5;       // parameters named in the warning
constexpr std::int64_t kPiece = 65536;  // in elements: enough work for a thread

std::int64_t piece_size(const Slot& slot) { return slot.whole ? slot.parameter.numel() : kPiece; }

template <class T>
GRADUS_INLINE void sum_chunks(const T* g, std::int64_t n, double* sums) {
  for (std::int64_t i = 0; i < n; i += kChunk)
    *sums++ = static_cast<double>(vmath::sum_squares(g + i, std::min(kChunk, n - i)));
}

void warn_without_grad(const std::vector<const Slot*>& slots, std::size_t all) {
  std::string named;
  for (std::size_t i = 0; i < std::min(slots.size(), kNamed); ++i) {
    std::string end;
    Observers::notify([&](Observer& o) {
      if (end.empty()) end = o.path_end(slots[i]->parameter);
    });
    named += str_cat(i == 0 ? "" : ", ", slots[i]->name, " ", slots[i]->parameter.shape(),
                     end.empty() ? "" : " (" + end + ")");
  }
  if (slots.size() > kNamed) named += str_cat(" and ", slots.size() - kNamed, " more");
  std::fprintf(stderr,
               "gradus: backward did not reach %zu of %zu parameters: %s. Call why(loss, model) "
               "before backward for details. warn_params_without_grad(false) turns this off.\n",
               slots.size(), all, named.c_str());
}

}  // namespace

Tensor part_of(const Tensor& x, std::int64_t begin, std::int64_t end) {
  if (begin == 0 && end == x.numel()) return x;
  return kernel::strided_view(x, {end - begin}, {1}, x.offset() + begin);
}

std::vector<Piece> pieces(std::span<const Slot> slots, bool warn,
                          FunctionRef<Tensor(const Slot&)> gradient_of) {
  std::vector<Piece> work;
  std::vector<const Slot*> without;
  bool any = false;
  for (const Slot& slot : slots) {
    const Node::Extra* extra = slot.parameter.node()->extra_or_null();
    require<GraphError>(!extra || !extra->replaced, "optimizer: ", slot.name,
                        " was replaced by model.to(dtype). Create the optimizer after it.");
    if (!slot.parameter.requires_grad()) continue;
    Tensor gradient = gradient_of(slot);
    if (!gradient.defined()) {
      without.push_back(&slot);
      continue;
    }
    any = true;
    gradient = kernel::contiguous(gradient);
    const std::int64_t size = piece_size(slot);
    for (std::int64_t begin = slot.begin, end; begin < slot.end; begin = end) {
      end = std::min((begin / size + 1) * size, slot.end);
      const auto part = [&](const Tensor& x) {
        return part_of(x, begin - slot.begin, end - slot.begin);
      };
      std::vector<Tensor> state;
      for (const nn::NamedTensor& each : slot.state) state.push_back(part(each.tensor));
      work.push_back({slot.group, part_of(slot.parameter, begin, end), part(gradient),
                      std::move(state), slot.chunk + begin / kChunk});
    }
  }
  require<GraphError>(any, "optimizer: no parameter has a gradient. Call loss.backward() before ",
                      "step(), outside NoGrad, on a loss that depends on the parameters.");
  if (warn && !without.empty()) warn_without_grad(without, slots.size());
  return work;
}

double norm(std::span<const Slot> slots, std::vector<Piece>& work,
            FunctionRef<void(std::vector<double>&)> exchange) {
  const Slot& last = slots.back();
  std::vector<double> sums(
      static_cast<std::size_t>(last.chunk + chunks_in(last.parameter.numel())));
  for_each_piece(work, [&](const Piece& piece) {
    dispatch_float("optimizer", piece.gradient.dtype(), [&]<class T>() {
      simd::run<sum_chunks<T>>(piece.gradient.data<T>(), piece.gradient.numel(),
                               sums.data() + piece.chunk);
    });
  });
  exchange(sums);
  double total = 0;
  auto next = sums.begin();
  for (const Slot& slot : slots) {
    const std::int64_t n = slot.parameter.numel(), size = piece_size(slot);
    for (std::int64_t begin = 0; begin < n; begin += size) {
      const auto end = next + chunks_in(std::min(size, n - begin));
      total += std::accumulate(next, end, 0.0);
      next = end;
    }
  }
  return std::sqrt(total);
}

}  // namespace gradus::optim
