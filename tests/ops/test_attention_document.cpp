#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "gradus/engine/backward.h"
#include "gradus/ops/attention/attention.h"
#include "gradus/ops/create.h"
#include "gradus/ops/mask/mask.h"
#include "gradus/ops/mask/rule.h"
#include "gradus/tests/support/catch.h"

namespace gradus::testing::test_attention_document {
namespace {

/// A query attends to itself and to every d-th key before it.
class Dilated final : public Mask::Rule {
 public:
  explicit Dilated(std::int64_t d) : d_(d) {}
  void row(const QueryKey& first, std::int64_t n, bool* allowed) const override {
    for (std::int64_t j = 0; j < n; ++j) {
      const std::int64_t distance = first.query - (first.key + j);
      allowed[j] = distance >= 0 && distance % d_ == 0;
    }
  }
  Coverage coverage(const MaskBlock& b) const override {
    return b.last_query <= b.first_key ? Coverage::none : Coverage::some;
  }
  std::string describe() const override { return "every " + std::to_string(d_); }

 private:
  std::int64_t d_;
};

std::string contents(const std::string& path) {
  std::ifstream file(std::string(GRADUS_SOURCE_DIR "/") + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("docs/explanation/attention.md draws each mask correctly") {
  const std::string text = contents("docs/explanation/attention.md");
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
      {"Mask(std::make_shared<Dilated>(3))", Mask(std::make_shared<Dilated>(3)).picture(7, 7)},
  };
  for (const auto& [code, picture] : drawn) {
    const std::string quoted = "```\n" + code + "\n" + picture + "```\n";
    INFO("docs/explanation/attention.md should have\n" << quoted);
    CHECK(text.find(quoted) != std::string::npos);
  }
}

TEST_CASE(
    "the custom mask in docs/explanation/attention.md hides the same pairs as its dense form") {
  const std::string own = contents("tests/ops/test_attention_document.cpp");
  const std::size_t begin = own.find("/// A query attends to itself"),
                    end = own.find("\n};\n", begin) + 4;
  CHECK(contents("docs/explanation/attention.md").find(own.substr(begin, end - begin)) !=
        std::string::npos);
  const Tensor q = randn({2, 2, 40, 4}, Dtype::f64).requires_grad_(),
               k = randn({2, 2, 70, 4}, Dtype::f64), v = randn({2, 2, 70, 4}, Dtype::f64);
  const Mask mask = Mask(std::make_shared<Dilated>(3)) & padding_mask({70, 33});
  const Tensor y = scaled_dot_product_attention(q, k, v, mask);
  const Tensor z = scaled_dot_product_attention(q, k, v, dense_mask(mask.dense({2, 1, 40, 70})));
  // A sum has at most 14 keys and |v| < 5, so a different order changes it by at most 70 · 2⁻⁵².
  // For dq, the differences pass through three matmuls.
  CHECK((y - z).abs().max().item() < 2e-14);
  CHECK((grad(y.sum(), q) - grad(z.sum(), q)).abs().max().item() < 1e-13);
}

}  // namespace gradus::testing::test_attention_document
