// Stores distinct pieces once, with counts. A heap finds the most frequent pair. Counts that are
// out of date are corrected when popped.
#include <queue>

#include "gradus/engine/base/error.h"
#include "gradus/io/bpe.h"
#include "gradus/io/pieces.h"

namespace gradus::io {
namespace {

using Pair = BpeTokenizer::Merge;

struct PairHash {
  std::size_t operator()(const Pair& p) const {
    return static_cast<std::size_t>(p.first) * 0x9E3779B97F4A7C15u +
           static_cast<std::size_t>(p.second);
  }
};

class Learner {
 public:
  explicit Learner(std::string_view text) {
    std::unordered_map<std::string_view, std::size_t> places;
    for (const std::string_view piece : pieces(text)) {
      const auto [at, fresh] = places.try_emplace(piece, words_.size());
      if (fresh) words_.push_back({{}, 0});
      Word& word = words_[at->second];
      if (fresh)
        for (const char c : piece) word.ids.push_back(static_cast<unsigned char>(c));
      ++word.count;
    }
    for (std::size_t i = 0; i < words_.size(); ++i) count(i, 1);
    for (const auto& [pair, seen] : pairs_) heap_.push({seen.count, pair});
  }

  bool merge(std::int64_t id, Pair& merged) {
    while (!heap_.empty()) {
      const Entry top = heap_.top();
      heap_.pop();
      const std::int64_t now = pairs_[top.pair].count;
      if (now != top.count) {  // out of date: push the current count
        if (now > 1 && now < top.count) heap_.push({now, top.pair});
        continue;
      }
      if (now < 2) return false;
      merged = top.pair;
      const std::vector<std::size_t> words = std::move(pairs_[merged].words);
      for (const std::size_t i : words) join(i, merged, id);
      return true;
    }
    return false;
  }

 private:
  struct Word {
    std::vector<std::int64_t> ids;
    std::int64_t count;
  };
  struct Seen {
    std::int64_t count = 0;
    std::vector<std::size_t> words;  // words that contain or contained the pair
  };
  struct Entry {
    std::int64_t count;
    Pair pair;
    bool operator<(const Entry& other) const {  // largest count first, then smallest ids
      return count != other.count ? count < other.count : pair > other.pair;
    }
  };

  void count(std::size_t i, std::int64_t sign) {
    const Word& word = words_[i];
    for (std::size_t k = 0; k + 1 < word.ids.size(); ++k) {
      Seen& seen = pairs_[{word.ids[k], word.ids[k + 1]}];
      seen.count += sign * word.count;
      if (sign > 0 && (seen.words.empty() || seen.words.back() != i)) seen.words.push_back(i);
    }
  }

  void join(std::size_t i, const Pair& pair, std::int64_t id) {
    std::vector<std::int64_t>& ids = words_[i].ids;
    std::vector<std::int64_t> joined;
    for (std::size_t k = 0; k < ids.size(); ++k) {
      const bool here = k + 1 < ids.size() && ids[k] == pair.first && ids[k + 1] == pair.second;
      joined.push_back(here ? id : ids[k]);
      if (here) ++k;
    }
    if (joined.size() == ids.size()) return;  // the word lost the pair to an earlier merge
    count(i, -1);
    ids = std::move(joined);
    count(i, 1);
    for (std::size_t k = 0; k + 1 < ids.size(); ++k) {
      if (ids[k] != id && ids[k + 1] != id) continue;
      const Pair grown{ids[k], ids[k + 1]};
      heap_.push({pairs_[grown].count, grown});
    }
  }

  std::vector<Word> words_;
  std::unordered_map<Pair, Seen, PairHash> pairs_;
  std::priority_queue<Entry> heap_;
};

}  // namespace

BpeTokenizer BpeTokenizer::train(std::string_view text, std::int64_t vocab_size) {
  require(!text.empty(), "bpe tokenizer: cannot train on an empty text");
  require(256 <= vocab_size && vocab_size <= 1 << 20, "bpe tokenizer: vocab_size must be 256 (one ",
          "token per byte) to 1,048,576, got ", vocab_size);
  std::vector<std::string> tokens;
  std::vector<Merge> merges;
  for (int b = 0; b < 256; ++b) tokens.emplace_back(1, static_cast<char>(b));
  Learner learner(text);
  Merge merged;
  while (std::ssize(tokens) < vocab_size && learner.merge(std::ssize(tokens), merged)) {
    tokens.push_back(tokens[static_cast<std::size_t>(merged.first)] +
                     tokens[static_cast<std::size_t>(merged.second)]);
    merges.push_back(merged);
  }
  return {std::move(tokens), std::move(merges), "bpe tokenizer"};
}

}  // namespace gradus::io
