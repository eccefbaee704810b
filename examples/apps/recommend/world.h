// A generated world: items on shelves, and users who walk along some of them.
//
// Each of 16 genres has a shelf, a circle of 16 items. A user likes three to five genres, has a
// position on each shelf, and moves up on all of them or down on all. After two items of one genre
// they change to another. Otherwise they stay, or return to a liked genre, more likely the longer
// ago they left, and continue there. One item in ten is a fashionable one. So the next item depends
// on the last two, the direction, and old positions. The last item by itself says little.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gradus::examples {

using History = std::vector<std::int64_t>;  // items 1 … kItems, the latest last

constexpr std::int64_t kGenres = 16, kShelf = 16, kItems = kGenres * kShelf;
constexpr std::int64_t kLength = 40;  // items per user

/// "Silent Harbour": adjective of the position, noun of the genre.
std::string name_of(std::int64_t item);
/// By name, in any case, or by number. Throws ValueError.
std::int64_t item_of(const std::string& name_or_number);

/// Depends only on the seed. Fewer users are the first of more.
std::vector<History> histories(std::int64_t users, std::int64_t seed);

}  // namespace gradus::examples
