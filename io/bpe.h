// Byte-pair encoding (BPE) on bytes.
#pragma once

#include <unordered_map>
#include <utility>

#include "gradus/io/json.h"
#include "gradus/io/tokenizer.h"

namespace gradus::io {

/// Byte-level BPE as in GPT-2. Each piece of the text (io/pieces.h) starts as bytes. Then the pair
/// that was learned first is merged until no learned pair remains. Sennrich et al. 2016.
class BpeTokenizer final : public Tokenizer {
 public:
  using Merge = std::pair<std::int64_t, std::int64_t>;  // two ids that become one

  /// Starts from the 256 bytes and merges the most frequent pair of `text` (ties: smallest ids)
  /// until there are `vocab_size` tokens or no pair occurs twice. Takes about 1 s per MB. Throws
  /// ValueError if the text is empty or vocab_size is outside [256, 2²⁰].
  static BpeTokenizer train(std::string_view text, std::int64_t vocab_size);

  /// Token i is tokens[i]; merges are in order of priority. Throws FileError, naming `name`, if a
  /// token is empty or repeated, or a merge is invalid.
  BpeTokenizer(std::vector<std::string> tokens, std::vector<Merge> merges, const std::string& name);

  std::string name() const override { return "bpe token"; }
  std::int64_t vocab_size() const override { return std::ssize(tokens_); }
  std::vector<std::int64_t> encode(std::string_view text) const override;  // never throws
  std::string bytes_of(std::int64_t id) const override;
  std::string to_json() const override;

  /// Appends the ids of `pieces`. Drops bytes without a token, as reference tokenizers do.
  void encode_pieces(std::span<const std::string_view> pieces,
                     std::vector<std::int64_t>& ids) const;
  /// Throws FileError, naming `name`, if a byte is not a token.
  void require_all_bytes(const std::string& name) const;
  /// If true, encodes a piece that is a token as that token, regardless of merges (Llama 3).
  void set_whole_first(bool first) { whole_first_ = first; }

 private:
  struct Joined {
    std::size_t rank;
    std::int64_t id;
  };
  const Joined* joined(std::int64_t a, std::int64_t b) const;
  void encode_piece(std::string_view piece, std::vector<std::int64_t>& ids) const;

  std::vector<std::string> tokens_;
  std::vector<Merge> merges_;
  std::vector<std::int64_t> bytes_;                   // ids of the 256 bytes
  std::unordered_map<std::uint64_t, Joined> joined_;  // merged token by pair of ids
  std::unordered_map<std::string, std::int64_t> ids_;
  bool whole_first_ = false;
};

/// Reads Hugging Face's files: vocab.json, {"Ġthe": 262, …}, and merges.txt, with one line "Ġ t"
/// per merge. Throws FileError unless ids are 0 … n − 1.
BpeTokenizer load_hugging_face_bpe(const std::string& vocab_json, const std::string& merges_txt);
/// Parses the contents of these files. Error messages contain the names.
BpeTokenizer parse_hugging_face_bpe(std::string_view vocab, const std::string& vocab_name,
                                    std::string_view merges, const std::string& merges_name);

/// Creates a tokenizer from tokens and from merges as lines "Ġ t". Tokens are in visible form
/// (io/pieces.h), except token i if literal[i] is true. Throws FileError like the constructor.
BpeTokenizer bpe_of_visible(const std::vector<std::string>& tokens,
                            const std::vector<std::string>& merges, const std::string& name,
                            const std::vector<bool>& literal = {});
/// Converts {"Ġthe": 262, …} to a list of tokens by id. Throws FileError unless ids are 0 … n − 1,
/// each once.
std::vector<std::string> tokens_by_id(const Json& vocabulary);

}  // namespace gradus::io
