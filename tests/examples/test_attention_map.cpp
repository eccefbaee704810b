#include "gradus/examples/apps/support/plot/attention_map.h"
#include "gradus/examples/apps/support/plot/label.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/support/refusal.h"

namespace gradus::testing::test_attention_map {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++found;
  return found;
}

plot::AttentionMap small_map() {
  return {"block 0, head 1",
          tensor(std::vector<double>{1, 0, 0, 0.25, 0.75, 0}, {2, 3}),
          {"the", " cat"},
          {"the", " cat", "."}};
}

}  // namespace

TEST_CASE("cells are colored from white to dark blue, relative to the largest weight") {
  const std::string drawn = plot::svg(small_map());
  CHECK(contains(drawn, "<title>block 0, head 1</title>"));
  CHECK(count(drawn, "<path") == 3);  // for 1, 0.75 and 0.25; 0 is not drawn
  CHECK(contains(drawn, "<path fill=\"#08306b\" d=\"M0 0h1v1h-1z\"/>"));
  CHECK(contains(drawn, "d=\"M1 1h1v1h-1z\"/>"));
  CHECK(contains(drawn, ">1.000</text>"));
  CHECK(contains(drawn, ">␣cat</text>"));
}

TEST_CASE("labels are escaped and abbreviated") {
  CHECK(plot::label("a\nb\t\x01\x7F") == "a↵b⇥␁␡");
  CHECK(plot::label(" the") == "␣the");
  CHECK(plot::label("a rather long token, this") == "a␣rather␣long…");
  CHECK(plot::label("日本語日本語日本語") == "日本語日本語…");
  CHECK(plot::label("\xFF") == "\xEF\xBF\xBD");
  CHECK(plot::label("<&>\"'") == "<&>\"'");
  CHECK(plot::columns_of("a日🙂") == 5);

  plot::AttentionMap map = small_map();
  map.title = "<script> & \"more\"";
  map.keys = {"</text>", "\"&\"", "\n"};
  const std::string drawn = plot::svg(map);
  CHECK(contains(drawn, "&lt;script&gt; &amp; &quot;more&quot;"));
  CHECK(contains(drawn, ">&lt;/text&gt;</text>"));
  CHECK(contains(drawn, ">&quot;&amp;&quot;</text>"));
  CHECK(contains(drawn, ">↵</text>"));
}

TEST_CASE("long sequences are drawn in at most 128 cells per side, by maximum") {
  Tensor weights = zeros({300, 200});
  weights.mutable_data<float>()[297 * 200 + 198] = 0.5f;
  const std::vector<std::string> queries(300, "q"), keys(200, "k");
  const std::string drawn = plot::svg({"long", weights, queries, keys});
  CHECK(contains(drawn, "d=\"M99 99h1v1h-1z\"/>"));
  CHECK(count(drawn, "<path") == 1);
  CHECK(count(drawn, "<text") < 100);  // only the labels that fit
  CHECK(drawn.size() < 30'000);
}

TEST_CASE("head_of selects one head of one example") {
  seed(3);
  const Tensor weights = softmax(randn({2, 3, 4, 5}), -1);  // B = 2, H = 3, T = 4, S = 5
  const std::vector<std::string> q(4, "q"), k(5, "k");
  const plot::AttentionMap head = plot::head_of({"one", weights}, 2, q, k, 1);
  CHECK(head.title == "one, head 2");
  CHECK(same(head.weights.contiguous(), select(select(weights, 0, 1), 0, 2).contiguous()));
}

TEST_CASE("a map rejects wrong weights and labels") {
  const auto fault = [](auto change) {
    plot::AttentionMap map = small_map();
    change(map);
    return message_of<Error>([&] { plot::svg(map); });
  };
  CHECK(contains(fault([](auto& m) { m.weights = ones({2}); }), "weights must be [T, S], got [2]"));
  CHECK(contains(fault([](auto& m) { m.weights = ones({0, 3}); }), "[0, 3] are empty"));
  CHECK(contains(fault([](auto& m) { m.keys.pop_back(); }),
                 "2 and 2 labels for weights [2, 3]. Pass one label per query and per key."));
  CHECK(contains(fault([](auto& m) { m.weights = m.weights * -1.0; }), "not negative, got -1"));
  CHECK(contains(fault([](auto& m) { m.weights = m.weights / 0.0; }), "must be finite"));
  const Tensor w = ones({3, 2, 2});
  const std::vector<std::string> two = {"a", "b"};
  CHECK_REFUSES(IndexError, plot::head_of({"one", w}, 3, two, two), "3");
  CHECK_REFUSES(IndexError, plot::head_of({"one", ones({1, 3, 2, 2})}, 0, two, two, 1),
                "[1, 3, 2, 2]", "1");
  CHECK_REFUSES(ShapeError, plot::head_of({"one", ones({2, 2})}, 0, two, two), "[H, T, S]",
                "[B, H, T, S]");
}

}  // namespace gradus::testing::test_attention_map
