#include "gradus/io/bpe.h"

#include <algorithm>
#include <functional>
#include <queue>

#include "gradus/engine/base/error.h"
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
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const auto id = static_cast<std::int64_t>(i);
    require<FileError>(!tokens_[i].empty(), name, ": token ", i, " is empty");
    require<FileError>(ids_.emplace(tokens_[i], id).second, name, ": the token ", quote(tokens_[i]),
                       " appears twice");
    if (tokens_[i].size() == 1) bytes_[static_cast<unsigned char>(tokens_[i][0])] = id;
  }
  for (std::size_t rank = 0; rank < merges_.size(); ++rank) {
    const auto [a, b] = merges_[rank];
    require<FileError>(0 <= a && a < vocab_size() && 0 <= b && b < vocab_size(), name, ": merge ",
                       rank, " joins tokens ", a, " and ", b, ", but ids must be 0 to ",
                       vocab_size() - 1);
    const std::string both = bytes_of(a) + bytes_of(b);
    const auto found = ids_.find(both);
    require<FileError>(found != ids_.end(), name, ": merge ", rank, " makes ", quote(both),
                       ", which is not a token");
    const bool fresh = joined_.emplace(key_of(a, b), Joined{rank, found->second}).second;
    require<FileError>(fresh, name, ": merge ", rank, " appears twice");
  }
}

void BpeTokenizer::require_all_bytes(const std::string& name) const {
  for (std::size_t b = 0; b < bytes_.size(); ++b)
    require<FileError>(bytes_[b] >= 0, name, ": the vocabulary has no token for byte ", b);
}

const BpeTokenizer::Joined* BpeTokenizer::joined(std::int64_t a, std::int64_t b) const {
  const auto found = joined_.find(key_of(a, b));
  return found == joined_.end() ? nullptr : &found->second;
}

/// Repeatedly merges the pair that was learned first; of equal pairs, the leftmost. Skips heap
/// entries whose rank is out of date.
void BpeTokenizer::encode_piece(std::string_view piece, std::vector<std::int64_t>& ids) const {
  const auto whole = whole_first_ ? ids_.find(std::string(piece)) : ids_.end();
  if (whole != ids_.end()) return ids.push_back(whole->second);
  struct Part {
    std::int64_t id;  // −1: part of the preceding token, or a sentinel
    std::size_t before, next;
  };
  std::vector<Part> parts = {{-1, 0, 1}};
  using Waiting = std::pair<std::size_t, std::size_t>;  // rank, index of the left part
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> heap;
  const auto pair_at = [&](std::size_t at) {
    return joined(parts[at].id, parts[parts[at].next].id);
  };
  const auto wait = [&](std::size_t at) {
    if (const Joined* found = pair_at(at)) heap.emplace(found->rank, at);
  };
  for (const char c : piece) {
    const std::int64_t id = bytes_[static_cast<unsigned char>(c)];
    if (id < 0) continue;
    parts.push_back({id, parts.size() - 1, parts.size() + 1});
    wait(parts.back().before);
  }
  parts.push_back({-1, parts.size() - 1, parts.size()});
  while (!heap.empty()) {
    const auto [rank, at] = heap.top();
    heap.pop();
    const Joined* found = pair_at(at);
    if (!found || found->rank != rank) continue;
    Part& left = parts[at];
    parts[left.next].id = -1;
    left = {found->id, left.before, parts[left.next].next};
    parts[left.next].before = at;
    wait(left.before);
    wait(at);
  }
  for (const Part& part : parts)
    if (part.id >= 0) ids.push_back(part.id);
}

void BpeTokenizer::encode_pieces(std::span<const std::string_view> all,
                                 std::vector<std::int64_t>& ids) const {
  std::unordered_map<std::string_view, std::pair<std::size_t, std::size_t>> known;
  for (const std::string_view piece : all) {
    const auto [at, fresh] = known.try_emplace(piece, ids.size(), ids.size());
    auto& [from, to] = at->second;
    for (std::size_t i = from; i < to; ++i) ids.push_back(ids[i]);
    if (!fresh) continue;
    encode_piece(piece, ids);
    to = ids.size();
  }
}

std::vector<std::int64_t> BpeTokenizer::encode(std::string_view text) const {
  std::vector<std::int64_t> ids;
  encode_pieces(pieces(text), ids);
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
  return json_of({{"type", "bpe"}, {"tokens", tokens}, {"merges", merges}});
}

BpeTokenizer bpe_of_visible(const std::vector<std::string>& tokens,
                            const std::vector<std::string>& merges, const std::string& name,
                            const std::vector<bool>& literal) {
  std::vector<std::string> own;
  std::unordered_map<std::string_view, std::int64_t> ids;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    ids.emplace(tokens[i], std::ssize(own));
    own.push_back(i < literal.size() && literal[i] ? tokens[i] : from_visible(tokens[i], name));
  }
  std::vector<BpeTokenizer::Merge> pairs;
  for (const std::string& line : merges) {
    const std::size_t space = std::min(line.find(' '), line.size());
    const auto left = ids.find(std::string_view(line).substr(0, space)),
               right = ids.find(std::string_view(line).substr(std::min(space + 1, line.size())));
    if (left == ids.end() || right == ids.end())
      fail<FileError>(name, ": the merge ", quote(line), " must consist of two tokens");
    pairs.emplace_back(left->second, right->second);
  }
  return {std::move(own), std::move(pairs), name};
}

std::vector<std::string> tokens_by_id(const Json& vocabulary) {
  const auto members = vocabulary.members();
  std::vector<std::string> tokens(members.size());
  for (const auto& [token, id] : members) {
    const auto at = static_cast<std::size_t>(id.as_int());  // a negative id becomes too large
    if (token.empty() || at >= tokens.size() || !tokens[at].empty())
      id.fail(str_cat("id ", id.as_int(), " repeats, is not between 0 and ", tokens.size() - 1,
                      ", or belongs to an empty token"));
    tokens[at] = token;
  }
  return tokens;
}

BpeTokenizer load_hugging_face_bpe(const std::string& vocab_json, const std::string& merges_txt) {
  return parse_hugging_face_bpe(read_text(vocab_json), vocab_json, read_text(merges_txt),
                                merges_txt);
}

BpeTokenizer parse_hugging_face_bpe(std::string_view vocab_text, const std::string& vocab_name,
                                    std::string_view merges_text, const std::string& merges_name) {
  const std::vector<std::string> tokens = tokens_by_id(Json::parse(vocab_text, vocab_name));
  std::vector<std::string> merges;
  for (std::string& line : split_text(merges_text, '\n')) {
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty() && !line.starts_with("#version")) merges.push_back(std::move(line));
  }
  BpeTokenizer made = bpe_of_visible(tokens, merges, merges_name);
  made.require_all_bytes(merges_name);
  return made;
}

}  // namespace gradus::io
