// Reference formulas, selected by a scope or by the environment of the process.
#include "gradus/engine/grad_mode.h"

#include "gradus/base/platform.h"
#include "gradus/tests/support/catch.h"

namespace gradus {

TEST_CASE("formula_wanted follows the innermost scope") {
  const bool always = platform::is_switched_on("GRADUS_FORMULA");
  {
    const FormulaScope on;
    CHECK(formula_wanted());
    {
      const FormulaScope off(false);
      CHECK(formula_wanted() == always);
    }
    CHECK(formula_wanted());
  }
  CHECK(formula_wanted() == always);
}

}  // namespace gradus
