#include "gradus/trace/derive.h"

#include <string>

#include "gradus/engine/base/error.h"
#include "gradus/tests/support/refusal.h"

namespace gradus::testing {
TEST_CASE("derive rejects unsupported einsum formulas and unknown names") {
  CHECK_REFUSES(ValueError, derive("i,j,k->ijk"), "i,j,k->ijk");
  for (const char* what : {"ii->i", "ij,kk->i", "...i->i", "a@->a", "ij->k", "ij,k->m", "i,j", ""})
    CHECK_REFUSES(ValueError, derive(what), "derive");
  CHECK_REFUSES(ValueError, derive("sofmax"), "sofmax", "softmax");
}

TEST_CASE("derive and derivation return the text of each name") {
  for (const std::string& name : derivation_names()) {
    CHECK(derive(name) == derivation(name));
    CHECK(derivation(name).size() > 40);
    CHECK(derivation(name + " ").empty());
  }
}

}  // namespace gradus::testing
