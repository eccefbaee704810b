// A step is a function of weights, batch and random position: repeated, it makes the same NaN.
#include "find_nan.h"

#include "gradus/base/random.h"
#include "gradus/trace/nan_finder.h"

namespace gradus::examples {

std::string find_nan(nn::GPT& model, const Batch& batch, std::uint32_t random_position) {
  const std::uint32_t now = generator().position();
  generator().restore(generator().seed(), random_position);
  model.zero_grad();
  std::string report;
  {
    const trace::NanFinder finder([&](const std::string& what) { report = what; });
    model.loss(batch.x, batch.y).backward();
  }
  model.zero_grad();
  generator().restore(generator().seed(), now);
  return report.empty() ? "repeated, every result and gradient is finite: their norm overflowed"
                        : report;
}

}  // namespace gradus::examples
