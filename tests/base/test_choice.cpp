// The choice of the matmul backend by linked library and GRADUS_BLAS, and its description.
#include <string>
#include <vector>

#include "gradus/base/error.h"
#include "gradus/base/products/backend.h"
#include "gradus/base/simd.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/thrown.h"

using namespace gradus::products;
namespace simd = gradus::simd;
using gradus::testing::has;
using gradus::testing::message_of;

namespace {

constexpr Library kAll[] = {Library::none, Library::openblas, Library::mkl, Library::blis,
                            Library::other};

struct Rule {
  Library library;
  Backend backend;
  std::string reason;
};

bool is(const Choice& choice, Backend backend, const std::string& reason) {
  return choice.backend == backend && choice.level == simd::level() && choice.reason == reason;
}

}  // namespace

TEST_CASE("the linked library selects the matmul backend by rule") {
  const bool plain = chosen().backend == Backend::plain;  // the build says so
  const std::vector<Rule> rules{
      {Library::none, Backend::own, "no library is linked"},
      {Library::mkl, Backend::library, "it was chosen when configuring"},
      {Library::blis, Backend::library, "it was chosen when configuring"},
      {Library::other, Backend::own, "nothing is known of the library"},
      GRADUS_HAS_LEVELS
          ? Rule{Library::openblas, Backend::own, "ours need not know the processor's name"}
          : Rule{Library::openblas, Backend::library,
                 "ours are not measured on this architecture"}};
  for (const Rule& rule : rules) {
    CAPTURE(rule.reason);
    if (plain)
      CHECK(is(choice_of("", rule.library), Backend::plain, "built with -DGRADUS_BLAS=plain"));
    else
      CHECK(is(choice_of("", rule.library), rule.backend, rule.reason));
  }
}

TEST_CASE("GRADUS_BLAS overrides the rule and rejects unavailable backends") {
  const bool plain = chosen().backend == Backend::plain;
  const auto refusal = [](const char* asked, Library library) {
    return message_of<gradus::ValueError>([&] { choice_of(asked, library); });
  };
  for (const Library library : kAll) {
    CAPTURE(static_cast<int>(library));
    for (const char* wrong : {"mkl", "Own", "library ", "0"})
      CHECK(refusal(wrong, library) ==
            "GRADUS_BLAS=" + std::string(wrong) + " is neither own nor library");
    if (plain) continue;
    CHECK(is(choice_of("own", library), Backend::own, "GRADUS_BLAS=own"));
    if (library == Library::none)
      CHECK(refusal("library", library) ==
            "GRADUS_BLAS=library: this build links none; configure with -DGRADUS_BLAS=OpenBLAS");
    else
      CHECK(is(choice_of("library", library), Backend::library, "GRADUS_BLAS=library"));
  }
}

TEST_CASE("the description of a backend includes the reason for its choice") {
  using simd::Level;
  CHECK(describe({Backend::plain, Level::avx2, "so"}) == "plain loops: so");
  CHECK(describe({Backend::library, Level::avx2, "so"}) == "the BLAS library: so");
  CHECK(describe({Backend::own, Level::avx2, "so"}) == "own, avx2: so");
  CHECK(describe({Backend::own, Level::baseline, "else"}) == "own, baseline: else");
  CHECK(describe() == describe(chosen()));
}
