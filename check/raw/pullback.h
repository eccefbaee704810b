// Pulls a function on manifolds (manifold.h) back to tangent vectors: f(plus(x, δ)) is a function
// of plain numbers δ, and vjp_check.h checks it at δ = 0.
#pragma once

#include <memory>

#include "gradus/check/raw/manifolds.h"
#include "gradus/check/raw/vjp_check.h"

namespace gradus::check {

class Pullback {
 public:
  /// BadInput where an input is not on its manifold.
  Pullback(const std::string& name, Functions f, std::vector<Input> inputs, Domains places)
      : f_(std::move(f)), inputs_(std::move(inputs)), domains_(std::move(places)) {
    for (std::size_t k = 0; k < inputs_.size(); ++k) {
      bases_.push_back({0, 0});
      found_.emplace_back();
      point_.push_back(inputs_[k].values);
      if (!on(k)) continue;
      const Manifold& m = *domains_.inputs[k];
      const double apart = m.residual ? m.residual(point_[k]) : 0;
      if (!(apart <= 1e-6))
        throw BadInput(joined(name, ": input '", inputs_[k].name, "' is not on ", m.name, ": by ",
                              number(apart, 2), ", and 1e-6 is allowed"));
      bases_[k] = tangent_basis(m, point_[k]);
    }
  }

  std::vector<Input> inputs() const {
    std::vector<Input> result = inputs_;
    for (std::size_t k = 0; k < result.size(); ++k) {
      if (!on(k)) continue;
      result[k].values.assign(bases_[k].columns, 0.0);
      result[k].shape = {static_cast<std::int64_t>(bases_[k].columns)};
      result[k].tangent = true;
    }
    return result;
  }

  /// Keeps a reference to this.
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
        for (std::size_t k = 0; k < start.size(); ++k)
          if (on(k) && domains_.inputs[k]->gradient == GradientSpace::ambient)
            start[k] = lifted(bases_[k], start[k]);
        return tangent(f_.into(point_, upstream(dy), start));
      };
    if (domains_.output) g.shape = {};
    return g;
  }

  /// Says where the inputs moved, and what their gradients were that should have been tangent.
  void describe(Report& report) const {
    for (std::size_t k = 0; k < inputs_.size(); ++k) {
      if (!on(k)) continue;
      const std::string& name = inputs_[k].name;
      report.notes.push_back(joined(name, " moved on ", domains_.inputs[k]->name, ": ",
                                    bases_[k].columns, " tangent numbers, from one of ",
                                    bases_[k].rows));
      if (found_[k].empty()) continue;
      const bool right = report.inputs[k].wrong == 0;
      report.inputs[k].cause = {
          "AMBIENT", found_[k],
          right ? "multiply it by the derivative of plus at 0: so it is right"
                : "multiply it by the derivative of plus at 0; it is wrong after that, too"};
      report.add(Kind::structure, k, "the tangent space's derivative is wanted: " + found_[k]);
    }
  }

  /// The inputs, those on manifolds a small random step away.
  std::vector<Input> neighbor(std::uint64_t seed) const {
    std::vector<Input> result = neighbor_of(inputs_, seed);
    Random random(seed + 98);
    for (std::size_t k = 0; k < result.size(); ++k) {
      if (!on(k)) continue;
      Values delta(bases_[k].columns);
      for (double& d : delta) d = 0.03 * random.upstream();
      result[k].values = domains_.inputs[k]->plus(point_[k], delta);
    }
    return result;
  }

 private:
  bool on(std::size_t k) const { return k < domains_.inputs.size() && domains_.inputs[k]; }

  Values forward(const Forward& f, Arguments delta) {
    for (std::size_t k = 0; k < delta.size(); ++k)
      if (on(k)) delta[k] = domains_.inputs[k]->plus(point_[k], delta[k]);
    Values y = f(delta);
    if (!domains_.output) return y;
    if (origin_.empty()) {
      origin_ = f(point_);
      output_basis_ = tangent_basis(*domains_.output, origin_);
    }
    return tangent_of(*domains_.output, output_basis_, y, origin_);
  }

  /// dy of the output's tangent space as a matrix takes it, or as a vjp does.
  Values upstream(const Values& dy) const {
    return domains_.output && !f_.linear ? lifted(output_basis_, dy) : dy;
  }

  Arguments tangent(Arguments dx) {
    for (std::size_t k = 0; k < dx.size() && k < inputs_.size(); ++k) {
      if (!on(k)) continue;
      const Manifold& m = *domains_.inputs[k];
      const SmallMatrix& b = bases_[k];
      const bool whole = dx[k].size() == b.rows;
      if (!whole || (m.gradient != GradientSpace::ambient && b.rows == b.columns)) continue;
      const Values v = times(transposed(b), dx[k]);
      if (m.gradient != GradientSpace::ambient) look_at(k, dx[k], v);
      dx[k] = v;
    }
    return dx;
  }

  /// A gradient in the surrounding space where a tangent one is wanted. All are looked at: for some
  /// dy it may be tangent by chance.
  void look_at(std::size_t k, const Values& g, const Values& v) {
    const Values inside = lifted(bases_[k], v);
    double outside = 0;
    for (std::size_t i = 0; i < g.size(); ++i)
      outside = std::max(outside, std::abs(g[i] - inside[i]));
    const std::string& name = inputs_[k].name;
    if (domains_.inputs[k]->gradient == GradientSpace::tangent)
      found_[k] = joined("d", name, " has ", g.size(), " numbers, as ", name, " has; a step on ",
                         domains_.inputs[k]->name, " has ", v.size());
    else if (outside > 1e-7 * largest_of(g))
      found_[k] = joined("d", name, " leaves ", domains_.inputs[k]->name,
                         ": it has a part at right angles to all tangent vectors");
  }

  Functions f_;
  std::vector<Input> inputs_;
  Domains domains_;
  Arguments point_;
  std::vector<SmallMatrix> bases_;
  std::vector<std::string> found_;  // of each input: what its gradient was instead of tangent
  Values origin_;                   // the output at the inputs
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
