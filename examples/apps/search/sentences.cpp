// Axes: B texts, T tokens, C width.
#include "sentences.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <sstream>

#include "gradus/engine/grad_mode.h"
#include "gradus/nn/models/padded_batch.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"

namespace gradus::examples {
namespace {

constexpr std::size_t kMostTokens = 256, kSideBySide = 16;
constexpr int kFewestWords = 4;

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

void add(std::vector<SourceSentence>& all, std::string text, const std::string& file,
         std::int64_t line) {
  std::istringstream words(text);
  int count = 0;
  for (std::string word; words >> word;) ++count;
  if (count >= kFewestWords) all.push_back({std::move(text), file, line});
}

/// Returns the mean over each text's tokens, normalized: x [B, T, C] → [B, C].
Tensor pooled(const Tensor& x, const std::vector<std::int64_t>& lengths) {
  const std::int64_t B = x.size(0), T = x.size(1);
  std::vector<float> counted;
  for (const std::int64_t length : lengths)
    for (std::int64_t t = 0; t < T; ++t) counted.push_back(t < length ? 1.0F : 0.0F);
  const Tensor sums = (x * tensor(counted, {B, T, 1})).sum(1);  // [B, C], parallel to the means
  return sums / sqrt((sums * sums).sum(1, true));
}

}  // namespace

std::vector<SourceSentence> sentences_of(const std::string& text, const std::string& file) {
  std::vector<SourceSentence> all;
  std::istringstream lines(text);
  std::string open;
  std::int64_t number = 0, begun = 1;
  bool code = false;
  const auto close = [&] {
    add(all, open, file, begun);
    open.clear();
  };
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const bool fence = line.starts_with("```");
    if (fence) code = !code;
    if (code || fence || line.empty() || line[0] == '#' || line[0] == '|' ||
        line.starts_with("    ")) {
      close();
      continue;
    }
    for (const char c : line + " ") {
      if (open.empty() && is_space(c)) continue;
      if (open.empty()) begun = number;
      const bool ends = is_space(c) && std::string(".!?").find(open.back()) != std::string::npos;
      if (ends)
        close();
      else
        open += c;
    }
  }
  close();
  return all;
}

Tensor vectors_of(const std::vector<std::string>& texts, const nn::BERT& model,
                  const io::PretrainedTokenizer& tokenizer) {
  const NoGrad off;
  std::vector<std::vector<std::int64_t>> ids;
  for (const std::string& text : texts) {
    ids.push_back(tokenizer.encode_whole(text));
    if (ids.back().size() > kMostTokens) {
      ids.back()[kMostTokens - 1] = ids.back().back();  // [SEP]
      ids.back().resize(kMostTokens);
    }
  }
  std::vector<std::size_t> order(texts.size());  // sorted by length, to reduce padding
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return ids[a].size() < ids[b].size(); });
  Tensor all = zeros({std::ssize(texts), model.options.block.width}, Dtype::f32);
  for (std::size_t first = 0; first < order.size(); first += kSideBySide) {
    const std::size_t end = std::min(order.size(), first + kSideBySide);
    std::vector<std::vector<std::int64_t>> batch;
    for (std::size_t i = first; i < end; ++i) batch.push_back(ids[order[i]]);
    const PaddedBatch padded = pad_sequences(batch);
    const Tensor vectors = pooled(model(padded.ids, padded.lengths), padded.lengths);
    for (std::size_t i = first; i < end; ++i) {
      Tensor row = all[static_cast<std::int64_t>(order[i])];
      row.copy_(vectors[static_cast<std::int64_t>(i - first)]);
    }
  }
  return all;
}

}  // namespace gradus::examples
