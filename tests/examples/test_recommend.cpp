#include <cmath>

#include "gradus/engine/base/error.h"
#include "gradus/examples/apps/recommend/ranking.h"
#include "gradus/examples/apps/recommend/world.h"
#include "gradus/tests/examples/gpt_program.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing::test_recommend {
namespace {

using namespace examples;

TEST_CASE("items are found by name or number") {
  CHECK(name_of(1) == "Silent Harbour");
  CHECK(name_of(18) == "Amber Comet");
  CHECK(name_of(kItems) == "Tender Shadow");
  for (std::int64_t item = 1; item <= kItems; ++item) CHECK(item_of(name_of(item)) == item);
  CHECK(item_of("amber cOMET") == 18);
  CHECK(item_of("256") == 256);
  CHECK_REFUSES(IndexError, item_of("257"), "[1, 256]", "257");
  CHECK_REFUSES(IndexError, item_of("0"), "[1, 256]", "0");
  CHECK_REFUSES(ValueError, item_of("Amber"), "\"Amber\"");
}

TEST_CASE("histories follow the rules of the synthetic world") {
  const std::vector<History> all = histories(400, 3);
  CHECK(all == histories(400, 3));
  CHECK(histories(5, 3)[4] == all[4]);
  CHECK(histories(5, 4)[4] != all[4]);
  const auto genre = [](std::int64_t item) { return (item - 1) / kShelf; };
  int triples = 0, three_alike = 0, returns = 0, far_returns = 0, on = 0, back = 0;
  for (const History& h : all) {
    REQUIRE(std::ssize(h) == kLength);
    std::vector<std::int64_t> last(static_cast<std::size_t>(kGenres), -1);
    int steps[2] = {0, 0};  // steps up and down the shelf
    for (std::size_t i = 0; i < h.size(); ++i) {
      REQUIRE(1 <= h[i]);
      REQUIRE(h[i] <= kItems);
      const auto g = static_cast<std::size_t>(genre(h[i]));
      if (i > 1 && genre(h[i - 2]) == genre(h[i - 1])) {
        ++triples;
        three_alike += genre(h[i]) == genre(h[i - 1]);
      }
      if (last[g] >= 0) {
        const auto before = h[static_cast<std::size_t>(last[g])];
        ++returns;
        far_returns += static_cast<std::int64_t>(i) - last[g] > 5;
        steps[0] += (before - h[i] + 1 + kShelf) % kShelf == 0;
        steps[1] += (before - h[i] - 1 + kShelf) % kShelf == 0;
      }
      last[g] = static_cast<std::int64_t>(i);
    }
    on += std::max(steps[0], steps[1]);
    back += std::min(steps[0], steps[1]);
  }
  CHECK(three_alike < triples / 10);  // only items in fashion cause these
  CHECK(on > returns * 3 / 4);        // most returns take the next item on the shelf
  CHECK(back < returns / 20);         // few users go against their usual direction
  CHECK(far_returns > returns / 10);  // some users return to shelves that they left long ago
}

TEST_CASE("ranks, hit rate and NDCG follow their definitions") {
  Scores scores(kItems + 1, 0.0);
  scores[0] = 100;  // padding must be ignored
  scores[5] = 3, scores[6] = 2, scores[7] = 2, scores[8] = 1;
  CHECK(rank_of(5, scores) == 1);
  CHECK(rank_of(6, scores) == 3);  // other tied items rank higher
  CHECK(rank_of(8, scores) == 4);
  CHECK(rank_of(9, scores) == kItems);
  const Quality quality = quality_of({1, 3, 10, 11, 200});
  CHECK(quality.hit_rate == 0.6);
  CHECK(std::abs(quality.ndcg - (1 + 0.5 + 1 / std::log2(11.0)) / 5) < 1e-15);
}

TEST_CASE("popularity and Markov baselines rank by their counts") {
  const std::vector<History> all = {{1, 2, 3, 1, 2, 4}, {9, 2, 3, 3}};
  const Scores counts = popularity(all);
  CHECK(counts[2] == 3);
  CHECK(counts[3] == 3);
  CHECK(counts[5] == 0);
  const Markov chain(all);
  CHECK(rank_of(3, chain.after(2)) == 1);  // 2 → 3 twice, 2 → 4 once
  CHECK(rank_of(4, chain.after(2)) == 2);
  CHECK(rank_of(2, chain.after(1)) == 1);
  CHECK(rank_of(3, chain.after(1)) == 2);  // 1 → 3 is unseen, so popularity decides
  CHECK(rank_of(3, chain.after(9, 2)) == 1);
  // 3 and 4 follow (1, 2) once each; after 2, 3 is more likely.
  CHECK(rank_of(4, chain.after(1, 2)) == 2);
  CHECK(rank_of(3, chain.after(8, 2)) == 1);  // the pair is unseen, so only item 2 counts
  CHECK(chain.after(1, 2)[4] > 1);
  CHECK(chain.after(8, 2)[3] < 1);
}

const std::string kTiny =
    " --users 60 --batch 8 --width 16 --heads 2 --layers 1 --threads 1 --out ";

Outcome run(const Workplace& here, const std::string& arguments) {
  return here.shell("'" GRADUS_BINARY_DIR "/recommend' " + arguments);
}

TEST_CASE("recommend reports usage errors in one line with exit code 2") {
  const Workplace here;
  check_refused(run(here, ""), {"subcommand"});
  check_refused(run(here, "for nowhere 3"), {"nowhere", "no recommend run"});
  check_refused(run(here, "for nowhere 300"), {"item 300", "[1, 256]"});
  check_refused(run(here, "for nowhere 'Amber Cow'"), {"\"Amber Cow\"", "Silent Harbour"});
  check_refused(run(here, "for nowhere"), {"items is required"});
  check_refused(run(here, "eval text.txt"), {"text.txt", "no recommend run"});
  CHECK_FALSE(fs::exists(here.directory / "x"));
}

TEST_CASE("recommend trains, recommends and evaluates") {
  const Workplace here;
  const Outcome whole = run(here, "train --steps 80 --eval-every 20" + kTiny + "run");
  CAPTURE(whole.err);
  REQUIRE(whole.code == 0);
  for (const char* words : {"the last item of 60 users, out of 256", "the model  ",
                            "Markov, from the last two items", "popularity"})
    CHECK(has(whole.out, words));

  const Outcome offered = run(here, "for run 'Silent Harbour' 'amber harbour' 77");
  CHECK(offered.out.rfind("after Silent Harbour, Amber Harbour, " + name_of(77) + "\n", 0) == 0);
  CHECK(std::count(offered.out.begin(), offered.out.end(), '%') == 5);
  std::string many, last;
  for (int i = 1; i <= 50; ++i) many += std::to_string(i) + " ";
  for (int i = 11; i <= 50; ++i) last += std::to_string(i) + " ";
  const Outcome of_many = run(here, "for run " + many);  // only the last 40 items count
  CHECK(of_many.code == 0);
  CHECK(of_many.out == run(here, "for run " + last).out);
  CHECK(has(whole.out, run(here, "eval run").out));
}

}  // namespace
}  // namespace gradus::testing::test_recommend
