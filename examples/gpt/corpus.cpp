// A token is a character where the text has few different ones, else a byte. One tenth is held out.
#include "corpus.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "gradus/base/error.h"
#include "gradus/io/text.h"

namespace gradus::examples {
namespace {

constexpr std::int64_t kMaxCharacters = 512;

/// FNV-1a, 64 bits: enough to notice another text.
std::string digest_of(const std::string& text) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  char hex[17];
  std::snprintf(hex, sizeof hex, "%016llx", static_cast<unsigned long long>(hash));
  return hex;
}

std::unique_ptr<io::Tokenizer> choose_tokenizer(const std::string& text) {
  if (io::is_utf8(text)) {
    auto characters = std::make_unique<io::CharTokenizer>(text);
    if (characters->vocab_size() <= kMaxCharacters) return characters;
  }
  return std::make_unique<io::ByteTokenizer>();
}

}  // namespace

Corpus read_corpus(const std::vector<std::string>& files, std::int64_t context) {
  Corpus corpus;
  for (const std::string& file : files) corpus.text += io::read_text(file);
  require<FileError>(!corpus.text.empty(), files.empty() ? "no file" : files.front(),
                     ": there is no text in it");
  corpus.digest = digest_of(corpus.text);
  corpus.tokenizer = choose_tokenizer(corpus.text);
  std::vector<std::int64_t> tokens = corpus.tokenizer->encode(corpus.text);
  const auto cut = static_cast<std::ptrdiff_t>(tokens.size() - tokens.size() / 10);
  corpus.held_out.assign(tokens.begin() + cut, tokens.end());
  tokens.resize(static_cast<std::size_t>(cut));
  corpus.training = std::move(tokens);
  require(std::ssize(corpus.held_out) > context, "the held-out tenth of the text has ",
          corpus.held_out.size(), " tokens, but a context of ", context, " wants at least ",
          context + 1, ": give a text of at least ", 10 * (context + 1),
          " characters, or a smaller --context");
  return corpus;
}

Entropies entropies(const std::vector<std::int64_t>& tokens, std::int64_t vocab) {
  std::vector<double> single(static_cast<std::size_t>(vocab)), before(single);
  std::map<std::pair<std::int64_t, std::int64_t>, double> pairs;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    ++single[static_cast<std::size_t>(tokens[i])];
    if (i == 0) continue;
    ++before[static_cast<std::size_t>(tokens[i - 1])];
    ++pairs[{tokens[i - 1], tokens[i]}];
  }
  const double n = static_cast<double>(tokens.size());
  Entropies out{0, 0};
  for (const double count : single)
    if (count > 0) out.unigram -= count / n * std::log(count / n);
  for (const auto& [pair, count] : pairs)
    out.bigram -= count / (n - 1) * std::log(count / before[static_cast<std::size_t>(pair.first)]);
  return out;
}

}  // namespace gradus::examples
