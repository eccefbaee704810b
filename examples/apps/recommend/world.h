// A generated world: items on shelves, and users who move along some of the shelves.
//
// Each of 16 genres has a shelf, a circle of 16 items. A user likes three to five genres, has a
// position on each of their shelves, and moves either up or down on all of them. After two items of
// one genre the user switches to another. Otherwise the user stays, or returns to a liked genre
// (more likely the longer ago it was left) and continues there. One item in ten is a fashionable
// one. So the next item depends on the last two items, the direction, and earlier positions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gradus::examples {

using History = std::vector<std::int64_t>;  // items 1 … kItems, in order of time

constexpr std::int64_t kGenres = 16, kShelf = 16, kItems = kGenres * kShelf;
constexpr std::int64_t kLength = 40;  // items per user

/// Returns a name such as "Silent Harbour", from the position and the genre.
std::string name_of(std::int64_t item);
/// Finds an item by its name, in any case, or by its number. Throws ValueError.
std::int64_t item_of(const std::string& name_or_number);

/// Returns one history per user. The history of user i depends only on `seed` and i.
std::vector<History> histories(std::int64_t users, std::int64_t seed);

}  // namespace gradus::examples
