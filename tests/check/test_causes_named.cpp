// Which cause is named first, for which inputs, and what is drawn of a Jacobian.
#include "gradus/tests/check/evidence_cases.h"

namespace gradus::check::evidence_cases {
namespace {

using golden::Page;

Report report_of(const Evidence& e, const std::vector<bool>& wrong) {
  Report report;
  for (Index k = 0; k < e.inputs.size(); ++k)
    report.inputs.push_back({.name = e.inputs[k].name, .wrong = wrong[k] ? 1 : 0});
  return report;
}

void show(Page& page, const std::string& what, const Evidence& e, const std::vector<bool>& wrong) {
  Report report = report_of(e, wrong);
  explain(report, e);
  page.line("==", what);
  for (const InputSummary& input : report.inputs)
    page.line("  ", input.name, input.cause.name,
              page.once(input.cause.why + " | " + input.cause.hint), input.map, input.map_rows);
}

/// All inputs' gradients do not read dy of these outputs.
Evidence unread(const Shape& out, const std::vector<Index>& rows) {
  Evidence e = right({3}, out, plain_entry);
  for (Operand& input : e.inputs)
    for (const Index i : rows)
      for (Index j = 0; j < input.analytic.columns; ++j) input.analytic(i, j) = 0;
  return e;
}

}  // namespace

TEST_CASE("dy that is not read is one cause of all inputs: golden/check/unread.txt") {
  Page page;
  const std::vector<bool> all{true, true, true};
  for (const Shape& out : {Shape{4}, Shape{2, 2}, Shape{1}, Shape{2}})
    for (const std::vector<Index>& rows : {std::vector<Index>{0}, {1}, {1, 2}, {0, 3}, {0, 1}}) {
      if (rows.back() >= count_of(out)) continue;
      Evidence e = unread(out, rows);
      show(page, list(out) + " without " + golden::word(rows), e, all);
      show(page, "one input wrong", e, {true, false, false});
      e.inputs[2].analytic(rows[0], 0) = 1e-3;
      show(page, "but one entry", e, all);
      e = unread(out, rows);
      e.inputs[1].analytic(0, 0) += 0.5;
      show(page, "and another error", e, all);
      e = unread(out, rows);
      e.inputs[0].unsure = 1;
      show(page, "not measured well", e, all);
      for (Operand& input : e.inputs) input.numeric = input.analytic;
      e.inputs[0].unsure = 0;
      e.inputs[0].analytic(0, 0) += 1;
      show(page, "not wanted either", e, all);
    }
  page.compare("unread.txt");
}

TEST_CASE("the first cause that fits, and maps of Jacobians, are golden/check/causes.txt") {
  Page page;
  for (const bool jacobian : {false, true})
    for (const double unsure : {0.0, 1.0})
      for (const int kind : {0, 1, 2, 3, 4}) {
        Evidence e = right({3}, {2}, plain_entry);
        Operand& x = e.inputs[0];
        e.jacobian = jacobian;
        x.unsure = unsure;
        if (kind == 1) x.analytic(1, 1) = std::nan("");
        if (kind == 2) x.ignores_upstream = true;
        if (kind == 3) x.analytic(0, 2) *= -1;
        if (kind == 4) x.analytic.values = scaled(x.analytic.values, 0.5);
        show(page, "kind " + std::to_string(kind), e, {true, false, false});
        Report known = report_of(e, {true, true, false});
        known.inputs[0].cause.name = "KNOWN BEFORE";
        explain(known, e);
        page.line(known.inputs[0].cause.name, known.inputs[0].cause.why,
                  known.inputs[1].cause.name);
      }
  page.compare("causes.txt");
}

}  // namespace gradus::check::evidence_cases
