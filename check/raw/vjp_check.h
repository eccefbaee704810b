// Checks a vector-Jacobian product of plain values. See check.h for other types, and gradients.h
// for tensors.
//
// Compares vjp(x, w) with wᵀJ for each probe w (probe.h). differences.h measures the columns of J;
// verdict.h defines the rule. Then checks side effects and special points, and diagnoses causes.
#pragma once

#include "gradus/check/raw/causes.h"
#include "gradus/check/raw/compare.h"
#include "gradus/check/raw/report.h"
#include "gradus/check/raw/side_effects.h"
#include "gradus/check/raw/special_points.h"
#include "gradus/check/raw/time_budget.h"

namespace gradus::check {

class VjpCheck {
 public:
  VjpCheck(const std::string& name, Functions functions, std::vector<Input> inputs,
           RawOptions options)
      : function_(std::move(functions), completed(name, std::move(inputs))),
        options_(std::move(options)),
        budget_(name, options_),
        goal_{options_.tolerance()} {
    if (const Functions& f = function_.functions(); !f.forward || !(f.vjp || f.into))
      throw BadInput(name + ": the function to check or its derivative is empty");
    if (options_.mode == Mode::quick) options_.rows = 1, options_.columns = 2;
    report_.name = name;
    report_.seed = options_.seed;
    for (const Input& input : function_.inputs())
      report_.inputs.push_back({.name = input.name,
                                .shape = input.shape,
                                .differentiable = input.differentiable,
                                .elements = std::ssize(input.values)});
  }

  Report run() {
    try {
      const double call = function_.measure_output();
      budget_.plan(call, function_.inputs());
      check_output();
      set_precision();
      ask();
      numeric_.assign(report_.inputs.size(), {&probes_, goal_.tolerance});
      for (std::size_t k = 0; k < report_.inputs.size(); ++k)
        if (report_.inputs[k].differentiable) compare(k);
      if (auto tie = wrong_tie(function_, numeric_, probes_, goal_, report_))
        add_extra(report_, *tie);
      state_probability();
      if (!probes_.empty()) side_effects().check_answer(probes_.back().answer);
      if (report_.verdict == Verdict::fail && options_.mode != Mode::quick)
        full_ ? name_causes() : look_at_all();
      if (report_.verdict != Verdict::fail && options_.neighborhood) check_neighborhood();
    } catch (const Abort& stop) {
      report_.verdict = worse(report_.verdict, stop.verdict);
      if (!stop.note.empty())
        report_.add({.kind = Kind::structure, .verdict = stop.verdict, .note = stop.note});
      for (InputSummary& input : report_.inputs)
        if (stop.verdict == Verdict::fail && input.differentiable && input.cause.name.empty())
          input.cause = stop.cause;
    }
    report_.counts.add(function_.counts());
    std::stable_sort(report_.findings.begin(), report_.findings.end(),
                     [](const Finding& a, const Finding& b) { return a.input < b.input; });
    return report_;
  }

  const std::vector<Probe>& probes() const { return probes_; }

 private:
  SideEffects side_effects() {
    return {function_, probes_.back().upstream(outputs()), goal_.tolerance, report_};
  }

  std::size_t outputs() const { return function_.output().size(); }
  void check_output() {
    const std::size_t count = outputs();
    Dims& shape = options_.output_shape;
    if (shape.empty() && function_.functions().shape) shape = function_.functions().shape();
    if (shape.empty() && count != 1) shape = {static_cast<std::int64_t>(count)};
    if (count_of(shape) != count)
      throw BadInput(joined(report_.name, ": output_shape ", list(shape), " does not fit the ",
                            count, " values of forward"));
    if (!options_.upstream.empty() && options_.upstream.size() != count)
      throw BadInput(joined(report_.name, ": the upstream gradient has ", options_.upstream.size(),
                            " values, but forward gives ", count, "; expected one per value"));
    for (std::size_t i = 0; i < count; ++i) {
      const double y = function_.output()[i];
      if (std::isfinite(y)) continue;
      report_.verdict = Verdict::inconclusive;
      Finding at;
      locate_output(at, i);
      report_.notes.push_back(
          joined("forward gives ", y, " at ", indexed(at.output_name, at.output),
                 "; no derivative can be measured there. Choose inputs in its domain"));
      return;
    }
  }

  void set_precision() {
    const Functions& f = function_.functions();
    const bool exact = !f.reference && options_.resolution <= 0;
    const bool rough =
        f.ulp > std::numeric_limits<double>::epsilon() || (exact && function_.computes_in_float());
    if (rough && f.reference) {
      // The derivative may have an error of 32 half-ulps of its largest term, times √(number of
      // terms).
      std::size_t terms = std::max<std::size_t>(outputs(), 16);
      for (const Input& input : function_.inputs()) terms = std::max(terms, input.values.size());
      const double rounding = 16 * f.ulp * std::sqrt(static_cast<double>(terms));
      goal_.tolerance.rtol = std::max(goal_.tolerance.rtol, rounding);
      goal_.tolerance.atol = std::max(goal_.tolerance.atol, rounding);
      report_.notes.push_back(
          "computed in float, measured by the reference in double: errors below " +
          number(rounding, 1) + " count as rounding");
    } else if (options_.resolution > 0) {
      goal_.ulp = f.ulp;
      function_.measure_noise(goal_, options_.seed);
      report_.notes.push_back("compared with a resolution of " + number(options_.resolution, 3) +
                              ": smaller errors, relative to an input's largest derivative, are "
                              "ignored");
    }
    if (!function_.noise().empty()) goal_.noise = &function_.noise();
    if (rough && exact) {
      throw Abort{Verdict::inconclusive,
                  "forward seems to compute in float, where differences have only two or three "
                  "digits. Give the same function in double by .reference(f), or accept a coarse "
                  "check by .resolution(1e-3)"};
    }
  }

  void ask() {
    const std::size_t count = outputs();
    std::size_t elements = 0;
    for (const Input& input : function_.inputs()) elements += input.values.size();
    const bool automatic = options_.mode == Mode::automatic;
    const bool small = count <= 256 && elements <= 2048 && count * elements <= 100'000;
    full_ = !budget_.limited() && (options_.mode == Mode::full || (automatic && small));
    const bool many_rows = automatic && count <= 256 && !budget_.limited();
    all_rows_ = full_ || many_rows || count <= options_.rows;
    Random random(options_.seed);
    const int sums = options_.outputs_are_sums ? 0
                     : all_rows_               ? std::min(options_.projections, 3)
                                               : options_.projections;
    probes_ = make_probes(count, all_rows_ ? count : options_.rows, sums, random);
    if (!options_.upstream.empty()) probes_.push_back({options_.upstream});
    if (function_.functions().into && count > 0 && !side_effects().check_buffers())
      function_.start_from_zeros();
    if (!function_.functions().linear) zero_ = function_.vjp(Values(count, 0.0), report_);
    for (Probe& probe : probes_) probe.answer = function_.vjp(probe.upstream(count), report_);
    if (all_rows_) return;
    report_.notes.push_back(joined("the Jacobian was sampled: ", options_.rows, " of its ", count,
                                   " rows, and ", options_.projections,
                                   " weighted sums of all rows"));
  }

  std::vector<Slope> measure(std::size_t k, const Move& move, bool thorough) {
    goal_.thorough = thorough;
    return function_.column_of(k, move, goal_, options_);
  }

  /// Measures moves [first, last) of input k, starting none after `until` seconds. Returns the
  /// index of the first move that was not measured.
  std::size_t measure_some(std::size_t k, std::size_t first, std::size_t last, double until) {
    Numeric& numeric = numeric_[k];
    goal_.thorough = false;
    return budget_.run(first, last, until, function_, [&](std::size_t i, CheckedFunction& own) {
      Move& move = numeric.moves[i];
      const std::vector<Slope> column = own.column_of(k, move, goal_, options_);
      move.slopes = contracted(column, probes_);
      move.largest = largest_resolved(column, 0, goal_.tolerance);
    });
  }

  void measure_all(std::size_t k) {
    Numeric& numeric = numeric_[k];
    const Values& x = function_.inputs()[k].values;
    Random random(options_.seed + k + 1);
    const bool limited = budget_.limited();
    const std::size_t most = limited ? budget_.columns(k) : options_.columns;
    const std::size_t some = std::min(std::max<std::size_t>(most, 1), x.size());
    const bool automatic = options_.mode == Mode::automatic && x.size() <= 2048;
    const bool all = !limited && (full_ || automatic || x.size() == some);
    numeric.moves = make_moves(x, all, some, options_.projections, random);
    const std::size_t count = numeric.moves.size();
    if (!limited) return static_cast<void>(measure_some(k, 0, count, 0));
    // Directions come first, because they cover all elements.
    const std::size_t seen = measure_some(k, some, count, budget_.budget());
    bool suspect = false;
    for (std::size_t m = some; m < seen; ++m)
      suspect = suspect || judge_move(k, m).finding.verdict != Verdict::pass;
    numeric.keep(measure_some(k, 0, some, budget_.deadline(k, suspect)), some, seen);
    if (numeric.moves.size() < count || some < x.size())
      report_.notes.push_back(left_out(budget_, function_.inputs()[k], numeric));
  }

  void compare(std::size_t k) {
    measure_all(k);
    Numeric& numeric = numeric_[k];
    InputSummary& summary = report_.inputs[k];
    if (options_.resolution > 0) numeric.compare_with_largest();
    summary.error = largest_error(k);
    if (!zero_.empty())
      if (auto finding = not_zero(k, summary, numeric, zero_[k])) report_.add(*finding);
    summary.looked_at = std::count_if(numeric.moves.begin(), numeric.moves.end(),
                                      [](const Move& move) { return !move.along(); });
    summary.compared = static_cast<std::int64_t>(numeric.moves.size() * probes_.size());
    summary.map.assign(static_cast<std::size_t>(summary.elements), '~');
    std::vector<Mismatch> mismatches;
    for (std::size_t m = 0; m < numeric.moves.size(); ++m) {
      Mismatch worst = judge_move(k, m);
      if (worst.finding.verdict != Verdict::pass && budget_.over() && summary.wrong > 0) {
        worst.finding.verdict = Verdict::inconclusive;  // other elements are known to be wrong
      } else if (worst.finding.verdict != Verdict::pass) {
        const std::vector<Slope> column = measure(k, numeric.moves[m], true);
        numeric.moves[m].slopes = contracted(column, probes_);
        worst = judge_move(k, m);
        if (worst.finding.verdict == Verdict::fail) {
          try_other_steps(k, m, column);
          worst = judge_move(k, m);
        }
      }
      count(summary, k, m, worst);
      if (worst.finding.verdict == Verdict::pass) continue;
      report_.verdict = worse(report_.verdict, worst.finding.verdict);
      mismatches.push_back(std::move(worst));
    }
    if (summary.wrong == 0) summary.map.clear();
    add_worst(k, std::move(mismatches));
    for (std::string& note : notes_about(summary, numeric, budget_.limited()))
      report_.notes.push_back(std::move(note));
  }

  /// The largest |analytic - numeric| of a row, relative to its largest derivative.
  double largest_error(std::size_t k) const {
    double result = 0;
    for (std::size_t p = 0; p < probes_.size(); ++p) {
      if (probes_[p].dense()) continue;  // terms may cancel in a sum
      double error = 0, largest = 0;
      for (const Move& move : numeric_[k].moves) {
        const Slope& n = move.slopes[p];
        const double a = move.of(probes_[p].answer[k]);
        if (move.along() || !n.finite() || !std::isfinite(a)) continue;
        error = std::max({error, n.lower() - a, a - n.upper()});
        largest = std::max(largest, n.size());
      }
      if (largest > 0) result = std::max(result, error / largest);
    }
    return result;
  }

  /// The tolerance of a comparison. Elements that were compared one by one show how exact the
  /// derivative is, so sums need not allow for more.
  Tolerance tolerance_of(std::size_t k, const Move& move, const Probe& probe) const {
    Tolerance t = goal_.tolerance;
    if (!t.exact || !(move.along() || (probe.dense() && !all_rows_))) return t;
    t.rtol = std::min(t.rtol, std::max(1e-2 * t.rtol, 10 * report_.inputs[k].error));
    return t;
  }

  Coverage coverage(std::size_t k) const {
    const Numeric& numeric = numeric_[k];
    const InputSummary& summary = report_.inputs[k];
    const Values& x = function_.inputs()[k].values;
    const double typical = rms(x);
    Coverage result;
    const bool dense = !all_rows_;
    if (dense) result.sums = options_.projections;
    if (options_.outputs_are_sums) result.sums = static_cast<int>(outputs());
    if (summary.looked_at < summary.elements)
      result.directions = static_cast<int>(std::ssize(numeric.moves) - summary.looked_at);
    for (const Move& move : numeric.moves) {
      const double unit = move.along() ? 1 : unit_of(x[*move.element], typical);
      if (!move.along()) result.largest = std::max(result.largest, move.largest * unit);
      for (std::size_t p = 0; p < probes_.size(); ++p) {
        const Probe& probe = probes_[p];
        const Slope& n = move.slopes[p];
        if (move.along() != (result.directions > 0) || probe.dense() != dense) continue;
        const double scale = numeric.scale(move, probe.dense());
        const Judgement now = judge(n.value, n, scale, tolerance_of(k, move, probe));
        result.allowed = std::max(result.allowed, now.allowed * unit);
      }
    }
    return result;
  }

  void state_probability() {
    bool sampled = false;
    for (std::size_t k = 0; k < report_.inputs.size(); ++k) {
      if (!report_.inputs[k].differentiable) continue;
      InputSummary& input = report_.inputs[k];
      const Coverage c = input.coverage = coverage(k);
      const bool rows_left = !all_rows_ && c.sums == 0;
      const bool elements_left = input.looked_at < input.elements && c.directions == 0;
      if (rows_left || elements_left) report_.missed = 1;  // nothing was asked about the others
      if ((c.sums == 0 && c.directions == 0) || c.largest == 0) continue;
      sampled = true;
      report_.missed += gradus::check::missed(c, 1e-4);
    }
    report_.missed = std::min(report_.missed, 1.0);
    if (sampled && report_)
      report_.notes.push_back(
          "an entry of the Jacobian that is wrong by more than 1e-4 of the largest would have been "
          "missed with a probability of at most " +
          number(std::min(1.0, 1.05 * report_.missed), 2));
  }

  void count(InputSummary& summary, std::size_t k, std::size_t m, const Mismatch& worst) const {
    const Move& move = numeric_[k].moves[m];
    const bool wrong = worst.finding.verdict == Verdict::fail;
    if (move.along()) {
      if (wrong) summary.wrong = std::max<std::int64_t>(summary.wrong, 1);
      return;
    }
    char& c = summary.map[*move.element];
    c = '.';
    if (worst.finding.verdict == Verdict::pass) return;
    ++(wrong ? summary.wrong : summary.unseen);
    const std::size_t p = worst.probe;
    c = wrong ? map_character(move.of(probes_[p].answer[k]), move.slopes[p].value) : '~';
  }

  void locate_output(Finding& finding, std::size_t row) const {
    finding.output = index_of(row, options_.output_shape);
    for (const OutputPart& part : options_.parts) {
      const std::size_t count = count_of(part.shape);
      if (row < count) {
        finding.output_name = part.name;
        finding.output = index_of(row, part.shape);
        return;
      }
      row -= count;
    }
  }

  Mismatch judge_move(std::size_t k, std::size_t m) {
    Numeric& numeric = numeric_[k];
    const Move& move = numeric.moves[m];
    Mismatch worst;
    const double scale[] = {numeric.scale(move, false), numeric.scale(move, true)};
    for (std::size_t p = 0; p < probes_.size(); ++p) {
      const Probe& probe = probes_[p];
      const Slope& n = move.slopes[p];
      const double a = move.of(probe.answer[k]);
      Judgement result = judge(a, n, scale[probe.dense()], tolerance_of(k, move, probe));
      if (result.verdict == Verdict::pass) continue;
      const bool seen = resolved(n, scale[probe.dense()], goal_.tolerance);
      if (!std::isfinite(a) && (move.blind() || (std::isinf(a) && !seen)))
        result.verdict = Verdict::inconclusive;
      const bool unsteady =
          result.verdict == Verdict::fail && !move.unsteady.empty() && move.unsteady[p];
      if (unsteady) result.verdict = Verdict::inconclusive;
      // If all rows are compared, weighted sums add no information.
      if (all_rows_ && probe.dense() && result.verdict == Verdict::inconclusive) continue;
      const double excess = result.error / result.allowed;
      Mismatch now{located(k, report_.inputs[k], move), m, p,
                   std::isfinite(excess) ? excess : std::numeric_limits<double>::max()};
      describe_numbers(now.finding, a, n, probe, result);
      if (unsteady)
        now.finding.note =
            "the difference quotient depends on the step. Possible reasons: a pole, oscillations, "
            "or a function that is constant by rounding. Choose other values";
      if (!probe.dense()) locate_output(now.finding, *probe.row);
      if (worst.finding.verdict == Verdict::pass || worse_than(now, worst)) worst = std::move(now);
    }
    return worst;
  }

  /// Finds the failures of a move that other steps do not confirm. `column` has its usual slopes.
  void try_other_steps(std::size_t k, std::size_t m, const std::vector<Slope>& column) {
    Numeric& numeric = numeric_[k];
    Move& move = numeric.moves[m];
    const auto others = function_.columns_at_other_steps(k, move, budget_.limited(), goal_);
    std::vector<bool> unsteady;
    bool unsteady_row = false;
    for (std::size_t p = 0; p < probes_.size(); ++p) {
      const Probe& probe = probes_[p];
      const double a = move.of(probe.answer[k]);
      Goal goal = goal_;
      goal.scale = numeric.scale(move, probe.dense());
      goal.tolerance = tolerance_of(k, move, probe);
      const bool fails =
          judge(a, move.slopes[p], goal.scale, goal.tolerance).verdict == Verdict::fail;
      // If all rows are compared, a sum shows no more than they do.
      const bool follows = all_rows_ && probe.dense() && unsteady_row;
      unsteady.push_back(
          fails && (follows || depends_on_step(a, move.slopes[p], contracted(others, column, probe),
                                               function_.size_of(k, move), goal)));
      unsteady_row = unsteady_row || (unsteady.back() && !probe.dense());
    }
    move.unsteady = std::move(unsteady);
  }

  void check_neighborhood() {
    const std::string special = special_point(function_.inputs(), numeric_);
    if (special.empty() || outputs() == 0) return;
    RawOptions options = options_;
    options.rows = options.columns = 1;
    add_neighborhood(
        report_, special,
        run_again(neighbor_of(function_.inputs(), options.seed), options, Mode::projections));
  }

  Report run_again(std::vector<Input> inputs, RawOptions options, Mode mode) {
    options.mode = mode;
    options.neighborhood = false;
    return VjpCheck(report_.name, function_.functions(), std::move(inputs), options).run();
  }

  void add_worst(std::size_t k, std::vector<Mismatch> mismatches) {
    std::stable_sort(mismatches.begin(), mismatches.end(), worse_than);
    mismatches.resize(std::min(mismatches.size(), options_.findings));
    bool traced = false;  // true after a wrong direction was narrowed down to an element
    for (Mismatch& mismatch : mismatches) {
      Finding& finding = mismatch.finding;
      const bool direction = finding.along, fails = finding.verdict == Verdict::fail;
      if (direction && traced) continue;
      if (fails) narrow(k, mismatch);
      traced = traced || (direction && !finding.along);
      const auto same = [&finding](const Finding& f) {
        return has_numbers(f) && place_of(f) == place_of(finding);
      };
      if (finding.along || std::none_of(report_.findings.begin(), report_.findings.end(), same))
        report_.add(std::move(finding));
    }
  }

  /// Bisects a wrong weighted sum to find its output, and a wrong direction to find its element.
  void narrow(std::size_t k, Mismatch& mismatch) {
    Finding& finding = mismatch.finding;
    const Probe& probe = probes_[mismatch.probe];
    Move move = numeric_[k].moves[mismatch.move];
    const double scale = numeric_[k].scale(move, probe.dense());
    const auto wrong = [&](const Probe& part, const Move& way, const Values& dx,
                           const std::vector<Slope>& column) {
      const double a = way.of(dx);
      const Slope n = contract(column, part);
      const Judgement judgement = judge(a, n, scale, goal_.tolerance);
      if (judgement.verdict != Verdict::fail) return false;
      describe_numbers(finding, a, n, part, judgement);
      return true;
    };
    if (move.along()) {
      const auto moves = [&](const Move& way) {
        return wrong(probe, way, probe.answer[k], measure(k, way, !budget_.limited()));
      };
      const auto element = find_place(move.direction.size(), [&](auto from, auto to) {
        return moves({{}, part_of(move.direction, from, to)});
      });
      if (element) {
        move = {element};
        finding.along = false;
        finding.at = index_of(*element, report_.inputs[k].shape);
        moves(move);
      }
    }
    if (!probe.dense()) return;
    const std::vector<Slope> column = measure(k, move, true);
    const auto weighs = [&](const Probe& part) {
      return wrong(part, move, function_.vjp(part.upstream(outputs()), report_)[k], column);
    };
    const auto output = find_place(
        outputs(), [&](auto from, auto to) { return weighs({part_of(probe.weight, from, to)}); });
    if (!output) return;
    locate_output(finding, *output);
    weighs({{probe.weight[*output]}, output});
  }

  /// Compares the full Jacobian if that takes only seconds. Diagnosis needs more than a sample.
  void look_at_all() {
    if (!budget_.affords_all(outputs(), function_.counts().forward)) return;
    const Report all = run_again(function_.inputs(), options_, Mode::full);
    report_.counts.add(all.counts);
    for (std::size_t k = 0; k < report_.inputs.size(); ++k)
      if (all.inputs[k].wrong > 0) report_.inputs[k] = all.inputs[k];
  }

  void name_causes() {
    Evidence evidence{.output_shape = options_.output_shape, .output = function_.output()};
    for (std::size_t k = 0; k < report_.inputs.size(); ++k)
      evidence.inputs.push_back(evidence_of(k));
    evidence.jacobian = function_.functions().linear && outputs() > 1;
    explain(report_, std::move(evidence));
  }

  InputEvidence evidence_of(std::size_t k) const {
    const Input& input = function_.inputs()[k];
    const std::size_t n = input.values.size();
    InputEvidence result{input.name, input.shape, input.values, {outputs(), n}, {outputs(), n}};
    if (!input.differentiable) return result;
    result.ignores_upstream = !zero_.empty() && largest_of(zero_[k]) > 0;
    for (std::size_t p = 0; p < probes_.size(); ++p) {
      const Probe& probe = probes_[p];
      result.ignores_upstream = result.ignores_upstream && close(probe.answer[k], zero_[k], 1e-9);
      for (std::size_t j = 0; j < n && !probe.dense(); ++j) {
        const Slope s = scaled(numeric_[k].moves[j].slopes[p], 1 / probe.weight[0]);
        const double a = probe.answer[k][j] / probe.weight[0];
        result.analytic(*probe.row, j) = a;
        result.numeric(*probe.row, j) =
            std::isfinite(a) ? std::clamp(a, s.lower(), s.upper()) : s.value;
        result.unsure = std::max(result.unsure, s.finite() ? s.estimate() : 1e300);
      }
    }
    return result;
  }

  CheckedFunction function_;
  RawOptions options_;
  TimeBudget budget_;
  Goal goal_;
  Report report_;
  bool full_ = false;      // every element is compared with every row
  bool all_rows_ = false;  // every row is among the probes
  std::vector<Probe> probes_;
  Arguments zero_;                // result for an upstream gradient of zeros
  std::vector<Numeric> numeric_;  // [input]
};

/// Compares `vjp` with finite differences of `forward` at `inputs`. Throws BadInput if inputs or
/// options are invalid; other problems are in the report. Costs one call of vjp per probe, and 6
/// calls of forward per input element if forward is smooth.
GRADUS_CHECK_INLINE Report check_vjp(const std::string& name, Functions functions,
                                     std::vector<Input> inputs, RawOptions options = {}) {
  Report report = VjpCheck(name, functions, inputs, options).run();
  if (report || options.mode != Mode::quick) return report;
  const Counts quick = report.counts;
  options.mode = Mode::automatic;
  report = VjpCheck(name, std::move(functions), std::move(inputs), std::move(options)).run();
  report.counts.add(quick);
  return report;
}

}  // namespace gradus::check
