#include "tree.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "gradus/engine/base/error.h"
#include "gradus/examples/apps/support/digest.h"
#include "gradus/examples/apps/support/files_below.h"
#include "gradus/io/text.h"
#include "gradus/ops/create.h"

namespace gradus::examples {
namespace {

using Ids = std::vector<std::int64_t>;

/// Orders files by path hash: the first fifth is for testing, the next tenth for validation.
void split_kind(std::vector<SourceFile*> files) {
  std::sort(files.begin(), files.end(), [](const SourceFile* a, const SourceFile* b) {
    return digest(a->path) < digest(b->path);
  });
  const std::size_t test = std::max<std::size_t>(1, files.size() / 5);
  const std::size_t validation = test + std::max<std::size_t>(1, files.size() / 10);
  for (std::size_t i = 0; i < files.size(); ++i)
    files[i]->part = i < test ? Part::test : i < validation ? Part::validation : Part::training;
}

Ids snippet(const Ids& text, std::size_t at, std::int64_t length) {
  Ids ids = {WordList::kStart};
  for (; at < text.size() && std::ssize(ids) < length; ++at) ids.push_back(text[at]);
  return ids;
}

Snippets padded(std::vector<Ids> texts, std::int64_t length, const Ids& kinds) {
  Snippets out;
  Ids all;
  for (Ids& each : texts) {
    out.lengths.push_back(std::ssize(each));
    each.resize(static_cast<std::size_t>(length), WordList::kPadding);
    all.insert(all.end(), each.begin(), each.end());
  }
  out.ids = tensor(all, {std::ssize(texts), length});
  out.kinds = tensor(kinds, {std::ssize(kinds)});
  return out;
}

}  // namespace

std::int64_t kind_of(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  const std::string ending = std::filesystem::path(path).extension().string();
  const bool test = path.starts_with("tests/");
  if (ending == ".h") return test ? 2 : 0;
  if (ending == ".cpp") return test ? 2 : 1;
  if (ending == ".py") return 3;
  if (ending == ".md") return 4;
  if (ending == ".cmake" || ending == ".sh" || name == "CMakeLists.txt") return 5;
  return -1;
}

std::vector<SourceFile> read_tree(const std::string& tree) {
  require<FileError>(std::filesystem::is_directory(tree), tree,
                     ": not a directory. Pass a directory of sources with --tree DIR.");
  const auto below = [&](const std::string& path) {
    return std::filesystem::path(path).lexically_relative(tree).generic_string();
  };
  const auto has_kind = [&](const std::string& path) { return kind_of(below(path)) >= 0; };
  std::vector<SourceFile> files;
  for (const std::string& path : files_below(tree, has_kind))
    files.push_back({below(path), io::read_text(path), kind_of(below(path)), Part::training});
  for (std::int64_t kind = 0; kind < kKinds; ++kind) {
    std::vector<SourceFile*> same;
    for (SourceFile& file : files)
      if (file.kind == kind) same.push_back(&file);
    require<FileError>(
        same.size() >= 3, tree, ": holds ", same.size(), " files of the kind ",
        io::quote(kKindNames[static_cast<std::size_t>(kind)]),
        ", but 3 are needed for training, validation and test; choose another --tree");
    split_kind(same);
  }
  return files;
}

std::string digest_of(const std::vector<SourceFile>& files) {
  std::uint64_t hash = digest("");
  for (const SourceFile& file : files) hash = digest(file.text, digest(file.path, hash));
  return std::to_string(hash);
}

SnippetSource::SnippetSource(const std::vector<SourceFile>& files, Part part,
                             const WordList& vocabulary, std::int64_t length)
    : length_(length) {
  for (const SourceFile& file : files) {
    if (file.part != part) continue;
    std::vector<Place>& places = places_[static_cast<std::size_t>(file.kind)];
    const std::size_t before = places.size();
    Ids ids;
    for (std::size_t line = 0, end; line < file.text.size(); line = end) {
      end = std::min(file.text.find('\n', line + 1), file.text.size());
      const Ids more = vocabulary.encode(std::string_view(file.text).substr(line, end - line));
      if (more.size() > 1) places.push_back({files_.size(), ids.size()});
      ids.insert(ids.end(), more.begin(), more.end());
    }
    if (places.size() > before) files_.push_back(std::move(ids));
  }
  for (std::size_t kind = 0; kind < kKinds; ++kind)
    require<FileError>(!places_[kind].empty(), "the files of the kind ",
                       io::quote(kKindNames[kind]),
                       " contain too little text; choose another --tree");
}

Snippets SnippetSource::gather(const std::vector<std::pair<std::int64_t, Place>>& places) const {
  std::vector<Ids> texts;
  Ids kinds;
  for (const auto& [kind, place] : places) {
    texts.push_back(snippet(files_[place.file], place.at, length_));
    kinds.push_back(kind);
  }
  return padded(std::move(texts), length_, kinds);
}

Snippets SnippetSource::draw(std::int64_t count, const RandomStream& random, Evenly evenly) const {
  std::vector<std::pair<std::int64_t, Place>> all, chosen;
  if (evenly == Evenly::among_lines)
    for (std::int64_t kind = 0; kind < kKinds; ++kind)
      for (const Place& place : places_[static_cast<std::size_t>(kind)])
        all.emplace_back(kind, place);
  const auto one_of = [&](const auto& list, std::int64_t which) {
    return list[static_cast<std::size_t>(random.below(which, std::ssize(list)))];
  };
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t kind = random.below(2 * i, kKinds);
    chosen.push_back(
        evenly == Evenly::among_lines
            ? one_of(all, 2 * i)
            : std::pair(kind, one_of(places_[static_cast<std::size_t>(kind)], 2 * i + 1)));
  }
  return gather(chosen);
}

Snippets SnippetSource::some(std::int64_t most) const {
  std::vector<std::pair<std::int64_t, Place>> chosen;
  for (std::int64_t kind = 0; kind < kKinds; ++kind) {
    std::vector<Place> apart;
    for (const Place& place : places_[static_cast<std::size_t>(kind)])
      if (apart.empty() || apart.back().file != place.file ||
          apart.back().at + static_cast<std::size_t>(length_ - 1) <= place.at)
        apart.push_back(place);
    const std::int64_t n = std::min(most, std::ssize(apart));
    for (std::int64_t i = 0; i < n; ++i)  // evenly spaced
      chosen.emplace_back(kind, apart[static_cast<std::size_t>(i * std::ssize(apart) / n)]);
  }
  return gather(chosen);
}

Snippets snippets_of(std::string_view text, const WordList& vocabulary, std::int64_t length) {
  const Ids ids = vocabulary.encode(text);
  require(!ids.empty(), "the text is empty; give a text or a file");
  std::vector<Ids> texts;
  for (std::int64_t at = 0; at < std::ssize(ids); at += length - 1)
    texts.push_back(snippet(ids, static_cast<std::size_t>(at), length));
  const Ids unknown(texts.size(), -1);
  return padded(std::move(texts), length, unknown);
}

}  // namespace gradus::examples
