#include "corpus.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <unordered_map>

#include "gradus/engine/base/error.h"
#include "gradus/examples/apps/support/digest.h"
#include "gradus/io/bpe.h"
#include "gradus/io/text.h"
#include "gradus/io/tokenizer.h"
#include "pretrained.h"

namespace gradus::examples {
namespace {

constexpr std::int64_t kMaxCharacters = 512;

std::string read_nonempty(const std::string& file) {
  std::string text = io::read_text(file);
  require<FileError>(!text.empty(), file, ": contains no text");
  return text;
}

std::unique_ptr<io::Tokenizer> choose_tokenizer(const std::string& text, const GptFlags& flags) {
  const std::string& name = flags.tokenizer;
  const std::int64_t most = flags.tokenizer_vocab;
  if (name == "word")
    return std::make_unique<io::WordTokenizer>(io::WordTokenizer::train(text, most));
  if (name == "bpe") return std::make_unique<io::BpeTokenizer>(io::BpeTokenizer::train(text, most));
  if (name != "byte" && io::is_utf8(text)) {
    auto characters = std::make_unique<io::CharTokenizer>(text);
    if (name == "char" || characters->vocab_size() <= kMaxCharacters) return characters;
  }
  return std::make_unique<io::ByteTokenizer>();
}

/// Removes and returns the last tenth of `text`, in complete characters.
std::string cut_last_tenth(std::string& text) {
  std::size_t at = text.size() - text.size() / 10;
  while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0u) == 0x80u) ++at;
  const std::string tenth = text.substr(at);
  text.resize(at);
  return tenth;
}

std::vector<std::int64_t> encode_validation(const io::Tokenizer& tokenizer, const std::string& file,
                                            const std::string& text) {
  try {
    return tokenizer.encode(text);
  } catch (const ValueError& error) {
    fail<FileError>(file, ": ", error.what(), " (--tokenizer byte accepts any text)");
  }
}

/// Concatenates the files. Sets `not_text` to the first file that is not text.
std::string joined_texts(const GptFlags& flags, std::string& not_text) {
  std::string all;
  for (const std::string& file : flags.texts) {
    const std::string part = read_nonempty(file);
    std::size_t at = io::valid_utf8(part);
    require<FileError>(flags.tokenizer != "char" || at == part.size(), file,
                       ": is not UTF-8 at byte ", at, "; convert it, or use --tokenizer byte");
    at = std::min(at, part.find('\0'));
    if (flags.tokenizer == "auto" && at < part.size() && not_text.empty())
      not_text =
          str_cat(file, " is not text: byte ", at, part[at] == 0 ? " is 0" : " is not UTF-8");
    all += part;
  }
  return all;
}

}  // namespace

Corpus read_corpus(const GptFlags& flags) {
  Corpus corpus;
  std::string text = joined_texts(flags, corpus.not_text), held_out;
  const bool tenth = flags.validation.empty(), learns = flags.tokenizer_vocab > 0;
  if (!tenth) held_out = read_nonempty(flags.validation);
  corpus.digest =
      str_cat(std::hex, std::setfill('0'), std::setw(16), digest(held_out, digest(text)));
  require<FileError>(!flags.resume || corpus.digest == flags.text_digest, flags.out,
                     ": was trained on another text (digest ", flags.text_digest,
                     ") than these files contain now (", corpus.digest,
                     "); restore the text, or start a new run");
  if (tenth && learns) held_out = cut_last_tenth(text);
  corpus.tokenizer = flags.resume          ? tokenizer_of_run(flags)
                     : !flags.from.empty() ? tokenizer_of(flags.from)
                                           : choose_tokenizer(text, flags);
  corpus.training = corpus.tokenizer->encode(text);
  if (!tenth || learns) {
    corpus.held_out = encode_validation(*corpus.tokenizer, flags.validation, held_out);
    return corpus;
  }
  const auto end = corpus.training.end();
  corpus.held_out.assign(end - std::ssize(corpus.training) / 10, end);
  corpus.training.resize(corpus.training.size() - corpus.held_out.size());
  return corpus;
}

Entropies entropies(const Corpus& corpus) {
  const std::int64_t vocab = corpus.tokenizer->vocab_size();
  std::vector<double> single(static_cast<std::size_t>(vocab));
  std::vector<double> before(single);              // number of successors of each token
  std::unordered_map<std::int64_t, double> pairs;  // key: token · vocab + next token
  std::int64_t last = -1;
  for (const auto* part : {&corpus.training, &corpus.held_out})
    for (const std::int64_t token : *part) {
      ++single[static_cast<std::size_t>(token)];
      if (last >= 0) {
        ++before[static_cast<std::size_t>(last)];
        ++pairs[last * vocab + token];
      }
      last = token;
    }
  const double n = static_cast<double>(corpus.size());
  Entropies out{0, 0};
  for (const double count : single)
    if (count > 0) out.unigram -= count / n * std::log(count / n);
  for (const auto& [pair, count] : pairs)
    out.bigram -=
        count / (n - 1) * std::log(count / before[static_cast<std::size_t>(pair / vocab)]);
  return out;
}

}  // namespace gradus::examples
