// Text ↔ token ids: characters, bytes or words here; byte pairs in bpe.h.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace gradus::io {

/// Ids are 0 … vocab_size() − 1. A tokenizer never changes: threads may share it.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  virtual std::string name() const = 0;  // of one token: "character", "byte", "word", "bpe token"
  virtual std::int64_t vocab_size() const = 0;
  virtual std::vector<std::int64_t> encode(std::string_view text) const = 0;
  /// The bytes that one token stands for. IndexError for an id outside the vocabulary.
  virtual std::string bytes_of(std::int64_t id) const = 0;
  virtual std::string to_json() const = 0;  // what tokenizer_from_json reads

  /// The text of `ids`; what is not UTF-8 (a model may sample half a character) becomes U+FFFD.
  std::string decode(std::span<const std::int64_t> ids) const;

 protected:
  void check_id(std::int64_t id) const;
  /// What to_json() gives: these fields, and the version of the format.
  static std::string json_of(const std::map<std::string, std::string>& fields);
};

/// One token for each code point that some text has, in rising order.
class CharTokenizer final : public Tokenizer {
 public:
  /// The vocabulary of `text`. ValueError: empty, or not UTF-8.
  explicit CharTokenizer(std::string_view text);

  std::string name() const override { return "character"; }
  std::int64_t vocab_size() const override { return std::ssize(characters_); }
  /// ValueError names a character that is not in the vocabulary (or not UTF-8), and its offset.
  std::vector<std::int64_t> encode(std::string_view text) const override;
  std::string bytes_of(std::int64_t id) const override;
  std::string to_json() const override;

  const std::vector<char32_t>& characters() const { return characters_; }

 private:
  std::vector<char32_t> characters_;  // of each id, rising
};

/// 256 tokens, the bytes. Takes any text, valid or not, and gives it back.
class ByteTokenizer final : public Tokenizer {
 public:
  std::string name() const override { return "byte"; }
  std::int64_t vocab_size() const override { return 256; }
  std::vector<std::int64_t> encode(std::string_view text) const override;
  std::string bytes_of(std::int64_t id) const override;
  std::string to_json() const override;
};

/// Words as tokens: pieces of text (io/pieces.h) such as a word with the space before it, a number,
/// marks. Token 0 stands for all other pieces, and reads "<unknown>".
class WordTokenizer final : public Tokenizer {
 public:
  static constexpr std::int64_t kUnknown = 0;

  /// The most frequent pieces of `text` that it has at least `min_count` times, at most
  /// `vocab_size` tokens with the unknown one; of equally frequent ones the first in byte order.
  /// ValueError: an empty text, a vocabulary of less than 2.
  static WordTokenizer train(std::string_view text, std::int64_t vocab_size,
                             std::int64_t min_count = 1);
  /// words[0] is the unknown token. FileError names `name`: fewer than 2, or one twice.
  WordTokenizer(std::vector<std::string> words, const std::string& name);

  std::string name() const override { return "word"; }
  std::int64_t vocab_size() const override { return std::ssize(words_); }
  std::vector<std::int64_t> encode(std::string_view text) const override;  // never fails
  std::string bytes_of(std::int64_t id) const override;
  std::string to_json() const override;

 private:
  std::vector<std::string> words_;
  std::unordered_map<std::string, std::int64_t> ids_;
};

/// Decodes token by token, as sampling does: bytes of an unfinished character are held back.
class StreamDecoder {
 public:
  explicit StreamDecoder(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}
  std::string push(std::int64_t id);  // the text that is certain now; may be ""
  std::string finish();               // what was held back, as U+FFFD

 private:
  const Tokenizer* tokenizer_;
  std::string held_;
};

/// FileError names `name` and what is wrong in it: no JSON, unknown or repeated fields, too new.
std::unique_ptr<Tokenizer> tokenizer_from_json(std::string_view json, const std::string& name);
void save_tokenizer(const std::string& path, const Tokenizer& tokenizer);
std::unique_ptr<Tokenizer> load_tokenizer(const std::string& path);

}  // namespace gradus::io
