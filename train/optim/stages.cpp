#include "gradus/train/optim/stages.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "gradus/engine/base/vmath.h"
#include "gradus/engine/strided.h"

namespace gradus::optim {
namespace {

constexpr std::size_t kNamed = 5;       // parameters that the warning names
constexpr std::int64_t kPiece = 65536;  // elements: enough work for a thread

std::int64_t piece_size(const Slot& slot) { return slot.whole ? slot.parameter.numel() : kPiece; }

template <class T>
GRADUS_INLINE void sum_chunks(const T* g, std::int64_t n, double* sums) {
  for (std::int64_t i = 0; i < n; i += kChunk)
    *sums++ = static_cast<double>(vmath::sum_squares(g + i, std::min(kChunk, n - i)));
}

}  // namespace

Tensor part_of(const Tensor& x, std::int64_t begin, std::int64_t end) {
  if (begin == 0 && end == x.numel()) return x;
  return kernel::strided_view(x, {end - begin}, {1}, x.offset() + begin);
}

std::vector<Tensor> gradients_of(std::span<const Slot> slots) {
  std::vector<Tensor> gradients;
  for (const Slot& slot : slots) {
    const Tensor gradient = slot.parameter.grad();
    const bool wanted = gradient.defined() && slot.parameter.requires_grad();
    gradients.push_back(wanted ? kernel::contiguous(gradient) : Tensor());
  }
  return gradients;
}

void warn_without_grad(std::span<const Slot> slots, std::span<const Tensor> gradients) {
  std::size_t count = 0;
  std::string named;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const Tensor& parameter = slots[i].parameter;
    if (gradients[i].defined() || !parameter.requires_grad() || ++count > kNamed) continue;
    std::string end;
    Observers::tell([&](Observer& o) {
      if (end.empty()) end = o.path_end(parameter);
    });
    named += str_cat(count == 1 ? "" : ", ", slots[i].name, " ", parameter.shape(),
                     end.empty() ? "" : " (" + end + ")");
  }
  if (count == 0) return;
  const std::string more = count > kNamed ? str_cat(" and ", count - kNamed, " more") : "";
  std::fprintf(stderr,
               "gradus: backward did not reach %zu of %zu parameters: %s%s; why(loss, model) "
               "before backward says more, warn_params_without_grad(false) turns this off\n",
               count, slots.size(), named.c_str(), more.c_str());
}

std::vector<Piece> pieces(std::span<const Slot> slots, std::span<const Tensor> gradients) {
  std::vector<Piece> work;
  bool any = false;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const Slot& slot = slots[i];
    const Node::Extra* extra = slot.parameter.node()->extra_or_null();
    require<GraphError>(!extra || !extra->replaced, "optimizer: ", slot.name,
                        " was replaced by model.to(dtype) after this optimizer was made: make the "
                        "optimizer after it");
    if (!gradients[i].defined()) continue;
    any = true;
    const std::int64_t size = piece_size(slot);
    for (std::int64_t begin = slot.begin, end; begin < slot.end; begin = end) {
      end = std::min((begin / size + 1) * size, slot.end);
      const auto part = [&](const Tensor& x) {
        return part_of(x, begin - slot.begin, end - slot.begin);
      };
      Piece& piece = work.emplace_back(Piece{slot.group,
                                             part_of(slot.parameter, begin, end),
                                             part(gradients[i]),
                                             {},
                                             slot.chunk + begin / kChunk});
      for (const nn::NamedTensor& each : slot.state) piece.state.push_back(part(each.tensor));
    }
  }
  require<GraphError>(any, "optimizer: no parameter has a gradient: call loss.backward() before ",
                      "step(), outside NoGrad, on a loss that depends on them");
  return work;
}

std::vector<double> sums_of_squares(std::span<const Slot> slots, std::vector<Piece>& work) {
  const Slot& last = slots.back();
  std::vector<double> sums(
      static_cast<std::size_t>(last.chunk + chunks_in(last.parameter.numel())));
  for_each_piece(work, [&](const Piece& piece) {
    dispatch_float("optimizer", piece.gradient.dtype(), [&]<class T>() {
      simd::run<sum_chunks<T>>(piece.gradient.data<T>(), piece.gradient.numel(),
                               sums.data() + piece.chunk);
    });
  });
  return sums;
}

double norm(std::span<const Slot> slots, const std::vector<double>& sums) {
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
