// The last item of each history is for testing, and the item before it for validation.
#include "commands.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "gradus/engine/base/random.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/examples/apps/support/optimizer.h"
#include "gradus/examples/apps/support/run.h"
#include "gradus/io/text.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/ops/softmax.h"
#include "gradus/train/data.h"
#include "ranking.h"
#include "recommender.h"

namespace gradus::examples {
namespace {

constexpr std::int64_t kContext = kLength;
constexpr std::int64_t kJudges = 2000;  // users for validation

Recommender model_for(const RecommendFlags& flags) {
  return Recommender({.items = kItems,
                      .context = kContext,
                      .layers = flags.layers,
                      .heads = flags.heads,
                      .width = flags.width,
                      .dropout = flags.dropout});
}

/// Returns a batch. `next` has the items to predict; 0 means none.
train::Batch batch_of(const std::vector<History>& known, const std::vector<History>& next) {
  std::vector<std::int64_t> x, y;
  for (const History& each : known) x.insert(x.end(), each.begin(), each.end());
  for (const History& each : next) y.insert(y.end(), each.begin(), each.end());
  const Shape shape{std::ssize(known), std::ssize(known.front())};
  return {tensor(x, shape), tensor(y, shape)};
}

/// Returns a training batch, without the last two items of each history.
train::Batch batch_at(const std::vector<History>& all, const train::LengthBuckets& order,
                      std::int64_t step) {
  std::vector<History> known, next;
  for (const std::int64_t user : order.at(step)) {
    const History& h = all[static_cast<std::size_t>(user)];
    known.emplace_back(h.begin(), h.end() - 3);
    next.emplace_back(h.begin() + 1, h.end() - 2);
  }
  return batch_of(known, next);
}

/// Ranks and mean loss of the items at distance `back` from the end, given earlier items.
struct Judged {
  std::vector<std::int64_t> ranks;
  double loss = 0;
};
Judged judged(const Recommender& model, const std::vector<History>& all, std::int64_t back) {
  constexpr std::size_t kSideBySide = 250;
  const NoGrad off;
  Judged out;
  for (std::size_t first = 0; first < all.size(); first += kSideBySide) {
    std::vector<History> known, next;
    for (std::size_t u = first; u < std::min(all.size(), first + kSideBySide); ++u) {
      known.emplace_back(all[u].begin(), all[u].end() - back);
      next.push_back({all[u].end()[-back]});
    }
    const Tensor ids = batch_of(known, known).x;      // [B, T]
    const Tensor scores = select(model(ids), 1, -1);  // [B, V]
    const Tensor log_p = log_softmax(scores, -1);     // [B, V]
    const std::vector<double> flat = log_p.to(Dtype::f64).to_vector<double>();
    for (std::size_t u = 0; u < known.size(); ++u) {
      const auto row = flat.begin() + static_cast<std::ptrdiff_t>(u) * (kItems + 1);
      out.ranks.push_back(rank_of(next[u][0], Scores(row, row + kItems + 1)));
      out.loss -= row[next[u][0]] / static_cast<double>(all.size());
    }
  }
  return out;
}

train::Metrics metrics_of(const Recommender& model, const std::vector<History>& users) {
  const Judged found = judged(model, users, 2);
  const Quality quality = quality_of(found.ranks);
  return {{"held_out_loss", found.loss}, {"held_out_hit_rate", quality.hit_rate}};
}

void print_row(const char* who, const Quality& quality) {
  std::printf("  %-40s %10.3f %8.3f\n", who, quality.hit_rate, quality.ndcg);
}

void print_quality(const Recommender& model, const std::vector<History>& all) {
  std::vector<History> known;
  for (const History& each : all) known.emplace_back(each.begin(), each.end() - 1);
  const Scores popular = popularity(known);
  const Markov chain(known);
  std::vector<std::int64_t> by_popularity, by_one, by_two;
  for (const History& each : all) {
    by_popularity.push_back(rank_of(each.back(), popular));
    by_one.push_back(rank_of(each.back(), chain.after(each.end()[-2])));
    by_two.push_back(rank_of(each.back(), chain.after(each.end()[-3], each.end()[-2])));
  }
  std::printf("the last item of %zu users, out of %lld   hit rate@10  NDCG@10\n", all.size(),
              static_cast<long long>(kItems));
  print_row("the model", quality_of(judged(model, all, 1).ranks));
  print_row("Markov, from the last two items", quality_of(by_two));
  print_row("Markov, from the last item", quality_of(by_one));
  print_row("popularity", quality_of(by_popularity));
}

Recommender load_trained(RecommendFlags& flags, const std::string& directory) {
  flags.load(directory);
  Recommender model = model_for(flags);
  load_best(model, flags.files());
  return model;
}

}  // namespace

Need RecommendFlags::need() const {
  Need need = transformer(kContext, kContext + kItems, kItems);
  need.step *= std::min(1.0, static_cast<double>(users) / static_cast<double>(batch));
  need.data = 2.0 * sizeof(std::int64_t) * kLength * static_cast<double>(users);  // known, ranks
  return need;
}

int train(RecommendFlags& flags) {
  const DirectoryLock lock = flags.begin();
  const std::vector<History> all = histories(flags.users, flags.seed);
  const train::LengthBuckets order(std::vector<std::int64_t>(all.size(), kLength), flags.batch,
                                   static_cast<std::uint64_t>(flags.seed));
  const std::vector<History> judges(all.begin(), all.begin() + std::min(std::ssize(all), kJudges));
  seed(static_cast<std::uint64_t>(flags.seed));
  Recommender model = model_for(flags);
  const auto optimizer = make_optimizer(flags, {{model.parameters()}});
  train::TrainOptions options = flags.options();
  options.items_per_step = flags.batch;
  options.item = "user";
  options.loss_unit = "nats per item";
  train::Trainer trainer(model, *optimizer,
                         optim::warmup_cosine(flags.steps / 10, flags.steps, 0.02), options);
  say("data", io::grouped(flags.users), " users with ", kLength, " of ", kItems,
      " items each; the first user's history begins with ", name_of(all[0][0]), ", ",
      name_of(all[0][1]), ", ", name_of(all[0][2]));
  say("model", io::grouped(model.parameter_count()), " parameters, ", io::grouped(flags.steps),
      " steps of ", flags.batch, " users");
  const int code = flags.train(
      trainer,
      [&](std::int64_t i) {
        const train::Batch batch = batch_at(all, order, i);
        return train::BatchLoss(model.loss(batch.x, batch.y), batch.x.size(0));
      },
      [&] { return metrics_of(model, judges); });
  if (code != 0) return code;
  load_best(model, flags.files());
  print_quality(model, all);
  return 0;
}

int recommend(RecommendFlags& flags, const std::string& directory,
              const std::vector<std::string>& items) {
  constexpr std::int64_t kShown = 5;
  History history;
  for (const std::string& each : items) history.push_back(item_of(each));
  const Recommender model = load_trained(flags, directory);
  if (std::ssize(history) > kContext) history.erase(history.begin(), history.end() - kContext);
  const NoGrad off;
  const Tensor scores = model(tensor(history, {1, std::ssize(history)}))[{0, -1}];  // [V]
  const std::vector<double> p = softmax(scores.to(Dtype::f64), -1).to_vector<double>();
  std::vector<std::int64_t> best(p.size());
  std::iota(best.begin(), best.end(), std::int64_t{0});
  std::stable_sort(best.begin(), best.end(), [&](std::int64_t a, std::int64_t b) {
    return p[static_cast<std::size_t>(a)] > p[static_cast<std::size_t>(b)];
  });
  std::printf("after");
  for (const std::int64_t item : history)
    std::printf("%s %s", item == history[0] ? "" : ",", name_of(item).c_str());
  std::printf("\n");
  for (std::size_t i = 0; i < kShown; ++i)
    std::printf("  %5.1f %%  %s (%lld)\n", 100 * p[static_cast<std::size_t>(best[i])],
                name_of(best[i]).c_str(), static_cast<long long>(best[i]));
  return 0;
}

int evaluate(RecommendFlags& flags, const std::string& directory) {
  const Recommender model = load_trained(flags, directory);
  print_quality(model, histories(flags.users, flags.seed));
  return 0;
}

}  // namespace gradus::examples
