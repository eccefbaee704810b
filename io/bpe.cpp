// Encoding, and files. Pairs of ids are looked up as one number of 64 bits.
#include "gradus/io/bpe.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "gradus/base/error.h"
#include "gradus/io/pieces.h"
#include "gradus/io/text.h"

namespace gradus::io {
namespace {

std::uint64_t key_of(std::int64_t a, std::int64_t b) {
  return static_cast<std::uint64_t>(a) << 32 | static_cast<std::uint64_t>(b);
}

}  // namespace

BpeTokenizer::BpeTokenizer(std::vector<std::string> tokens, std::vector<Merge> merges,
                           const std::string& name)
    : tokens_(std::move(tokens)), merges_(std::move(merges)), bytes_(256, -1) {
  require<FileError>(tokens_.size() < std::size_t{1} << 31, name, ": too many tokens");
  std::unordered_map<std::string, std::int64_t> ids;
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const auto id = static_cast<std::int64_t>(i);
    require<FileError>(!tokens_[i].empty(), name, ": token ", i, " is empty");
    require<FileError>(ids.emplace(tokens_[i], id).second, name, ": the token ",
                       in_quotes(tokens_[i]), " stands there twice");
    if (tokens_[i].size() == 1) bytes_[static_cast<unsigned char>(tokens_[i][0])] = id;
  }
  for (std::size_t b = 0; b < bytes_.size(); ++b)
    require<FileError>(bytes_[b] >= 0, name, ": no token for the byte ", b);
  for (std::size_t rank = 0; rank < merges_.size(); ++rank) {
    const auto [a, b] = merges_[rank];
    require<FileError>(0 <= a && a < vocab_size() && 0 <= b && b < vocab_size(), name, ": merge ",
                       rank, " joins tokens ", a, " and ", b, " of ", vocab_size());
    const std::string both = bytes_of(a) + bytes_of(b);
    const auto found = ids.find(both);
    require<FileError>(found != ids.end(), name, ": merge ", rank, " makes ", in_quotes(both),
                       ", which is no token");
    joined_.emplace(key_of(a, b), Joined{rank, found->second});
  }
}

/// A piece has at most 128 bytes, so that looking at all pairs again after each merge is cheap.
void BpeTokenizer::encode_piece(std::string_view piece, std::vector<std::int64_t>& ids) const {
  const std::size_t first = ids.size();
  for (const char c : piece) ids.push_back(bytes_[static_cast<unsigned char>(c)]);
  while (true) {
    Joined best{merges_.size(), -1};
    std::size_t at = 0;
    for (std::size_t i = first; i + 1 < ids.size(); ++i) {
      const auto found = joined_.find(key_of(ids[i], ids[i + 1]));
      if (found != joined_.end() && found->second.rank < best.rank) {
        best = found->second;
        at = i;
      }
    }
    if (best.id < 0) return;
    ids[at] = best.id;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
}

std::vector<std::int64_t> BpeTokenizer::encode(std::string_view text) const {
  std::vector<std::int64_t> ids;
  std::unordered_map<std::string_view, std::pair<std::size_t, std::size_t>> known;  // place in ids
  for (const std::string_view piece : pieces(text)) {
    const auto [at, fresh] = known.try_emplace(piece, ids.size(), 0);
    if (fresh) {
      encode_piece(piece, ids);
      at->second.second = ids.size() - at->second.first;
    } else {
      for (std::size_t i = 0; i < at->second.second; ++i) ids.push_back(ids[at->second.first + i]);
    }
  }
  return ids;
}

std::string BpeTokenizer::bytes_of(std::int64_t id) const {
  check_id(id);
  return tokens_[static_cast<std::size_t>(id)];
}

std::string BpeTokenizer::to_json() const {
  std::string tokens, merges;
  for (const std::string& each : tokens_) tokens += (tokens.empty() ? "" : " ") + visible(each);
  for (const auto& [a, b] : merges_)
    merges += (merges.empty() ? "" : "\n") + visible(bytes_of(a)) + " " + visible(bytes_of(b));
  return nlohmann::json{
             {"gradus_tokenizer", 1}, {"type", "bpe"}, {"tokens", tokens}, {"merges", merges}}
             .dump(2) +
         "\n";
}

BpeTokenizer bpe_from_text(const std::string& tokens, const std::string& merges,
                           const std::string& name) {
  std::vector<std::string> own;
  std::unordered_map<std::string, std::int64_t> ids;
  for (const std::string& each : split_text(tokens, ' ')) {
    ids.emplace(each, std::ssize(own));
    own.push_back(from_visible(each, name));
  }
  std::vector<BpeTokenizer::Merge> pairs;
  for (const std::string& line : split_text(merges, '\n')) {
    const std::vector<std::string> two = split_text(line, ' ');
    require<FileError>(two.size() == 2 && ids.count(two[0]) == 1 && ids.count(two[1]) == 1, name,
                       ": the merge ", in_quotes(line), " is not of two tokens");
    pairs.emplace_back(ids[two[0]], ids[two[1]]);
  }
  return {std::move(own), std::move(pairs), name};
}

BpeTokenizer load_hugging_face_bpe(const std::string& vocab_json, const std::string& merges_txt) {
  return parse_hugging_face_bpe(read_text(vocab_json), vocab_json, read_text(merges_txt),
                                merges_txt);
}

BpeTokenizer parse_hugging_face_bpe(std::string_view vocab_text, const std::string& vocab_name,
                                    std::string_view merges_text, const std::string& merges_name) {
  std::vector<std::string> by_id;
  try {
    const nlohmann::json vocab = nlohmann::json::parse(vocab_text);
    by_id.resize(vocab.size());
    for (const auto& [token, id] : vocab.items()) {
      // Of 0.5 the JSON library makes 0, and of 1e300 anything.
      const std::int64_t at = id.is_number_integer() ? id.get<std::int64_t>() : -1;
      require<FileError>(
          0 <= at && at < std::ssize(by_id) && by_id[static_cast<std::size_t>(at)].empty() &&
              !token.empty() && token.find(' ') == std::string::npos,
          vocab_name, ": the token ", in_quotes(token), " has the id ", in_short(id.dump()),
          ": ids must be 0 to ", by_id.size() - 1, ", each once");
      by_id[static_cast<std::size_t>(at)] = token;
    }
  } catch (const nlohmann::json::exception& error) {
    fail<FileError>(vocab_name, ": not a vocabulary: ", in_short(error.what()));
  }
  std::string tokens, merges;
  for (const std::string& each : by_id) tokens += (tokens.empty() ? "" : " ") + each;
  for (std::string line : split_text(merges_text, '\n')) {
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty() && !line.starts_with("#version")) merges += line + "\n";
  }
  return bpe_from_text(tokens, merges, merges_name);
}

}  // namespace gradus::io
