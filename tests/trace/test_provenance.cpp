// Tests the provenance of storages.
#include "gradus/trace/provenance.h"

#include <string>

#include "gradus/ops/create.h"
#include "gradus/tests/support/catch.h"

namespace gradus::testing::test_provenance {
namespace {

TEST_CASE("a note about a tensor applies to its views and to nothing else") {
  trace::Provenance<std::string> known;
  const Tensor x = ones({2, 3});
  CHECK(known.of(x) == nullptr);
  CHECK(known.of(Tensor()) == nullptr);
  known.note(x, "x");
  REQUIRE(known.of(transpose(x, 0, 1)) != nullptr);
  CHECK(*known.of(transpose(x, 0, 1)) == "x");
  CHECK(known.of(ones({2, 3})) == nullptr);
  known.note(transpose(x, 0, 1), "its view");
  CHECK(*known.of(x) == "its view");
  known.clear();
  CHECK(known.of(x) == nullptr);
}

TEST_CASE("a note about a freed storage does not apply to the next storage at its address") {
  trace::Provenance<int> known;
  const Tensor kept = ones({2});
  known.note(kept, -1);
  for (int i = 0; i < 20'000; ++i) {  // makes the pool reuse buffers
    const Tensor x = ones({2});
    CHECK(known.of(x) == nullptr);
    known.note(x, i);
    CHECK(*known.of(x) == i);
  }
  CHECK(*known.of(kept) == -1);
}

}  // namespace
}  // namespace gradus::testing::test_provenance
