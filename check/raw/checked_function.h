// Calls the function under test and its derivative. Counts calls, validates results, and measures
// slopes.
#pragma once

#include <chrono>
#include <exception>

#include "gradus/check/raw/findings.h"
#include "gradus/check/raw/options.h"
#include "gradus/check/raw/probe.h"

namespace gradus::check {

/// Thrown to end a run. The note is empty if the findings state the reason.
struct Abort {
  Verdict verdict;
  std::string note;
  Cause cause = {};
};

using Place = std::pair<std::size_t, std::size_t>;  // input, element

class CheckedFunction {
 public:
  CheckedFunction(Functions functions, std::vector<Input> inputs)
      : f_(std::move(functions)), inputs_(std::move(inputs)) {
    for (const Input& input : inputs_) arguments_.push_back(input.values);
  }

  const Functions& functions() const { return f_; }
  const std::vector<Input>& inputs() const { return inputs_; }
  const Values& output() const { return output_; }
  std::size_t outputs() const { return output_.size(); }
  Counts& counts() { return counts_; }
  /// Noise per output; empty if there is only rounding.
  const Values& noise() const { return noise_; }

  /// Runs forward twice, because a function that changes between calls has no derivative. If the
  /// results differ by rounding, the difference counts as noise. Returns the duration of the faster
  /// call in seconds.
  double measure_output() {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    output_ = forward(f_.forward, "forward");
    const auto middle = Clock::now();
    const Values again = forward(f_.forward, "forward");
    const std::chrono::duration<double> quicker = std::min(middle - begin, Clock::now() - middle);
    if (!close(output_, again, kRoundings * f_.ulp))
      throw Abort{Verdict::inconclusive, changing(again, forward(f_.forward, "forward"))};
    if (!close(output_, again, 0)) noise_.assign(outputs(), 8 * largest_difference(output_, again));
    measured_ = output_;
    if (f_.reference) compare_with_reference();
    return quicker.count();
  }

  void measure_noise(Goal& goal, std::uint64_t seed) {
    Random random(seed);
    noise_.resize(outputs());
    for (std::size_t i = 0; i < outputs(); ++i)
      noise_[i] = std::max(noise_[i], 0.5 * f_.ulp * std::abs(output_[i]));
    for (std::size_t k = 0; k < inputs_.size(); ++k) {
      if (!inputs_[k].differentiable) continue;
      const Move move = make_moves(inputs_[k].values, false, 0, 1, random).front();
      const LineFunction line = line_of(k, move);
      constexpr double close_by = 0x1p-16;
      const std::vector<Slope> slopes = slopes_at(line, 0, close_by, measured_, goal);
      for (std::size_t i = 0; i < outputs(); ++i)
        noise_[i] = std::max(noise_[i], 4 * slopes[i].jitter * close_by);
    }
    // The best step grows with the seventh root of the noise. The factor 0.58 gives 3e-3 for the
    // rounding of double.
    const double noise = largest_of(noise_) / std::max(largest_of(output_), 1e-300);
    goal.first = std::clamp(0.58 * std::pow(noise, 1.0 / 7), goal.first, 0.1);
  }

  /// True if forward seems to compute in float: all results are floats, also for inputs that are
  /// not, and most of them change with the inputs, unlike the results of a step function. Near 0,
  /// cancellation may leave as few digits.
  bool computes_in_float() {
    const auto all_floats = [](const Values& y) {
      return std::all_of(y.begin(), y.end(), is_float);
    };
    double largest = 0;
    for (std::size_t k = 0; k < inputs_.size(); ++k)
      if (inputs_[k].differentiable) largest = std::max(largest, largest_of(arguments_[k]));
    if (output_.empty() || !all_floats(output_) || largest < 1.0 / 32) return false;
    for (std::size_t k = 0; k < inputs_.size(); ++k)
      for (double& v : arguments_[k]) v *= inputs_[k].differentiable ? 1 + 0x1.fffffp-19 : 1;
    const Values there = forward(f_.forward, "forward");
    for (std::size_t k = 0; k < inputs_.size(); ++k) arguments_[k] = inputs_[k].values;
    std::size_t changed = 0;
    for (std::size_t i = 0; i < std::min(outputs(), there.size()); ++i)
      changed += there[i] != output_[i] ? 1 : 0;
    return all_floats(there) && 2 * changed > outputs();
  }

  Arguments vjp(const Values& dy, Report& report) {
    if (!f_.into) return into(dy, {}, report);  // f_.vjp uses no buffers
    const bool zeros = f_.accumulates || from_zeros_;
    return into(dy, filled(zeros ? 0 : std::numeric_limits<double>::quiet_NaN()), report);
  }

  Arguments into(const Values& dy, const Arguments& start, Report& report) {
    ++counts_.vjp;
    Arguments dx =
        guarded([&] { return f_.into ? f_.into(arguments_, dy, start) : f_.vjp(arguments_, dy); },
                "the derivative", Verdict::fail);
    check_structure(dx, report);
    return dx;
  }

  Arguments filled(double value) const {
    Arguments result;
    for (const Input& input : inputs_) result.emplace_back(input.values.size(), value);
    return result;
  }

  /// Zeroes the buffers before later calls. Gradients are then comparable even if the function was
  /// wrongly declared to accumulate, or not to.
  void start_from_zeros() { from_zeros_ = true; }

  std::vector<Slope> column_of(std::size_t k, const Move& move, Goal goal,
                               const RawOptions& options) {
    const auto [at, unit] = prepare(k, move, goal);
    // Far from 0 a function may saturate, and at 0 its terms may cancel. Assumes terms of size 1.
    if (at == 0 || std::abs(at) > 1.0 / 32)
      goal.terms = f_.ulp * std::min(largest_of(measured_), 1.0);
    const LineFunction line = line_of(k, move);
    std::vector<Slope> slopes = JacobianColumn(line, at, unit, measured_, goal).measure();
    // The derivative under test is also rounded, so allow four roundings.
    for (Slope& s : slopes)
      if (f_.reference) s.noise += 4 * f_.ulp * std::abs(s.value);
    if (!move.along()) apply_conventions(options.kinks, k, at, slopes);
    return slopes;
  }

  /// Returns [step][output]. The steps along a direction also suit its smallest element.
  std::vector<std::vector<Slope>> columns_at_other_steps(std::size_t k, const Move& move, bool few,
                                                         Goal goal) {
    const auto [at, unit] = prepare(k, move, goal);
    double smallest = goal.unit;
    for (std::size_t i = 0; i < move.direction.size(); ++i)
      if (const double x = std::abs(inputs_[k].values[i] / move.direction[i]); x > 0)
        smallest = std::min(smallest, x);
    return slopes_at_other_steps(line_of(k, move), at, smallest, unit, few, measured_, goal);
  }

  /// The size of what a move changes: an element, or 1 for a direction.
  double size_of(std::size_t k, const Move& move) const {
    Goal goal;
    prepare(k, move, goal);
    return goal.unit;
  }

  std::vector<Slope> column_of(const std::vector<Place>& places, Goal goal) {
    const auto [input, element] = places.front();
    goal.unit = unit_of(inputs_[input].values[element], rms(inputs_[input].values));
    const LineFunction line = [this, &places](double t) {
      for (const auto& [k, j] : places) arguments_[k][j] = inputs_[k].values[j] + t;
      Values y = measure_at();
      for (const auto& [k, j] : places) arguments_[k][j] = inputs_[k].values[j];
      return y;
    };
    return JacobianColumn(line, 0, goal.unit, measured_, goal).measure();
  }

 private:
  static constexpr double kRoundings = 64;  // in machine epsilons, between two runs

  static bool is_float(double v) {
    return std::abs(v) <= std::numeric_limits<float>::max() && v == static_cast<float>(v);
  }

  static double largest_difference(const Values& a, Values b) {
    for (std::size_t i = 0; i < b.size(); ++i) b[i] -= a[i];
    return largest_of(b);
  }

  std::string changing(const Values& second, const Values& third) const {
    bool goes_on = second.size() == output_.size() && third.size() == output_.size();
    for (std::size_t i = 0; i < output_.size() && goes_on; ++i) {
      const double one = second[i] - output_[i], two = third[i] - second[i];
      goes_on = one * two >= 0 && std::abs(two) <= (1 + 1e-9) * std::abs(one);
    }
    const std::string differs = "forward gives different values for the same inputs";
    return differs + (goes_on ? ", and they move in one direction, so it keeps state between calls "
                                "(a running mean, a counter). Reset the state for each call"
                              : ". Fix the random seed, and keep no state between calls");
  }

  /// Returns the element of a move and the unit of its steps. Sets the units of the goal.
  std::pair<double, double> prepare(std::size_t k, const Move& move, Goal& goal) const {
    const Values& x = inputs_[k].values;
    const double at = move.along() ? 0 : x[*move.element];
    const double unit = move.along() ? 1 : unit_of(at, rms(x));
    goal.unit = at != 0 ? std::abs(at) : unit;
    if (move.along()) goal.natural = 1 / std::max(largest_of(move.direction), 1e-300);
    return {at, unit};
  }

  LineFunction line_of(std::size_t k, const Move& move) {
    return [this, k, &move](double t) {
      Values& now = arguments_[k];
      const Values& x = inputs_[k].values;
      if (!move.along()) now[*move.element] = t;
      for (std::size_t i = 0; i < move.direction.size(); ++i) now[i] = x[i] + t * move.direction[i];
      Values y = measure_at();
      now = x;
      return y;
    };
  }

  Values measure_at() {
    Values y =
        f_.reference ? forward(f_.reference, "the reference") : forward(f_.forward, "forward");
    if (y.size() == outputs()) return y;
    throw Abort{Verdict::inconclusive,
                joined("forward gives ", outputs(), " values at the inputs, but ", y.size(),
                       " nearby. Choose inputs where the count does not change")};
  }

  template <class Call>
  static auto guarded(Call call, const std::string& function, Verdict verdict) -> decltype(call()) {
    const char* elsewhere =
        verdict == Verdict::fail
            ? ""
            : ". forward is called at the inputs and nearby. Choose other inputs";
    try {
      return call();
    } catch (const Damage& damage) {
      throw Abort{Verdict::fail, damage.what()};
    } catch (const Abort&) {
      throw;
    } catch (const BadInput&) {
      throw;
    } catch (const Unimplemented& error) {
      throw Abort{verdict == Verdict::fail ? Verdict::unimplemented : verdict,
                  function + " is not implemented: " + error.what()};
    } catch (const std::exception& error) {
      throw Abort{verdict, function + " throws: " + error.what() + elsewhere, {"THROWS"}};
    } catch (...) {
      throw Abort{
          verdict, function + " throws an exception that is not a std::exception", {"THROWS"}};
    }
  }

  Values forward(const Forward& f, const std::string& function) {
    ++counts_.forward;
    return guarded([&] { return f(arguments_); }, function, Verdict::inconclusive);
  }

  void compare_with_reference() {
    measured_ = forward(f_.reference, "the reference");
    if (measured_.size() != output_.size())
      throw Abort{Verdict::inconclusive, joined("the reference gives ", measured_.size(),
                                                " values, but forward gives ", output_.size())};
    // Rounding errors are below 1e-3 of the largest value; most mistakes are larger.
    const double largest = largest_of(measured_);
    for (std::size_t i = 0; i < output_.size(); ++i) {
      if (std::abs(output_[i] - measured_[i]) <= 1e-3 * largest) continue;
      if (!std::isfinite(output_[i]) || !std::isfinite(measured_[i])) continue;
      throw Abort{Verdict::inconclusive,
                  joined("forward and its reference compute different functions: output ", i,
                         " is ", number(output_[i], 7), " and ", number(measured_[i], 7))};
    }
  }

  void check_structure(const Arguments& dx, Report& report) const {
    if (dx.size() != inputs_.size())
      throw Abort{Verdict::fail, joined("the derivative gives ", dx.size(), " gradients for ",
                                        inputs_.size(), " inputs; expected one per input")};
    bool fits = true;
    for (std::size_t k = 0; k < dx.size(); ++k) {
      const Input& input = inputs_[k];
      if (dx[k].size() == input.values.size()) continue;
      if (!input.differentiable && dx[k].empty()) continue;
      fits = false;
      report.add(Kind::structure, k,
                 joined("the gradient of input ", k, " '", input.name, "' has ", dx[k].size(),
                        " values, but the input has ", input.values.size(), " (shape ",
                        list(input.shape), ")"),
                 {"SHAPE"});
    }
    if (!fits) throw Abort{Verdict::fail, ""};
  }

  Functions f_;
  std::vector<Input> inputs_;
  Arguments arguments_;
  Values output_;
  Values measured_;  // results of the function from which differences are computed
  Values noise_;
  bool from_zeros_ = false;
  Counts counts_;
};

}  // namespace gradus::check
