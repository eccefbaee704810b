#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <numbers>
#include <random>
#include <set>
#include <sstream>

#include "gradus/tests/io/files.h"
#include "gradus/train/data.h"
#include "gradus/train/metrics.h"
#include "gradus/train/optim/schedule.h"
#include "gradus/train/progress.h"

namespace gradus::testing::test_data_law {
namespace {

using Random = std::mt19937_64;
using Ids = std::vector<std::int64_t>;
using Pairs = std::vector<std::pair<train::Sequence, train::Sequence>>;

std::int64_t between(Random& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

train::Sequence any_sequence(Random& random, std::int64_t least) {
  train::Sequence out(static_cast<std::size_t>(between(random, least, 7)));
  for (std::int64_t& each : out) each = between(random, 10, 99);
  return out;
}

train::Sequence row_of(const Tensor& ids, std::int64_t row, std::int64_t length, std::int64_t pad) {
  const Ids all = ids.to_vector<std::int64_t>();
  const auto begin = all.begin() + row * ids.size(1), end = begin + ids.size(1);
  CHECK(std::all_of(begin + length, end, [&](std::int64_t id) { return id == pad; }));
  return {begin, begin + length};
}

Pairs pairs_of(const train::PairBatch& batch, const train::PairTokens& tokens) {
  Pairs out;
  const Ids sources = batch.source.lengths, inputs = batch.input.lengths;
  std::int64_t count = 0;
  for (std::int64_t row = 0; row < std::ssize(sources); ++row) {
    const std::int64_t length = inputs[static_cast<std::size_t>(row)];
    train::Sequence input = row_of(batch.input.ids, row, length, tokens.pad),
                    output = row_of(batch.output, row, length, tokens.pad);
    CHECK(input.front() == tokens.begin);
    CHECK(output.back() == tokens.end);
    input.erase(input.begin()), output.pop_back();
    CHECK(input == output);
    count += length;
    out.emplace_back(
        row_of(batch.source.ids, row, sources[static_cast<std::size_t>(row)], tokens.pad), output);
  }
  CHECK(batch.tokens == count);
  CHECK(batch.source.ids.size(1) == *std::max_element(sources.begin(), sources.end()));
  CHECK(batch.output.size(1) == *std::max_element(inputs.begin(), inputs.end()));
  return out;
}

TEST_CASE("pair batches contain each pair once in order, or the pairs of their bucket") {
  Random random(1);
  for (const train::PairTokens tokens :
       {train::PairTokens{}, train::PairTokens{3, 4, 5}, train::PairTokens{5, 4, 3}})
    for (int round = 0; round < 6; ++round) {
      Pairs pairs;
      Ids longer;
      for (std::int64_t n = between(random, 1, 20); n > 0; --n) {
        pairs.emplace_back(any_sequence(random, 1), any_sequence(random, 0));
        longer.push_back(
            std::max(std::ssize(pairs.back().first), std::ssize(pairs.back().second) + 1));
      }
      const std::int64_t batch = between(random, 1, 6);
      const train::PairBatches data(pairs, batch, 9, tokens);
      Pairs once;
      for (const train::PairBatch& each : data.once()) {
        const Pairs more = pairs_of(each, tokens);
        CHECK(std::ssize(more) ==
              std::min<std::int64_t>(batch, std::ssize(pairs) - std::ssize(once)));
        once.insert(once.end(), more.begin(), more.end());
      }
      CHECK(once == pairs);
      const train::LengthBuckets buckets(longer, batch, 9);
      for (std::int64_t step = 0; step < 2 * buckets.batches_per_pass(); ++step) {
        Pairs expected;
        for (const std::int64_t i : buckets.at(step))
          expected.push_back(pairs[static_cast<std::size_t>(i)]);
        CHECK(pairs_of(data.at(step), tokens) == expected);
      }
    }
}

TEST_CASE("batches of a pool are not ordered by length") {
  Ids lengths(64);
  for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] = static_cast<std::int64_t>(i);
  // Each pool has 16 batches of similar lengths.
  const train::LengthBuckets buckets(lengths, 4, 2, 16);
  std::set<Ids> orders;
  for (std::int64_t pass = 0; pass < 4; ++pass) {
    Ids order;
    for (std::int64_t step = 0; step < 16; ++step) {
      Ids batch = buckets.at(16 * pass + step);
      std::sort(batch.begin(), batch.end());
      CHECK(batch.back() == batch.front() + 3);
      order.push_back(batch.front());
    }
    orders.insert(order);
  }
  CHECK(orders.size() == 4);
}

TEST_CASE("each shuffle of each pass has its own random numbers") {
  Ids lengths(16);
  for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] = static_cast<std::int64_t>(i);
  const train::LengthBuckets sorted(lengths, 1, 3, 16), plain(lengths, 1, 3, 1);
  std::set<Ids> seen;  // each element is one of 16! orders
  for (std::int64_t step = 0; step < 4 * 16;) {
    Ids places, order(16);
    for (int i = 0; i < 16; ++i, ++step) {
      // A batch has one sequence, whose id is its position in a pool sorted by length.
      places.push_back(sorted.at(step)[0]);
      order[static_cast<std::size_t>(places.back())] = plain.at(step)[0];
    }
    seen.insert(places), seen.insert(order);
  }
  CHECK(seen.size() == 8);
}

TEST_CASE("text windows are drawn by seed and step, or visited once in order") {
  Random random(4);
  std::set<Ids> seen;
  for (int round = 0; round < 20; ++round) {
    Ids tokens(static_cast<std::size_t>(between(random, 200, 260)));
    for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<std::int64_t>(i);
    const std::int64_t context = between(random, 1, 20), batch = between(random, 1, 5);
    const train::TokenBatches data(tokens, context, batch, static_cast<std::uint64_t>(round));
    std::int64_t at = 0;
    for (const train::Batch& each : data.once()) {
      const std::int64_t count = (std::ssize(tokens) - 1 - at) / context;
      const Shape expected = count > 0 ? Shape{std::min(batch, count), context}
                                       : Shape{1, std::ssize(tokens) - 1 - at};
      CHECK(each.x.shape() == expected);
      CHECK(each.y.shape() == expected);
      const Ids x = each.x.to_vector<std::int64_t>(), y = each.y.to_vector<std::int64_t>();
      for (std::size_t i = 0; i < x.size(); ++i, ++at) CHECK((x[i] == at && y[i] == at + 1));
    }
    CHECK(at == std::ssize(tokens) - 1);
    CHECK_THROWS_AS(train::TokenBatches(tokens, context, 0, 1), ValueError);
  }
  Ids numbered(1000);
  for (std::size_t i = 0; i < numbered.size(); ++i) numbered[i] = static_cast<std::int64_t>(i);
  for (std::uint64_t seed = 0; seed < 8; ++seed)
    for (std::int64_t step = 0; step < 8; ++step)
      seen.insert(train::TokenBatches(numbered, 3, 8, seed).at(step).x.to_vector<std::int64_t>());
  CHECK(seen.size() == 64);  // each batch is one of 997⁸ possible ones
}

TEST_CASE("each schedule follows its formula at each step and rejects a floor outside [0, 1]") {
  constexpr std::int64_t kTotal = 20, kDecay = 6;
  using Formula = std::function<double(double)>;  // takes the elapsed fraction of the decay
  for (const std::int64_t warmup : {0, 1, 5})
    for (const double floor : {0.0, 0.25, 1.0}) {
      CAPTURE(warmup, floor);
      const std::vector<std::tuple<optim::Schedule, std::int64_t, Formula>> all = {
          {optim::warmup_cosine(warmup, kTotal, floor), warmup,
           [&](double t) {
             return floor + (1 - floor) * (1 + std::cos(std::numbers::pi * t)) / 2;
           }},
          {optim::warmup_linear(warmup, kTotal, floor), warmup,
           [&](double t) { return 1 + (floor - 1) * t; }},
          {optim::warmup_stable_decay(warmup, kDecay, kTotal, floor), kTotal - kDecay,
           [&](double t) { return 1 + (floor - 1) * std::sqrt(t); }}};
      for (const auto& [schedule, from, formula] : all)
        for (std::int64_t step = 0; step < 2 * kTotal; ++step) {
          const double over = static_cast<double>(step - from) / static_cast<double>(kTotal - from);
          const double rising = static_cast<double>(step + 1) / static_cast<double>(warmup);
          const double expected = step < warmup ? rising : formula(std::clamp(over, 0.0, 1.0));
          CHECK(std::abs(schedule(step) - expected) <= 1e-15);  // a few rounding errors of 2⁻⁵³
        }
      if (warmup == 0) continue;
      const optim::Schedule noam = optim::noam(64, warmup);
      for (std::int64_t step = 0; step < 2 * kTotal; ++step) {
        const double s = static_cast<double>(step + 1), w = static_cast<double>(warmup);
        const double expected = std::min(std::pow(s, -0.5), s * std::pow(w, -1.5)) / 8;
        CHECK(std::abs(noam(step) - expected) <= 1e-15);
      }
    }
  for (const double floor : {-0.1, 1.1, std::nan("")}) {
    CHECK_THROWS_AS(optim::warmup_cosine(1, 9, floor), ValueError);
    CHECK_THROWS_AS(optim::warmup_linear(1, 9, floor), ValueError);
    CHECK_THROWS_AS(optim::warmup_stable_decay(1, 2, 9, floor), ValueError);
  }
}

TEST_CASE("metrics: any values are read back from complete lines, and a truncated line is rejected",
          "[once]") {
  const Folder here;
  const std::string path = here / "metrics.jsonl";
  Random random(6);
  using Points = std::vector<std::pair<double, double>>;
  const char* const names[] = {"loss", "held_out_loss", "a.loss", "x"};
  std::map<std::string, std::vector<Points>> expected;
  std::vector<std::size_t> ends = {0};
  {
    train::MetricsLog log(path, 0);
    for (int line = 0; line < 8; ++line) {
      std::vector<train::MetricsLog::Field> fields = {{"step", line}};
      for (const char* name : names) {
        Points points = line == 0 ? Points{} : expected[name].back();
        if (random() % 2 == 0) {
          const double value = std::bit_cast<double>(random());
          fields.emplace_back(name, value);
          if (std::isfinite(value)) points.emplace_back(line, value);
        }
        expected[name].push_back(points);
      }
      log.write(fields);
      ends.push_back(static_cast<std::size_t>(log.flush()));
    }
  }
  const std::string content = read_bytes(path);
  REQUIRE(content.size() == ends.back());
  for (std::size_t lines = 0, n = 0; n <= content.size(); ++n) {
    if (lines + 1 < ends.size() && n + 1 >= ends[lines + 1]) ++lines;  // complete line
    const bool cut = n > ends[lines];
    if (!cut && n + 1 < ends[lines]) continue;
    write_bytes(path, content.substr(0, n));
    for (const char* name : names) {
      if (cut) {
        CHECK_THROWS_AS(train::read_metric(path, name), FileError);
      } else {
        CHECK(train::read_metric(path, name) ==
              (lines == 0 ? Points{} : expected[name][lines - 1]));
      }
    }
  }
}

TEST_CASE("metrics reach the file without a flush except for the last lines") {
  const Folder here;
  train::MetricsLog log(here / "metrics.jsonl", 0);
  const std::string line = "{\"step\": 12345}\n";
  for (std::size_t i = 1; i <= 1000; ++i) {
    log.write({{"step", 12345}});
    const std::size_t there = std::filesystem::file_size(here / "metrics.jsonl");
    CHECK(there % line.size() == 0);
    CHECK(there + 4096 + line.size() >= i * line.size());
  }
}

TEST_CASE("a time is rounded to the nearest second") {
  for (int tenths = 0; tenths < 80'000; tenths += 3) {
    std::istringstream shown(train::clock_time(tenths / 10.0));
    int seconds = 0, part = 0, parts = 0;
    for (char colon = 0; shown >> part; shown >> colon, ++parts) {
      seconds = 60 * seconds + part;
      if (parts > 0) CHECK(part < 60);
    }
    CHECK(seconds == (tenths + 5) / 10);
    CHECK(parts == (seconds < 3600 ? 2 : 3));
  }
}

TEST_CASE("progress is shown at intervals, and always for lines that must stay") {
  std::FILE* file = std::tmpfile();
  REQUIRE(file);
  {
    train::Progress progress(0, 1000, 1, "step", file);
    for (int step = 1; step <= 100; ++step) progress.show(step, 1.0, "", step == 50);
  }
  std::rewind(file);
  int lines = 0;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) lines += c == '\n';
  CHECK(lines >= 2);
  CHECK(lines < 50);  // one line in five seconds
  std::fclose(file);
}

TEST_CASE("progress shows a changed goal, and no remaining time at its end") {
  std::FILE* file = std::tmpfile();
  REQUIRE(file);
  {
    train::Progress progress(0, 10, 1, "step", file);
    progress.aim_at(20);
    progress.show(20, 1.0, "", true);
  }
  std::rewind(file);
  char line[200] = {};
  REQUIRE(std::fgets(line, sizeof line, file));
  CHECK(contains(line, "step 20/20  loss 1.0000"));
  CHECK(contains(line, "left 0:00\n"));
  CHECK(std::fgetc(file) == EOF);
  std::fclose(file);
}

}  // namespace
}  // namespace gradus::testing::test_data_law
