// Axes: P product atoms, R reactant atoms.
#include "mapping.h"

#include <algorithm>

#include "gradus/engine/base/error.h"

namespace gradus::examples {
namespace {

constexpr double kNeighbours = 90;
constexpr double kNothingLeft = 1e-8;  // stop if the highest remaining weight is below this

using Matrix = std::vector<std::vector<double>>;  // [P][R]

/// Returns, for each pair of atoms, the sum of the attention in both directions if their elements
/// are equal, and 0 otherwise.
Matrix looks(const Reaction& reaction, const Tensor& weights) {
  const std::vector<float> seen = weights.to_vector<float>();
  const std::int64_t T = weights.size(0), R = reaction.reactant_atoms;
  std::vector<std::int64_t> place(reaction.element.size());  // row of each atom; row 0 is [CLS]
  for (std::size_t i = 0; i < reaction.atoms.size(); ++i)
    if (reaction.atoms[i] >= 0)
      place[static_cast<std::size_t>(reaction.atoms[i])] = static_cast<std::int64_t>(i) + 1;
  Matrix both;
  for (std::size_t p = static_cast<std::size_t>(R); p < place.size(); ++p) {
    std::vector<double>& row = both.emplace_back();
    for (std::size_t r = 0; r < static_cast<std::size_t>(R); ++r) {
      const auto at = [&](std::int64_t i, std::int64_t j) {
        return static_cast<double>(seen[static_cast<std::size_t>(i * T + j)]);
      };
      const bool alike = reaction.element[p] == reaction.element[r];
      row.push_back(alike ? at(place[p], place[r]) + at(place[r], place[p]) : 0);
    }
  }
  return both;
}

struct Pair {
  std::size_t product = 0, reactant = 0;
  double confidence = 0;
};

/// Returns the pair whose weight is the largest share of its row's sum.
Pair surest(const Matrix& matrix) {
  Pair best;
  for (std::size_t p = 0; p < matrix.size(); ++p) {
    double sum = 0;
    for (const double each : matrix[p]) sum += each;
    if (sum == 0) continue;
    for (std::size_t r = 0; r < matrix[p].size(); ++r)
      if (matrix[p][r] / sum > best.confidence) best = {p, r, matrix[p][r] / sum};
  }
  return best;
}

void take(Matrix& matrix, const Pair& pair, const Reaction& reaction) {
  const auto first = static_cast<std::size_t>(reaction.reactant_atoms);
  for (const std::int64_t p : reaction.neighbours[first + pair.product])
    for (const std::int64_t r : reaction.neighbours[pair.reactant])
      matrix[static_cast<std::size_t>(p) - first][static_cast<std::size_t>(r)] *= kNeighbours;
  std::fill(matrix[pair.product].begin(), matrix[pair.product].end(), 0);
  for (std::vector<double>& row : matrix) row[pair.reactant] = 0;
}

}  // namespace

AtomMap map_atoms(const Reaction& reaction, const Tensor& weights) {
  const std::int64_t T = std::ssize(reaction.tokens) + 2;
  require<ShapeError>(weights.rank() == 2 && weights.size(0) == T && weights.size(1) == T,
                      "map_atoms: weights of ", T, " tokens must be [", T, ", ", T, "], got ",
                      weights.shape());
  Matrix matrix = looks(reaction, weights);
  AtomMap map{.reactant = std::vector<std::int64_t>(matrix.size(), -1),
              .confidence = std::vector<double>(matrix.size(), 1)};
  for (std::size_t step = 0; step < matrix.size(); ++step) {
    const Pair pair = surest(matrix);
    if (pair.confidence < kNothingLeft) break;
    map.reactant[pair.product] = static_cast<std::int64_t>(pair.reactant);
    map.confidence[pair.product] = pair.confidence;
    take(matrix, pair, reaction);
  }
  for (const double each : map.confidence) map.all *= each;
  return map;
}

std::string mapped_text(const Reaction& reaction, const AtomMap& map) {
  std::string text;
  for (std::size_t i = 0; i < reaction.tokens.size(); ++i) {
    const std::int64_t atom = reaction.atoms[i], product = atom - reaction.reactant_atoms;
    const std::string& token = reaction.tokens[i];
    const auto found = std::find(map.reactant.begin(), map.reactant.end(), atom);
    const std::int64_t number = atom < 0 || (product < 0 && found == map.reactant.end())
                                    ? 0
                                    : (product < 0 ? found - map.reactant.begin() : product) + 1;
    if (number == 0)
      text += token;
    else if (token[0] == '[')
      text += str_cat(token.substr(0, token.size() - 1), ":", number, "]");
    else
      text += str_cat("[", token, ":", number, "]");
  }
  return text;
}

}  // namespace gradus::examples
