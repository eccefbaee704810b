// Compares Ceres' GradientChecker and this checker on the faulty ops, as a Markdown table. The exit
// code is 1 if this checker errs.
//
//   cmake --build build/release --target gradus_faulty_ops_ceres
//   build/release/tests/gradus_faulty_ops_ceres
#include <chrono>
#include <iostream>
#include <map>
#include <memory>

#include <ceres/cost_function.h>
#include <ceres/gradient_checker.h>

#include "gradus/check/adapters/ceres.h"
#include "gradus/tests/check/faulty_ops.h"

namespace gradus::raw_cases {
namespace {

/// A cost function whose parameter blocks are the differentiable inputs. Each vjp computes one row
/// of every Jacobian.
class Cost : public ceres::CostFunction {
 public:
  Cost(const Case& subject, Spoil spoil) : case_(subject), spoil_(std::move(spoil)) {
    for (Index k = 0; k < case_.inputs.size(); ++k) {
      start_.push_back(case_.inputs[k].values);
      if (!case_.inputs[k].differentiable) continue;
      moving_.push_back(k);
      mutable_parameter_block_sizes()->push_back(static_cast<int>(start_[k].size()));
    }
    set_num_residuals(static_cast<int>(case_.forward(start_).size()));
  }

  bool Evaluate(double const* const* x, double* residuals, double** jacobians) const override {
    Arguments in = start_;
    for (Index b = 0; b < moving_.size(); ++b)
      in[moving_[b]].assign(x[b], x[b] + in[moving_[b]].size());
    const Values y = case_.forward(in);
    std::copy(y.begin(), y.end(), residuals);
    for (Index row = 0; jacobians && row < y.size(); ++row) {
      Values dy(y.size(), 0.0);
      dy[row] = 1;
      Arguments dx = case_.vjp(in, dy);
      if (spoil_) spoil_(dx, in, dy);
      for (Index b = 0; b < moving_.size(); ++b) {
        Values& part = dx[moving_[b]];
        part.resize(in[moving_[b]].size());
        if (jacobians[b]) std::copy(part.begin(), part.end(), jacobians[b] + row * part.size());
      }
    }
    return true;
  }

  std::vector<Values> blocks() const {
    std::vector<Values> result;
    for (const Index k : moving_) result.push_back(start_[k]);
    return result;
  }

 private:
  Case case_;
  Spoil spoil_;
  Arguments start_;
  std::vector<Index> moving_;
};

struct Said {
  bool wrong = false;
  double seconds = 0;
  std::size_t characters = 0;
};

template <class Judge>
Said timed(Judge judge) {
  const auto begin = std::chrono::steady_clock::now();
  const std::string message = judge();
  return {!message.empty(),
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(),
          message.size()};
}

Said by_gradus(const Cost& cost) {
  return timed([&] {
    const Report report = check::ceres("cost", cost, cost.blocks());
    return report ? std::string() : report.text();
  });
}

Said by_ceres(const Cost& cost, double precision) {
  return timed([&] {
    const ceres::GradientChecker checker(
        &cost, static_cast<const std::vector<const ceres::Manifold*>*>(nullptr), {});
    std::vector<const double*> at;
    const std::vector<Values> blocks = cost.blocks();
    for (const Values& block : blocks) at.push_back(block.data());
    ceres::GradientChecker::ProbeResults results;
    const bool right = checker.Probe(at.data(), precision, &results);
    return right ? std::string() : "wrong: " + results.error_log;
  });
}

constexpr std::array kWays{"gradus::check", "Ceres, 1e-8", "Ceres, 1e-4"};
using Row = std::array<std::vector<Said>, kWays.size()>;

void judge(const Cost& cost, Row& row) {
  row[0].push_back(by_gradus(cost));
  row[1].push_back(by_ceres(cost, 1e-8));
  row[2].push_back(by_ceres(cost, 1e-4));
}

std::int64_t wrong_in(const std::vector<Said>& all) {
  return std::count_if(all.begin(), all.end(), [](const Said& s) { return s.wrong; });
}

template <class Number>
Number median(const std::vector<Said>& all, Number Said::*member) {
  std::vector<Number> numbers;
  for (const Said& said : all)
    if (said.*member > 0) numbers.push_back(said.*member);
  std::nth_element(numbers.begin(), numbers.begin() + std::ssize(numbers) / 2, numbers.end());
  return numbers[numbers.size() / 2];
}

void print(const std::string& name, const Row& row) {
  std::cout << "| " << name << " | " << row[0].size();
  for (const auto& way : row) std::cout << " | " << wrong_in(way);
  std::cout << " |\n";
}

void print_medians(const Row& all) {
  std::cout << "| median time | ";
  for (const auto& way : all)
    std::cout << " | " << number(1e3 * median(way, &Said::seconds), 2) << " ms";
  std::cout << " |\n| median message | ";
  for (const auto& way : all) std::cout << " | " << median(way, &Said::characters) << " characters";
  std::cout << " |\n";
}

int compared() {
  std::map<std::string, Row> wrong;
  std::map<std::string, Cost> right;
  Row all, of_right;
  for (const auto& family :
       {faulty_elementwise(), faulty_norm(), faulty_product(), faulty_indexing()})
    for (const FaultyOp& faulty : family) {
      if (faulty.cause == "NOT LINEAR") continue;  // Ceres has no upstream gradient
      const Cost cost(faulty.subject, faulty.spoil);
      Row row;
      judge(cost, row);
      for (Index way = 0; way < kWays.size(); ++way) {
        wrong[faulty.cause.empty() ? "(no single cause)" : faulty.cause][way].push_back(
            row[way][0]);
        all[way].push_back(row[way][0]);
      }
      if (!row[0][0].wrong)
        std::cerr << "not detected: " << faulty.name << " (" << faulty.cause << ")\n";
      right.try_emplace(faulty.subject.name, faulty.subject, Spoil());
    }
  for (const auto& [name, cost] : right) judge(cost, of_right);
  std::cout << "| cause | wrong functions";
  for (const char* way : kWays) std::cout << " | " << way;
  std::cout << " |\n|---|---|---|---|---|\n";
  for (const auto& [cause, row] : wrong) print(cause, row);
  print("all", all);
  print("right functions that are refused, of", of_right);
  print_medians(all);
  const std::int64_t passed = std::ssize(all[0]) - wrong_in(all[0]);
  return passed == 0 && wrong_in(of_right[0]) == 0 ? 0 : 1;
}

}  // namespace
}  // namespace gradus::raw_cases

int main() { return gradus::raw_cases::compared(); }
