// What positions, convolution, einsum, linear attention and checkpoints refuse.
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/support/mistakes.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing {
namespace {

void add_rotary(Mistakes& all) {
  all.push_back(
      {"rotate", "rotate: x is [1, 2, 3, 5], not [batch, heads, length, an even width]", [] {
         rotate(values({1, 2, 3, 5}), std::vector<std::int64_t>{0, 1, 2});
       }});
  all.push_back(
      {"rotate", "rotate: 4 positions for x [2, 1, 3, 2]: give 3, one for each place, or", [] {
         rotate(values({2, 1, 3, 2}), std::vector<std::int64_t>{0, 1, 2, 3});
       }});
  all.push_back({"rotate", "rotate: base is 0, but must be positive", [] {
                   rotate(values({1, 1, 1, 2}), std::vector<std::int64_t>{1}, {.base = 0});
                 }});
}

}  // namespace

Mistakes token_mistakes() {
  Mistakes all;
  add_rotary(all);
  return all;
}

}  // namespace gradus::testing
