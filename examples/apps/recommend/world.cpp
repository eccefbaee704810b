#include "world.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

#include "gradus/engine/base/error.h"
#include "gradus/examples/apps/support/draws.h"
#include "gradus/io/text.h"

namespace gradus::examples {
namespace {

const std::array<const char*, kShelf> kAdjectives = {
    "Silent", "Amber", "Crooked", "Distant", "Early", "Faded",   "Golden", "Hidden",
    "Icy",    "Jolly", "Knotted", "Lonely",  "Misty", "Patient", "Rusty",  "Tender"};
const std::array<const char*, kGenres> kNouns = {
    "Harbour", "Comet",  "Orchard", "Violin",  "Castle",  "Desert", "Engine", "Falcon",
    "Glacier", "Island", "Jungle",  "Kitchen", "Lantern", "Mirror", "Opera",  "Shadow"};
constexpr double kFashion = 0.1;  // share of all steps
constexpr std::int64_t kFashionable = 30;

std::int64_t item_at(std::int64_t genre, std::int64_t place) { return 1 + genre * kShelf + place; }

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

class Walk {
 public:
  explicit Walk(Draws draws) : draws_(draws) {
    stride_ = draws_.chance(0.5) ? 1 : -1;
    const std::int64_t likes = 3 + draws_.below(3);
    while (std::ssize(genres_) < likes) {
      const std::int64_t genre = draws_.below(kGenres);
      if (std::none_of(genres_.begin(), genres_.end(),
                       [&](const Visit& v) { return v.genre == genre; }))
        genres_.push_back({genre, draws_.below(kShelf), 0});
    }
  }

  std::int64_t next() {
    ++time_;
    if (draws_.chance(kFashion)) return in_fashion();
    const std::size_t chosen = in_a_row_ == 2 || !draws_.chance(kStay) ? another() : current_;
    in_a_row_ = chosen == current_ ? in_a_row_ + 1 : 1;
    current_ = chosen;
    Visit& visit = genres_[chosen];
    visit.place = (visit.place + stride_ + kShelf) % kShelf;
    visit.time = time_;
    return item_at(visit.genre, visit.place);
  }

 private:
  struct Visit {
    std::int64_t genre, place, time;
  };
  static constexpr double kStay = 0.6;

  /// Draws a fashionable item. Squares of uniform numbers favor the first items.
  std::int64_t in_fashion() {
    const double u = static_cast<double>(draws_.below(1000)) / 1000;
    const auto rank = static_cast<std::int64_t>(u * u * kFashionable);
    return 1 + rank * 137 % kItems;  // spreads the items over the shelves
  }

  /// Returns another genre that the user likes, more likely one visited long ago.
  std::size_t another() {
    std::int64_t total = 0;
    for (std::size_t i = 0; i < genres_.size(); ++i) total += i == current_ ? 0 : weight(i);
    std::int64_t left = draws_.below(total);
    for (std::size_t i = 0; i < genres_.size(); ++i) {
      if (i == current_) continue;
      if ((left -= weight(i)) < 0) return i;
    }
    return current_;  // not reached
  }
  std::int64_t weight(std::size_t i) const {
    const std::int64_t since = time_ - genres_[i].time;
    return since * since;
  }

  Draws draws_;
  std::int64_t stride_, time_ = 0, in_a_row_ = 0;
  std::size_t current_ = 0;
  std::vector<Visit> genres_;
};

}  // namespace

std::string name_of(std::int64_t item) {
  require<IndexError>(1 <= item && item <= kItems, "item ", item, " is not in [1, ", kItems, "]");
  const auto at = static_cast<std::size_t>(item - 1);
  return std::string(kAdjectives[at % kShelf]) + " " + kNouns[at / kShelf];
}

std::int64_t item_of(const std::string& text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec == std::errc() && read.ptr == end) {
    name_of(number);  // throws if out of range
    return number;
  }
  for (std::int64_t item = 1; item <= kItems; ++item)
    if (lower(name_of(item)) == lower(text)) return item;
  fail<ValueError>(io::quote(text), ": no item has this name; items have names like ",
                   io::quote(name_of(1)), ", and numbers from 1 to ", kItems);
}

std::vector<History> histories(std::int64_t users, std::int64_t seed) {
  std::vector<History> all;
  for (std::int64_t user = 0; user < users; ++user) {
    Walk walk(Draws(seed, static_cast<std::uint32_t>(user)));
    History history;
    for (std::int64_t i = 0; i < kLength; ++i) history.push_back(walk.next());
    all.push_back(std::move(history));
  }
  return all;
}

}  // namespace gradus::examples
