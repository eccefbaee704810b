#pragma once

#include <map>
#include <optional>

#include "gradus/io/bpe.h"
#include "gradus/io/pretrained/gguf.h"
#include "gradus/io/pretrained/splitter.h"
#include "gradus/io/pretrained/word_piece.h"
#include "gradus/io/tokenizer.h"

namespace gradus::io {

/// A tokenizer loaded from tokenizer.json or GGUF: byte-level BPE (GPT-2, SmolLM, Qwen2, Llama 3)
/// or WordPiece (BERT). Returns the same ids as the `tokenizers` package, with two exceptions.
/// Letters and digits added after Unicode 14 are not recognized. BERT's marks and punctuation
/// follow Unicode 14, not 8.
class PretrainedTokenizer final : public Tokenizer {
 public:
  /// Parses tokenizer.json, ignoring "truncation" and "padding". Throws FileError with the path of
  /// an unsupported part.
  static PretrainedTokenizer parse(std::string_view json, const std::string& name);
  /// Creates a tokenizer from the facts "tokenizer.ggml.…". The model must be "gpt2", and pre must
  /// be "gpt-2", "smollm", "qwen2" or "llama-bpe". Throws FileError for other values and for
  /// inconsistent lists.
  static PretrainedTokenizer of_gguf(const std::map<std::string, Fact>& facts,
                                     const std::string& name);

  std::string name() const override { return "token"; }
  std::int64_t vocab_size() const override { return std::ssize(special_); }
  /// Encodes text. Added tokens such as <|im_end|> become their ids. Invalid UTF-8 becomes U+FFFD
  /// if the tokenizer normalizes; otherwise its bytes are kept.
  std::vector<std::int64_t> encode(std::string_view text) const override {
    return encode_literal(text, 0, 0);
  }
  /// Encodes text like encode(), but treats added tokens in bytes [begin, end), such as user input,
  /// as plain text.
  std::vector<std::int64_t> encode_literal(std::string_view text, std::size_t begin = 0,
                                           std::size_t end = std::string_view::npos) const;
  /// Encodes text like encode(), with the tokenizer's [CLS] … [SEP] around the ids.
  std::vector<std::int64_t> encode_whole(std::string_view text) const;
  std::string bytes_of(std::int64_t id) const override;
  std::string to_json() const override { return json_; }

  bool is_special(std::int64_t id) const;  // true for <|im_end|>; throws IndexError
  /// Returns the id of an added token, or nothing.
  std::optional<std::int64_t> id_of(const std::string& added) const;

 private:
  struct Added {
    std::string content;
    std::int64_t id;
  };
  PretrainedTokenizer() = default;
  void read_added(const Json& json, std::vector<std::string>& tokens, std::vector<bool>& literal);
  void read_model(const Json& model, const std::string& name, std::vector<std::string> tokens,
                  const std::vector<bool>& literal);
  void read_normalizer(const Json& json);
  void read_splitters(const Json& json);
  void read_post_processor(const Json& json);
  void check_decoder(const Json& json) const;
  void encode_plain(std::string_view text, std::vector<std::int64_t>& ids) const;

  std::vector<Added> added_;   // longest first
  std::vector<bool> special_;  // one flag per id
  bool nfc_ = false;
  std::optional<BertNormalizer> bert_;
  std::vector<Splitter> splitters_;
  std::optional<BpeTokenizer> bpe_;
  std::optional<WordPiece> word_piece_;
  std::vector<std::int64_t> before_, after_;  // added by encode_whole
  std::string json_;
};

/// A message of a chat.
struct ChatMessage {
  std::string role, content;  // "system", "user" or "assistant"
};

/// A chat as text, with the byte range [first, second) of each message.
struct ChatText {
  std::string text;
  std::vector<std::pair<std::size_t, std::size_t>> messages;
};

/// A ChatML template: <|im_start|>role\ncontent<|im_end|>\n per message, after a default system
/// message if the chat has none. Gradus recognizes templates but does not run their Jinja code.
class ChatTemplate {
 public:
  /// Throws FileError, naming `name`, for any other template.
  ChatTemplate(std::string_view text, const std::string& name);
  static constexpr const char* kEnd = "<|im_end|>";  // ends a message
  /// Returns the text of a chat. With `prompt`, the text ends where the assistant's message begins.
  ChatText render(std::span<const ChatMessage> messages, bool prompt = true) const;

 private:
  std::string system_;  // default system message
};

}  // namespace gradus::io
