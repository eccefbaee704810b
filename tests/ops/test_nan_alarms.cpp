// Tests that the NaN alarm accepts the infinities and empty rows that samples contain on purpose.
#include <string>

#include "gradus/engine/grad_mode.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/registry_run.h"
#include "gradus/trace/nan_finder.h"

namespace gradus::testing {

TEST_CASE("no sample raises a false NaN alarm in kernels, formulas or double backward") {
  for (const Sample& sample : all_samples()) {
    CAPTURE(sample.op, sample.what);
    for (const bool formula : {false, true}) {
      const FormulaScope how(formula);
      std::string report;
      const trace::NanFinder finder([&](const std::string& what) { report = what; });
      run(sample);
      run(sample, sample.inputs, wanted_inputs(sample), {},
          sample.second ? Backward::recorded : Backward::kernels);
      CHECK(report == "");
    }
  }
}

}  // namespace gradus::testing
