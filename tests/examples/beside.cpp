#include "gradus/tests/examples/beside.h"

#include <cstdio>

#include "gradus/examples/apps/classify/reader.h"
#include "gradus/examples/apps/classify/tree.h"
#include "gradus/examples/apps/listen/sounds.h"
#include "gradus/examples/apps/listen/spectrogram.h"
#include "gradus/examples/apps/recommend/ranking.h"
#include "gradus/examples/apps/vision/digits.h"
#include "gradus/io/text.h"
#include "gradus/ops/ops.h"

namespace gradus::testing {

using namespace examples;

namespace {

std::string logistic(Labelled (*make)(std::int64_t, std::uint64_t, std::int64_t),
                     std::int64_t classes, const std::string& name,
                     Tensor (*features)(const Tensor&)) {
  const Labelled known = make(4000, seed_of(kSeed, Part::training), 0),
                 test = make(2000, seed_of(kSeed, Part::test), 0);
  char line[100];
  std::snprintf(
      line, sizeof line, "logistic regression on %s %.3f\n", name.c_str(),
      logistic_accuracy({features(known.x), known.y}, {features(test.x), test.y}, classes));
  return line;
}

}  // namespace

std::string beside_vision(const Workplace&) {
  return logistic(draw_digits_of_test, kDigits, "pixels", [](const Tensor& x) { return x; });
}

std::string beside_listen(const Workplace&) {
  return logistic(make_sounds_of_test, kSounds, "the mean spectrum",
                  [](const Tensor& x) { return mean(spectrogram(x), {2}); });
}

std::string beside_recommend(const Workplace&) {
  std::vector<History> known = histories_of_test(300, kSeed);
  History last;
  for (History& each : known) last.push_back(each.back()), each.pop_back();
  const Markov chain(known);
  std::vector<std::int64_t> by_two, by_one, by_popularity;
  for (std::size_t i = 0; i < known.size(); ++i) {
    by_two.push_back(rank_of(last[i], chain.after(known[i].end()[-2], known[i].back())));
    by_one.push_back(rank_of(last[i], chain.after(known[i].back())));
    by_popularity.push_back(rank_of(last[i], popularity(known)));
  }
  std::string lines;
  for (const auto& [name, ranks] : std::vector<std::pair<std::string, std::vector<std::int64_t>>>{
           {"Markov, from the last two items", by_two},
           {"Markov, from the last item", by_one},
           {"popularity", by_popularity}}) {
    char line[100];
    const Quality quality = quality_of(ranks);
    std::snprintf(line, sizeof line, " %s %.3f %.3f\n", name.c_str(), quality.hit_rate,
                  quality.ndcg);
    lines += line;
  }
  return lines;
}

std::string beside_classify(const Workplace& here) {
  const WordList words = WordList::load((here.directory / "run/vocabulary.json").string());
  const std::vector<SourceFile> files = read_tree((here.directory / "tree").string());
  const auto source = [&](Part part) { return SnippetSource(files, part, words, 6); };
  const Snippets known = source(Part::training).draw(4000, {seed_of(kSeed, Part::test), 0, 0}),
                 test = source(Part::test).some(150);
  const std::int64_t n = words.size();
  char line[100];
  std::snprintf(
      line, sizeof line, "logistic regression on bags of words %.3f\n",
      logistic_accuracy({bags_of(known, n), known.kinds}, {bags_of(test, n), test.kinds}, kKinds));
  return line;
}

}  // namespace gradus::testing
