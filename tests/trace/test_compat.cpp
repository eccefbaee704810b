// Tests that a trace keeps the names on which its readers depend (docs/reference/trace_format.md).
#include <algorithm>
#include <fstream>

#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/trace/tape.h"
#include "gradus/train/optim/optim.h"

namespace gradus::testing::test_compat {
namespace {

template <class F>
void for_tables(const Json& trace, F f) {
  for (const auto& [key, value] : trace.items())
    if (value.is_object() && value.contains("columns")) f(key, value);
}

}  // namespace

TEST_CASE("a trace has each key and column that version 0.1.0 wrote, and the same content") {
  std::ifstream file(GRADUS_SOURCE_DIR "/tests/compat/v1/trace.json");
  const ReadTape old(std::string(std::istreambuf_iterator<char>(file), {}));

  Tensor w = tensor({{1, 2}, {3, 4}}).requires_grad_();
  optim::SGD sgd({{"w", w}}, {.lr = 0.5});
  Trace trace({.title = "two rows"});
  sum(square(matmul(tensor({{1, 0}, {0, 2}}), w))).backward();
  sgd.step();
  const ReadTape now(trace);

  CHECK(now.all.at("schema") == old.all.at("schema"));
  for (const auto& [key, value] : old.all.items()) {
    CAPTURE(key);
    CHECK(now.all.contains(key));
  }
  for (const auto& [key, value] : old.all.at("meta").items()) {
    CAPTURE(key);
    CHECK(now.all.at("meta").contains(key));
  }
  std::size_t tables = 0;
  for_tables(old.all, [&](const std::string& key, const Json& table) {
    const Json& columns = now.all.at(key).at("columns");
    for (const Json& column : table.at("columns")) {
      CAPTURE(key, column);
      CHECK(std::find(columns.begin(), columns.end(), column) != columns.end());
    }
    ++tables;
  });
  CHECK(tables >= 8);

  for (const ReadTape* each : {&old, &now}) {
    REQUIRE(each->ops("matmul").size() == 1);
    const std::size_t product = each->ops("matmul").front();
    CHECK(each->numbers(each->at("ops", product, "out")) == std::vector<double>{1, 2, 6, 8});
    REQUIRE(each->count("updates") == 1);
    const auto update = [&](const char* column) { return each->at("updates", 0, column); };
    CHECK((update("name") == "w" && update("rate") == 0.5));
    const std::vector<double> before = each->numbers(update("before")),
                              after = each->numbers(update("after")),
                              grad = each->numbers(update("grad"));
    REQUIRE((before.size() == 4 && grad.size() == 4));
    for (std::size_t i = 0; i < 4; ++i) CHECK(after.at(i) == before[i] - 0.5 * grad[i]);
    CHECK(each->at("ops", each->ops("sum").front(), "in") ==
          Json::array({each->at("ops", each->ops("square").front(), "out")}));
  }
}

}  // namespace gradus::testing::test_compat
