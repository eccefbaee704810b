// Implements classify text and classify fill.
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "commands.h"
#include "gradus/engine/base/error.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/examples/apps/support/run.h"
#include "gradus/io/text.h"
#include "gradus/ops/shape_ops.h"
#include "reader.h"

namespace gradus::examples {
namespace {

constexpr std::int64_t kGuesses = 5;

struct Trained {
  Trained(ClassifyFlags& flags, const std::string& directory)
      : vocabulary(loaded(flags, directory)), reader(flags.bert(vocabulary.size())) {
    load_best(reader, flags.files());
  }
  static WordList loaded(ClassifyFlags& flags, const std::string& directory) {
    flags.load(directory);
    return WordList::load(flags.vocabulary_file());
  }
  WordList vocabulary;
  Reader reader;
};

}  // namespace

int name_kind(ClassifyFlags& flags, const std::string& directory, const std::string& text) {
  std::error_code none;
  const bool file = std::filesystem::is_regular_file(text, none);
  const Trained trained(flags, directory);
  const Snippets snippets =
      snippets_of(file ? io::read_text(text) : text, trained.vocabulary, flags.length);
  std::vector<std::pair<double, std::size_t>> order;
  for (const double share : kinds_of(trained.reader, snippets))
    order.emplace_back(-share, order.size());
  std::sort(order.begin(), order.end());
  for (const auto& [share, kind] : order)
    std::printf("  %-18s  %.3f  %s\n", kKindNames[kind], -share,
                std::string(static_cast<std::size_t>(-share * 40 + 0.5), '#').c_str());
  return 0;
}

int fill(ClassifyFlags& flags, const std::string& directory, const std::string& text) {
  const Trained trained(flags, directory);
  require(flags.pretrain > 0, directory,
          ": was trained with --pretrain 0, so it cannot fill in words");
  const Snippets snippets = snippets_of(text, trained.vocabulary, flags.length);
  const NoGrad off;
  const Tensor scores = trained.reader.language(snippets.ids, snippets.lengths);  // [B, T, V]
  const std::vector<std::int64_t> ids = snippets.ids.to_vector<std::int64_t>();
  std::int64_t masks = 0;
  for (std::int64_t i = 0; i < std::ssize(ids); ++i) {
    if (ids[static_cast<std::size_t>(i)] != WordList::kMask) continue;
    std::printf("[MASK] %lld:", static_cast<long long>(++masks));
    const Tensor row = select(select(scores, 0, i / flags.length), 0, i % flags.length);  // [V]
    const auto guesses = ranked(row);
    for (std::size_t k = 0; k < kGuesses && k < guesses.size(); ++k)
      std::printf("  %s %.3f", trained.vocabulary.piece(guesses[k].first).c_str(),
                  guesses[k].second);
    std::printf("\n");
  }
  require(masks > 0, "the text has no [MASK] to fill in; write one for each missing word");
  return 0;
}

}  // namespace gradus::examples
