// docs/attention.md draws masks: they must look so.
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "gradus/ops/mask/mask.h"
#include "gradus/tests/support/catch.h"

namespace gradus::testing {

TEST_CASE("docs/attention.md draws each mask as it is") {
  std::ifstream file(GRADUS_SOURCE_DIR "/docs/attention.md");
  std::ostringstream text;
  text << file.rdbuf();
  const auto blocks =
      block_sparse_mask({.length = 16, .block = 2, .window = 1, .global = 1, .random = 1});
  const std::vector<std::pair<std::string, std::string>> drawn = {
      {"causal_mask()", causal_mask().picture(4, 5)},
      {"causal_lower_right(4, 5)", causal_lower_right(4, 5).picture(4, 5)},
      {"causal_lower_right(5, 3)", causal_lower_right(5, 3).picture(5, 3)},
      {"window_mask(2)", window_mask(2).picture(6, 6)},
      {"window_mask(1, 1)", window_mask(1, 1).picture(6, 6)},
      {"padding_mask({3})", padding_mask({3}).picture(2, 5)},
      {"causal_mask() | prefix_mask(3)", (causal_mask() | prefix_mask(3)).picture(6, 6)},
      {"block_sparse_mask({.length = 16, .block = 2, .window = 1, .global = 1, .random = 1})",
       blocks.picture(16, 16)},
      {"remap_positions(window_mask(2), {{4, 5}}, {{4, 5, 2, 3}})",
       remap_positions(window_mask(2), {{4, 5}}, {{4, 5, 2, 3}}).picture(2, 4)},
  };
  for (const auto& [code, picture] : drawn) {
    const std::string quoted = "```\n" + code + "\n" + picture + "```\n";
    INFO("docs/attention.md should have\n" << quoted);
    CHECK(text.str().find(quoted) != std::string::npos);
  }
}

}  // namespace gradus::testing
