// A run's reports: the progress line, messages on stderr, the loss curve.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iomanip>

#include "gradus/io/chart.h"
#include "gradus/io/output_file.h"
#include "gradus/train/trainer.h"

namespace gradus::train {
namespace {

std::string four_digits(double value) { return str_cat(std::fixed, std::setprecision(4), value); }

/// "held_out_loss" → "held-out loss"
std::string words(std::string name) {
  if (name.starts_with("held_out")) name[4] = '-';
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

}  // namespace

std::string Trainer::note() const {
  std::string line;
  for (const auto& [name, value] : metrics_) {
    if (name.find('.') != std::string::npos) continue;
    std::string label = words(name);  // "held-out loss" is "held-out" in a line that begins "loss"
    if (label.ends_with(" loss")) label.resize(label.size() - 5);
    line += (line.empty() ? "" : "  ") + label + " " + four_digits(value);
  }
  return line;
}

void Trainer::log(const std::string& what) const {
  std::fprintf(stderr, "%s: the %s %s; the best was %.4f at step %lld, kept in %s\n",
               options_.program.c_str(), words(options_.judge).c_str(), what.c_str(), best_,
               static_cast<long long>(best_step_), files_.model().c_str());
}

/// The training loss of each step, the held-out loss of each evaluation, and the best of these:
/// read from the log, so that the curve of a resumed run has all steps.
void Trainer::draw_losses() const {
  io::Chart chart;
  chart.title = files_.directory;
  chart.x_label = "step";
  chart.y_label = "loss" + (options_.loss_unit.empty() ? "" : ", " + options_.loss_unit);
  chart.curves = {{"training", read_metric(files_.metrics(), "loss")},
                  {"held out", read_metric(files_.metrics(), "held_out_loss"), true}};
  if (chart.curves[0].points.empty()) return;  // no step was made
  if (options_.judge == "held_out_loss" && std::isfinite(best_))
    chart.mark = {static_cast<double>(best_step_), best_,
                  str_cat("best ", four_digits(best_), " at step ", best_step_)};
  const std::string picture = io::svg(chart);
  io::write_file_atomically(files_.curve(), picture.data(), picture.size());
}

}  // namespace gradus::train
