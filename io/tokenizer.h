// Converts between text and token ids: characters, bytes or words. See bpe.h for byte pairs.
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

/// Converts between text and ids 0 … vocab_size() − 1. Immutable, so threads may share it.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// Returns the type of a token: "character", "byte", "word" or "bpe token".
  virtual std::string name() const = 0;
  virtual std::int64_t vocab_size() const = 0;
  virtual std::vector<std::int64_t> encode(std::string_view text) const = 0;
  /// Returns the bytes of a token. Throws IndexError for an invalid id.
  virtual std::string bytes_of(std::int64_t id) const = 0;
  virtual std::string to_json() const = 0;  // can be read by tokenizer_from_json

  /// Returns the text of `ids`. Invalid UTF-8 (half a character) becomes U+FFFD.
  std::string decode(std::span<const std::int64_t> ids) const;

 protected:
  void check_id(std::int64_t id) const;
  /// Returns the fields and the format version as JSON.
  static std::string json_of(const std::map<std::string, std::string>& fields);
};

/// Uses the code points of a text as tokens, in increasing order.
class CharTokenizer final : public Tokenizer {
 public:
  /// Builds the vocabulary from `text`. Throws ValueError if `text` is empty or not UTF-8.
  explicit CharTokenizer(std::string_view text);

  std::string name() const override { return "character"; }
  std::int64_t vocab_size() const override { return std::ssize(characters_); }
  /// Throws ValueError, with the offset, for an unknown or invalid character.
  std::vector<std::int64_t> encode(std::string_view text) const override;
  std::string bytes_of(std::int64_t id) const override;
  std::string to_json() const override;

  const std::vector<char32_t>& characters() const { return characters_; }

 private:
  std::vector<char32_t> characters_;  // characters by id
};

/// Uses the 256 bytes as tokens. Encodes any text, valid UTF-8 or not, without loss.
class ByteTokenizer final : public Tokenizer {
 public:
  std::string name() const override { return "byte"; }
  std::int64_t vocab_size() const override { return 256; }
  std::vector<std::int64_t> encode(std::string_view text) const override;
  std::string bytes_of(std::int64_t id) const override;
  std::string to_json() const override;
};

/// Uses pieces of text (io/pieces.h) as tokens. Token 0, "<unknown>", represents all other pieces.
class WordTokenizer final : public Tokenizer {
 public:
  static constexpr std::int64_t kUnknown = 0;

  /// Selects the most frequent pieces that occur at least `min_count` times, up to `vocab_size`
  /// tokens including the unknown one. Ties are in byte order. Throws ValueError if the text is
  /// empty or vocab_size < 2.
  static WordTokenizer train(std::string_view text, std::int64_t vocab_size,
                             std::int64_t min_count = 1);
  /// words[0] is the unknown token. Throws FileError, naming `name`, if there are fewer than 2
  /// words or repeated words.
  WordTokenizer(std::vector<std::string> words, const std::string& name);

  std::string name() const override { return "word"; }
  std::int64_t vocab_size() const override { return std::ssize(words_); }
  std::vector<std::int64_t> encode(std::string_view text) const override;  // never throws
  std::string bytes_of(std::int64_t id) const override;
  std::string to_json() const override;

 private:
  std::vector<std::string> words_;
  std::unordered_map<std::string, std::int64_t> ids_;
};

/// Decodes one token at a time. Returns a character once all of its bytes have arrived.
class StreamDecoder {
 public:
  explicit StreamDecoder(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}
  std::string push(std::int64_t id);  // may be ""
  std::string finish();               // returns the held bytes as U+FFFD

 private:
  const Tokenizer* tokenizer_;
  std::string held_;
};

/// Reads a tokenizer that to_json() wrote. Throws FileError, naming `name`, for invalid JSON,
/// unknown or repeated fields, or a newer format.
std::unique_ptr<Tokenizer> tokenizer_from_json(std::string_view json, const std::string& name);
void save_tokenizer(const std::string& path, const Tokenizer& tokenizer);
std::unique_ptr<Tokenizer> load_tokenizer(const std::string& path);

}  // namespace gradus::io
