// Pulls a function on manifolds (manifold.h) back to tangent vectors. Checks f(plus(x, δ)) at δ =
// 0.
#pragma once

#include "gradus/check/raw/manifolds.h"
#include "gradus/check/raw/vjp_check.h"

namespace gradus::check {

class Pullback {
 public:
  /// Throws BadInput if an input is not on its manifold.
  Pullback(const std::string& name, Functions f, std::vector<Input> inputs, Domains places)
      : name_(name),
        f_(std::move(f)),
        inputs_(std::move(inputs)),
        output_(std::move(places.output)) {
    for (const Input& input : inputs_) point_.push_back(input.values);
    for (std::size_t k = 0; k < places.inputs.size(); ++k) {
      if (!places.inputs[k]) continue;
      const Manifold& m = *places.inputs[k];
      require_on(m, point_[k], "input '" + inputs_[k].name + "'");
      placed_.push_back({k, m, tangent_basis(m, point_[k])});
    }
  }

  std::vector<Input> inputs() const {
    std::vector<Input> result = inputs_;
    for (const Placed& p : placed_) {
      result[p.input].values.assign(p.basis.columns, 0.0);
      result[p.input].shape = {static_cast<std::int64_t>(p.basis.columns)};
      result[p.input].tangent = true;
    }
    return result;
  }

  Functions functions() {
    Functions g = f_;
    g.forward = [this](const Arguments& delta) { return forward(f_.forward, delta); };
    if (f_.reference)
      g.reference = [this](const Arguments& delta) { return forward(f_.reference, delta); };
    if (f_.vjp)
      g.vjp = [this](const Arguments&, const Values& dy) {
        return tangent(f_.vjp(point_, upstream(dy)));
      };
    if (f_.into)
      g.into = [this](const Arguments&, const Values& dy, Arguments start) {
        for (const Placed& p : placed_)
          if (p.manifold.gradient == GradientSpace::ambient)
            start[p.input] = lifted(p.basis, start[p.input]);
        return tangent(f_.into(point_, upstream(dy), start));
      };
    if (output_) g.shape = {};
    return g;
  }

  void describe(Report& report) const {
    for (const Placed& p : placed_) {
      report.notes.push_back(joined(inputs_[p.input].name, " moved on ", p.manifold.name, ": ",
                                    p.basis.columns, " tangent values, from one of ",
                                    p.basis.rows));
      if (p.found.empty()) continue;
      InputSummary& summary = report.inputs[p.input];
      const bool right = summary.wrong == 0;
      summary.cause = {"AMBIENT", p.found,
                       right ? "multiply it by the derivative of plus at 0; then it is correct"
                             : "multiply it by the derivative of plus at 0; even then it is wrong"};
      report.add(Kind::structure, p.input,
                 "the derivative in the tangent space is required: " + p.found);
    }
  }

  std::vector<Input> neighbor(std::uint64_t seed) const {
    std::vector<Input> result = neighbor_of(inputs_, seed);
    Random random(seed + 98);
    for (const Placed& p : placed_) {
      Values delta(p.basis.columns);
      for (double& d : delta) d = 0.03 * random.upstream();
      result[p.input].values = p.manifold.plus(point_[p.input], delta);
    }
    return result;
  }

 private:
  struct Placed {
    std::size_t input;
    Manifold manifold;
    SmallMatrix basis;
    std::string found = {};  // why the gradient is not tangent
  };

  void require_on(const Manifold& m, const Values& x, const std::string& what) const {
    const double apart = m.residual ? m.residual(x) : 0;
    if (!(apart <= 1e-6))
      throw BadInput(joined(name_, ": ", what, " is not on ", m.name, " (the residual is ",
                            number(apart, 2), ", at most 1e-6 is allowed)"));
  }

  Values forward(const Forward& f, Arguments delta) {
    for (const Placed& p : placed_)
      delta[p.input] = p.manifold.plus(point_[p.input], delta[p.input]);
    Values y = f(delta);
    if (!output_) return y;
    if (origin_.empty()) {
      origin_ = f(point_);
      require_on(*output_, origin_, "the output");
      output_basis_ = tangent_basis(*output_, origin_);
    }
    return tangent_of(*output_, output_basis_, y, origin_);
  }

  /// Converts dy for the derivative under test. A vjp receives dy in the ambient space; a Jacobian
  /// is multiplied by dy unchanged.
  Values upstream(const Values& dy) const {
    return output_ && !f_.linear ? lifted(output_basis_, dy) : dy;
  }

  Arguments tangent(Arguments dx) {
    for (Placed& p : placed_) {
      const SmallMatrix& b = p.basis;
      const bool ambient = p.manifold.gradient == GradientSpace::ambient;
      if (p.input >= dx.size() || dx[p.input].size() != b.rows) continue;
      if (!ambient && b.rows == b.columns) continue;
      const Values v = times(transposed(b), dx[p.input]);
      if (!ambient) look_at(p, dx[p.input], v);
      dx[p.input] = v;
    }
    return dx;
  }

  /// Checks that a gradient is tangent. Called for every dy, because a single gradient may be
  /// tangent by chance.
  void look_at(Placed& p, const Values& g, const Values& v) const {
    const Values inside = lifted(p.basis, v);
    double outside = 0;
    for (std::size_t i = 0; i < g.size(); ++i)
      outside = std::max(outside, std::abs(g[i] - inside[i]));
    const std::string& name = inputs_[p.input].name;
    if (p.manifold.gradient == GradientSpace::tangent)
      p.found = joined("d", name, " has ", g.size(), " values, as ", name,
                       " has, but a tangent vector of ", p.manifold.name, " has ", v.size());
    else if (outside > 1e-7 * largest_of(g))
      p.found = joined("d", name, " leaves ", p.manifold.name,
                       ": it has a component normal to the tangent space");
  }

  std::string name_;
  Functions f_;
  std::vector<Input> inputs_;
  Arguments point_;
  std::vector<Placed> placed_;
  std::optional<Manifold> output_;
  Values origin_;
  SmallMatrix output_basis_{0, 0};
};

GRADUS_CHECK_INLINE Report check_on(const std::string& name, const Functions& f,
                                    const std::vector<Input>& inputs, const Domains& places,
                                    RawOptions options) {
  if (places.output) options.output_shape = {};
  Pullback here(name, f, completed(name, inputs), places);
  Report report = check_vjp(name, here.functions(), here.inputs(), options);
  here.describe(report);
  std::vector<Input> placed = inputs;
  for (std::size_t k = 0; k < placed.size(); ++k)
    placed[k].differentiable = places.inputs[k].has_value() && placed[k].differentiable;
  const std::string special = special_point(placed);
  if (report.verdict == Verdict::fail || special.empty() || !options.neighborhood) return report;
  options.mode = Mode::projections;
  options.rows = options.columns = 1;
  options.neighborhood = false;
  Pullback there(name, f, here.neighbor(options.seed), places);
  add_neighborhood(report, special, check_vjp(name, there.functions(), there.inputs(), options));
  return report;
}

}  // namespace gradus::check
