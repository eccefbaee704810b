// A world to learn from: items on shelves, and users who walk along some of them.
//
// There are 16 shelves, one a genre, of 16 items in a circle. A user likes three to five genres,
// has a place on each of their shelves, and goes along all of them up, or along all down. Somebody
// who took two items of one genre in a row turns to another one; otherwise they stay, or return to
// a liked genre, the likelier the longer it was left, and go on where they were. One item in ten is
// taken because it is in fashion. So what comes next hangs on the last two items, on the direction,
// and on places that were left long ago; the last item alone says little.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gradus::examples {

using History = std::vector<std::int64_t>;  // items 1 … kItems, the latest last

constexpr std::int64_t kGenres = 16, kShelf = 16, kItems = kGenres * kShelf;
constexpr std::int64_t kLength = 40;  // items that each user took

/// "Silent Harbour": an adjective for the place on the shelf, a noun for the genre.
std::string name_of(std::int64_t item);
/// By name, in any case of letters, or by number. ValueError: neither.
std::int64_t item_of(const std::string& name_or_number);

/// The histories of `users`, a function of the seed; those of fewer users are the first of them.
std::vector<History> histories(std::int64_t users, std::int64_t seed);

}  // namespace gradus::examples
