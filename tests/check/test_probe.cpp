// Probes and moves: how many, in which order, of which numbers; and contractions against sums.
#include "gradus/check/raw/special_points.h"
#include "gradus/tests/check/golden.h"

namespace gradus::check {
namespace {

using golden::Page;

std::string said(const Slope& s) {
  std::string text;
  for (const double v :
       {s.value, s.change, s.noise, s.jitter, s.left, s.right, s.step, s.turn, s.bend})
    text += golden::shown(v) + " ";
  return text + (s.kink ? "kink " : "") + (s.declared ? "declared" : "");
}

std::vector<Slope> column() {
  return {{.value = 1,
           .change = 0.5,
           .noise = 0.25,
           .jitter = 0.125,
           .left = 1,
           .right = 1,
           .step = 0.5,
           .turn = 2,
           .bend = 4},
          {.value = -2,
           .change = 0.25,
           .noise = 0.75,
           .jitter = 0.5,
           .left = -3,
           .right = 1.5,
           .step = 0.25,
           .turn = 1,
           .bend = 3,
           .kink = true},
          {.value = 3,
           .change = -1,
           .noise = 0.5,
           .jitter = 0,
           .left = 9,
           .right = 8,
           .kink = true,
           .declared = true},
          {}};
}

}  // namespace

TEST_CASE("probes, moves and samples are golden/check/probes.txt") {
  Page page;
  for (const std::size_t count : {0U, 1U, 2U, 5U, 9U})
    for (const std::size_t some : {0U, 1U, 3U, 5U, 20U}) {
      Random random(count + 100 * some);
      const Values all_of{2, -1, 4, 8, 16, -32, 1, 1, 1};
      const Values gradient(all_of.begin(), all_of.begin() + static_cast<std::ptrdiff_t>(count));
      const std::vector<std::size_t> chosen = sample(count, some, random);
      page.line("sample", count, some, chosen, "then",
                static_cast<std::int64_t>(random.below(1000)));
      for (const int dense : {0, 2}) {
        for (const Probe& probe : make_probes(count, some, dense, random))
          page.line(probe.dense() ? "dense" : "row " + std::to_string(*probe.row), probe.weight,
                    probe.upstream(count));
        for (const bool all : {false, true})
          for (const Move& move : make_moves(Values(count, -3.0), all, some, dense, random))
            page.line(move.along() ? "along" : "element " + std::to_string(*move.element),
                      move.direction, move.of(gradient));
      }
    }
  Random random(3);
  for (const Move& move : make_moves({0, 1e-3, 50, -2, 7}, false, 1, 3, random))
    page.line(move.direction);
  const double uniform = random.uniform(), between = random.between(-3, 5);
  const auto below = random.below(7);
  const double first = random.upstream();
  page.line(uniform, between, below, first, random.upstream());
  page.compare("probes.txt");
}

TEST_CASE("contractions are sums: golden/check/contractions.txt") {
  Page page;
  const std::vector<Slope> slopes = column();
  const std::vector<Slope> finite(slopes.begin(), slopes.begin() + 3);
  for (const double w : {1.0, -2.0, 0.5, 0.0})
    for (const Slope& s : slopes) page.line(said(scaled(s, w)));
  for (const Values& weights :
       {Values{1, 1, 1}, Values{-2, 0.5, 3}, Values{0, -1, 0}, Values{0, 0, 0}, Values{1.5, 0, -1}})
    page.line(weights, said(contract(finite, {weights})));
  page.line(said(contract(slopes, {{1, 1, 1, 0}})), said(contract(slopes, {{1, 1, 1, 1}})));
  std::vector<Probe> probes{{{1.5}, 2}, {{1, -2, 3}}, {{-2}, 0}};
  for (const Slope& s : contracted(finite, probes)) page.line(said(s));
  for (std::size_t from = 0; from <= 4; ++from)
    for (std::size_t to = from; to <= 4; ++to) page.line(from, to, part_of({1, 2, 3, 4}, from, to));
  page.compare("contractions.txt");
}

TEST_CASE("special points and those beside them are golden/check/special_points.txt") {
  Page page;
  const auto show = [&](const std::vector<Input>& inputs) {
    std::string text;
    for (const Input& input : beside(inputs, 5)) text += golden::word(input.values) + " ";
    page.line("[" + special_point(inputs) + "]", text);
  };
  for (const Values& x : {Values{1, 2, 3},
                          {0, 2},
                          {2, 2},
                          {0.6, 0.8},
                          {1},
                          {-1},
                          {0.6, -0.8 - 1e-13},
                          {0.6, 0.8 + 1e-11},
                          {},
                          {-0.0, 5},
                          {1e-3, 80, -3},
                          {1, 0}}) {
    show({{"x", {}, x}});
    show({{"x", {}, x, false}, {"y", {}, {7}}});
    show({{"x", {}, x, true, true}, {"y", {}, {2}}});
    show({{"y", {}, {2, 5}}, {"x", {}, x}});
  }
  const Slope flat{.value = 0, .noise = 1e-13}, bent{.value = 0, .noise = 1e-13, .bend = 1},
      steep{.value = 2};
  for (const Slope& s : {flat, bent, steep})
    for (const Slope& t : {flat, bent, steep}) {
      const std::vector<Input> inputs{{"x", {}, {3}}, {"y", {}, {4}}, {"z", {}, {5}}};
      page.line(special_point(inputs, {{{{0}}, {{s}}}, {{{0}}, {{t}}}}));
    }
  page.compare("special_points.txt");
}

}  // namespace gradus::check
