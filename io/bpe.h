// Byte-pair encoding on bytes: common words become one token, and any text can be written.
#pragma once

#include <unordered_map>
#include <utility>

#include "gradus/io/json.h"
#include "gradus/io/tokenizer.h"

namespace gradus::io {

/// Sennrich et al. 2016, on bytes as in GPT-2: each piece of the text (io/pieces.h) is its bytes,
/// and then the pair that was learnt first is joined, wherever it stands, until none is left.
class BpeTokenizer final : public Tokenizer {
 public:
  using Merge = std::pair<std::int64_t, std::int64_t>;  // two ids that become one

  /// The 256 bytes, then what the most frequent pair of `text` becomes, and again, until there are
  /// `vocab_size` tokens or no pair stands there twice. Of equally frequent pairs the one with the
  /// smaller ids: the same text gives the same tokens. About a second a MB. ValueError.
  static BpeTokenizer train(std::string_view text, std::int64_t vocab_size);

  /// Token i is tokens[i]; merges in the order in which they are tried. FileError names `name`: an
  /// empty token, one twice, a merge twice, of ids that are none or that make no token.
  BpeTokenizer(std::vector<std::string> tokens, std::vector<Merge> merges, const std::string& name);

  std::string name() const override { return "bpe token"; }
  std::int64_t vocab_size() const override { return std::ssize(tokens_); }
  std::vector<std::int64_t> encode(std::string_view text) const override;  // never fails
  std::string bytes_of(std::int64_t id) const override;
  std::string to_json() const override;

  /// Appends the ids of the pieces of one text; equal ones are joined once. A byte that is no token
  /// by itself is left out, as other people's programs do where their vocabulary lacks it.
  void encode_pieces(std::span<const std::string_view> pieces,
                     std::vector<std::int64_t>& ids) const;
  /// FileError names `name` and a byte that is no token, if there is one.
  void require_all_bytes(const std::string& name) const;
  /// Shall a piece that is a token be that token, whatever its merges would give? Llama 3 does so.
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
  std::vector<std::int64_t> bytes_;                   // the ids of the 256 bytes
  std::unordered_map<std::uint64_t, Joined> joined_;  // by pair
  std::unordered_map<std::string, std::int64_t> ids_;
  bool whole_first_ = false;
};

/// The two files that Hugging Face keeps of a GPT-2-like tokenizer: {"Ġthe": 262, …}, and a line
/// "Ġ t" for each merge. Ids must be 0 … n − 1. FileError.
BpeTokenizer load_hugging_face_bpe(const std::string& vocab_json, const std::string& merges_txt);
/// The same from their texts; the names stand for the paths in messages.
BpeTokenizer parse_hugging_face_bpe(std::string_view vocab, const std::string& vocab_name,
                                    std::string_view merges, const std::string& merges_name);

/// Token i is tokens[i], in visible letters, but as it stands where literal[i]; a merge is a line
/// "Ġ t". `literal` may be shorter. FileError, as of the constructor.
BpeTokenizer bpe_of_visible(const std::vector<std::string>& tokens,
                            const std::vector<std::string>& merges, const std::string& name,
                            const std::vector<bool>& literal = {});
/// {"Ġthe": 262, …} as a list by id. FileError: ids that are not 0 … n − 1, each once.
std::vector<std::string> tokens_by_id(const Json& vocabulary);

}  // namespace gradus::io
