#include "gradus/ops/einsum.h"

#include <string>

#include "gradus/ops/shape_ops.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/registry.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing {

TEST_CASE("the result of einsum has one axis for each output letter") {
  const Tensor a = values({2, 3}), b = values({3, 5});
  CHECK(einsum("ij,jk->ki", a, b).shape() == Shape{5, 2});
  CHECK(einsum("ij,kl->likj", a, b).shape() == Shape{5, 2, 3, 3});
  CHECK(einsum("ij,ji->", a, transpose(a)).shape() == Shape{});
  CHECK(einsum("...j->j...", a).shape() == Shape{3, 2});
  const Tensor one = values({1, 3}), several = values({5, 3});  // sizes of 1 in "..." broadcast
  CHECK(einsum("...j,...j->...", one, several).shape() == Shape{5});
  CHECK(einsum("...j,...j->...", several, one).shape() == Shape{5});
}

TEST_CASE("einsum rejects characters other than letters and repeated letters") {
  const Tensor x = values({2, 3});
  for (const std::string symbol : {"@", "[", "`", "{", "0"})
    for (const std::string& formula : {symbol + "j->j", "j" + symbol + "->j"})
      CHECK(has(message_of<ValueError>([&] { einsum(formula, x); }),
                "einsum: '" + symbol + "' in \"" + formula + "\" is not a letter"));
  CHECK_REFUSES(ValueError, einsum("iij->j", values({2, 2, 3})), "einsum", "\"iij\"");
  CHECK_REFUSES(ShapeError, einsum("i->i", x), "[2, 3]", "1");
  CHECK_REFUSES(ShapeError, einsum("i,ij->j", x, x), "[2, 3]", "1");
  CHECK_REFUSES(ShapeError, einsum("ij,i->j", x, x), "[2, 3]", "2");
}

}  // namespace gradus::testing
