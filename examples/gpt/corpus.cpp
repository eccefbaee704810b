// Files become tokens, and a digest by which a resumed run knows them.
#include "corpus.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "gradus/base/error.h"
#include "gradus/examples/support/digest.h"
#include "gradus/io/bpe.h"
#include "gradus/io/text.h"
#include "gradus/io/word_tokenizer.h"

namespace gradus::examples {
namespace {

constexpr std::int64_t kMaxCharacters = 512;

std::string read_nonempty(const std::string& file) {
  std::string text = io::read_text(file);
  require<FileError>(!text.empty(), file, ": there is no text in it");
  return text;
}

/// The first byte that no UTF-8 text has there, or that is 0; the size where there is none.
std::size_t end_of_text(const std::string& bytes, bool zero_is_text) {
  std::size_t at = 0;
  while (at < bytes.size()) {
    const io::Utf8 found = io::utf8_at(bytes, at);
    if (found.kind != io::Utf8::character || (found.code_point == 0 && !zero_is_text)) break;
    at += found.length;
  }
  return at;
}

std::unique_ptr<io::Tokenizer> choose_tokenizer(const std::string& text,
                                                const TokenizerChoice& choice) {
  if (choice.name == "word")
    return std::make_unique<io::WordTokenizer>(io::WordTokenizer::train(text, choice.vocab));
  if (choice.name == "bpe")
    return std::make_unique<io::BpeTokenizer>(io::BpeTokenizer::train(text, choice.vocab));
  if (choice.name != "byte" && io::is_utf8(text)) {
    auto characters = std::make_unique<io::CharTokenizer>(text);
    if (choice.name == "char" || characters->vocab_size() <= kMaxCharacters) return characters;
  }
  return std::make_unique<io::ByteTokenizer>();
}

/// Takes the last tenth of the bytes off `text`, in whole characters.
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
    fail<FileError>(file, ": ", error.what(), " (--tokenizer byte takes any)");
  }
}

}  // namespace

Texts read_texts(const std::vector<std::string>& files, const std::string& validation,
                 const TokenizerChoice& choice) {
  Texts texts{.text = "", .validation = validation, .held_out = "", .digest = "", .not_text = ""};
  for (const std::string& file : files) {
    const std::string part = read_nonempty(file);
    if (choice.name == "char") {
      const std::size_t at = end_of_text(part, true);
      require<FileError>(at == part.size(), file, ": is not UTF-8 at byte ", at,
                         ": convert it, or learn it with --tokenizer byte");
    }
    if (choice.name == "auto" && texts.not_text.empty())
      if (const std::size_t at = end_of_text(part, false); at < part.size())
        texts.not_text =
            str_cat(file, ": is no text: byte ", at, part[at] == 0 ? " is 0" : " is not UTF-8");
    texts.text += part;
  }
  if (!validation.empty()) texts.held_out = read_nonempty(validation);
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx",
                static_cast<unsigned long long>(digest(texts.held_out, digest(texts.text))));
  texts.digest = digits;
  return texts;
}

Corpus tokenized(Texts texts, const TokenizerChoice& choice, std::unique_ptr<io::Tokenizer> known) {
  Corpus corpus;
  corpus.digest = texts.digest;
  corpus.not_text = texts.not_text;
  const bool learns = choice.name == "word" || choice.name == "bpe";
  const bool tenth = texts.validation.empty();
  if (tenth && learns) texts.held_out = cut_last_tenth(texts.text);
  corpus.tokenizer = known ? std::move(known) : choose_tokenizer(texts.text, choice);
  corpus.training = corpus.tokenizer->encode(texts.text);
  if (!tenth || learns) {
    corpus.held_out = encode_validation(*corpus.tokenizer, texts.validation, texts.held_out);
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
  std::vector<double> before(single);              // how often a token has another after it
  std::unordered_map<std::int64_t, double> pairs;  // by the one before · vocab + the one after
  std::int64_t last = -1;
  for (const auto* part : {&corpus.training, &corpus.held_out})
    for (const std::int64_t token : *part) {
      ++single[static_cast<std::size_t>(token)];
      if (last >= 0) ++before[static_cast<std::size_t>(last)], ++pairs[last * vocab + token];
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
