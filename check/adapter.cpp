// Numbers in, tensors made of them, a gradient's numbers out; and no writing to what was given.
#include "gradus/check/adapter.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "gradus/engine/grad_mode.h"
#include "gradus/ops/create.h"

namespace gradus::check {
namespace {

std::vector<std::uint32_t> versions_of(const Tensors& x) {
  std::vector<std::uint32_t> out;
  for (const Tensor& each : x) out.push_back(each.storage()->version());
  return out;
}

/// Has anybody written to x, which was made from `values`? Writes are counted; `look` finds also
/// those that went around the counter.
bool written(const Tensor& x, std::uint32_t version, const core::Values& values, bool look) {
  if (x.storage()->version() != version) return true;
  return look && !core::close(numbers(x), values, 0);
}

}  // namespace

/// Fresh tensors of these numbers.
Tensors Adapter::tensors(const core::Arguments& values) const {
  Tensors in = subject_.inputs;
  for (std::size_t k = 0; k < in.size(); ++k)
    if (subject_.wanted()[k]) in[k] = from(values[k], in[k].shape());
  return in;
}

core::Values Adapter::forward(const core::Arguments& values) {
  const NoGrad off;
  const Tensors in = tensors(values);
  const std::vector<std::uint32_t> versions = versions_of(in);
  core::Values y = subject_.call(in).to_vector<double>();
  const bool look = ++forwards_ <= 2;
  for (std::size_t k = 0; k < in.size(); ++k)
    if (written(in[k], versions[k], values[k], look))
      throw core::Damage("forward writes to its input '" + subject_.options.names[k] +
                         "': who calls it does not expect that. Write to a clone()");
  return y;
}

core::Arguments Adapter::vjp(const core::Arguments& values, const core::Values& dy) {
  if (!recorded_.y.defined() || recorded_.values != values) {
    const GradMode on(true);
    recorded_.values = values;
    recorded_.in = subject_.leaves(tensors(values));
    recorded_.versions = versions_of(recorded_.in);
    recorded_.y = subject_.call(recorded_.in);
  }
  core::Arguments dx = ask(dy);
  add_row(dy, dx);
  return dx;
}

core::Arguments Adapter::ask(const core::Values& dy) {
  const Tensor& y = recorded_.y;
  const Tensor upstream = from(dy, y.shape());
  const std::uint32_t version = upstream.storage()->version();
  const Tensors found = subject_.gradients(y, recorded_.in, upstream);
  if (written(upstream, version, dy, true))
    throw core::Damage(
        "backward writes to its upstream gradient, which others may still need: "
        "write to a clone(), or through reuse_or_empty(dy)");
  core::Arguments dx;
  for (std::size_t k = 0; k < found.size(); ++k) {
    dx.push_back(found[k].defined() ? numbers(found[k]) : core::Values());
    if (written(recorded_.in[k], recorded_.versions[k], recorded_.values[k], true))
      throw core::Damage("backward writes to the input '" + subject_.options.names[k] +
                         "', which is not its own: write to a clone()");
  }
  return dx;
}

/// Takes a row with its weight; what is asked again adds nothing.
void Adapter::add_row(const core::Values& dy, const core::Arguments& dx) {
  if (rows_.dy.empty()) {
    rows_.dy.assign(dy.size(), 0.0);
    for (const core::Values& part : recorded_.values) rows_.sizes.emplace_back(part.size(), 0.0);
  }
  const auto live = [](double v) { return v != 0; };
  const auto first = std::find_if(dy.begin(), dy.end(), live);
  if (first == dy.end() || std::find_if(first + 1, dy.end(), live) != dy.end()) return;
  double& weight = rows_.dy[static_cast<std::size_t>(first - dy.begin())];
  if (weight != 0) return;
  weight = *first;
  for (std::size_t k = 0; k < dx.size(); ++k)
    for (std::size_t j = 0; j < dx[k].size(); ++j) rows_.sizes[k][j] += std::abs(dx[k][j]);
}

std::vector<core::Input> Adapter::raw_inputs() const {
  std::vector<core::Input> out;
  for (std::size_t k = 0; k < subject_.inputs.size(); ++k) {
    const Tensor& x = subject_.inputs[k];
    out.push_back({subject_.options.names[k], sizes_of(x), numbers(x), subject_.wanted()[k]});
  }
  return out;
}

core::Options Adapter::settings() const {
  const Options& o = subject_.options;
  core::Options settings;
  settings.rtol = o.rtol;
  settings.atol = o.atol;
  settings.seed = o.seed;
  settings.mode = o.mode;
  settings.method = o.ridders ? core::Method::ridders : core::Method::six_points;
  settings.kinks = o.kinks;
  settings.output_shape = sizes_of(subject_.output);
  if (o.upstream.defined()) settings.upstream = numbers(o.upstream);
  return settings;
}

Report Adapter::compare() {
  const auto forward = [this](const core::Arguments& in) { return this->forward(in); };
  const auto derivative = [this](const core::Arguments& in, const core::Values& dy) {
    return vjp(in, dy);
  };
  return core::check_vjp(subject_.name, {forward, derivative}, raw_inputs(), settings());
}

}  // namespace gradus::check
