// The tokenizers of models that other people trained: tokenizer.json, and what GGUF keeps of it.
#pragma once

#include <map>
#include <optional>

#include "gradus/io/bpe.h"
#include "gradus/io/pretrained/gguf.h"
#include "gradus/io/pretrained/splitter.h"
#include "gradus/io/pretrained/word_piece.h"
#include "gradus/io/tokenizer.h"

namespace gradus::io {

/// Byte-level BPE (GPT-2, SmolLM, Qwen2, Llama 3) or WordPiece (BERT), with the ids that the
/// `tokenizers` package gives. Differences: characters that Unicode got after version 14 are no
/// letters or digits here, and BERT's marks and punctuation are those of version 14, not of 8.
class PretrainedTokenizer final : public Tokenizer {
 public:
  /// The text of a tokenizer.json. FileError names the path of any part that is not understood.
  /// "truncation" and "padding" are left to the caller.
  static PretrainedTokenizer parse(std::string_view json, const std::string& name);
  /// From the facts "tokenizer.ggml.…": model "gpt2" with pre "gpt-2", "smollm", "qwen2" or
  /// "llama-bpe". FileError: any other, or lists that do not fit together.
  static PretrainedTokenizer of_gguf(const std::map<std::string, Fact>& facts,
                                     const std::string& name);

  std::string name() const override { return "token"; }
  std::int64_t vocab_size() const override { return std::ssize(special_); }
  /// Added tokens such as <|im_end|> are found in the text and become their ids. What is not UTF-8
  /// is read as U+FFFD where the tokenizer normalises, and kept else.
  std::vector<std::int64_t> encode(std::string_view text) const override {
    return encode_literal(text, 0, 0);
  }
  /// As encode, but in bytes [begin, end) added tokens are spelled like any other text: for what a
  /// user typed.
  std::vector<std::int64_t> encode_literal(std::string_view text, std::size_t begin = 0,
                                           std::size_t end = std::string_view::npos) const;
  /// As encode, and with what the tokenizer puts around a text: [CLS] … [SEP].
  std::vector<std::int64_t> encode_whole(std::string_view text) const;
  std::string bytes_of(std::int64_t id) const override;
  std::string to_json() const override { return json_; }

  bool is_special(std::int64_t id) const;  // not of the text: <|im_end|>. IndexError.
  /// The id of an added token, by its text; nothing where there is none.
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

  std::vector<Added> added_;   // longer ones first
  std::vector<bool> special_;  // of each id
  bool nfc_ = false;
  std::optional<BertNormalizer> bert_;
  std::vector<Splitter> splitters_;
  std::optional<BpeTokenizer> bpe_;
  std::optional<WordPiece> word_piece_;
  std::vector<std::int64_t> before_, after_;  // what encode_whole adds
  std::string json_;
};

/// One turn of a talk.
struct ChatMessage {
  std::string role, content;  // "system", "user" or "assistant"
};

/// A talk as a model reads it, and in it the bytes [first, second) of each message.
struct ChatText {
  std::string text;
  std::vector<std::pair<std::size_t, std::size_t>> messages;
};

/// A chat template of the form ChatML: <|im_start|>role\ncontent<|im_end|>\n for each turn, and a
/// system's turn of its own where the talk begins without one. Templates are programs (Jinja); none
/// is run here: this one form is known by its text, and any other is refused.
class ChatTemplate {
 public:
  /// FileError names `name` where the template is another one.
  ChatTemplate(std::string_view text, const std::string& name);
  static constexpr const char* kEnd = "<|im_end|>";  // the token that ends a turn
  /// The text that a model goes on from; with `prompt` it ends where the assistant's turn begins.
  ChatText render(std::span<const ChatMessage> messages, bool prompt = true) const;

 private:
  std::string system_;  // what stands in front of a talk without a system
};

}  // namespace gradus::io
