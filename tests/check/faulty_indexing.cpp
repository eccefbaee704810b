#include <vector>

#include "gradus/tests/check/faulty_ops.h"

namespace gradus::raw_cases {
namespace {

/// y = M x and dx = Mᵀ dy, with M[output, element] = rule(output, element).
using Rule = std::function<double(Index output, Index element)>;

Case linear(const char* name, At shape, Index outputs, const Rule& rule) {
  const auto elements = static_cast<Index>(count_of(shape));
  return {name,
          {{"x", shape, plain_values(elements)}},
          [=](const Arguments& in) {
            Values y(outputs, 0.0);
            for (Index i = 0; i < outputs; ++i) {
              for (Index j = 0; j < elements; ++j) y[i] += rule(i, j) * in[0][j];
            }
            return y;
          },
          [=](const Arguments&, const Values& dy) {
            Values dx(elements, 0.0);
            for (Index i = 0; i < outputs; ++i) {
              for (Index j = 0; j < elements; ++j) dx[j] += rule(i, j) * dy[i];
            }
            return Arguments{dx};
          }};
}

Spoil by_rule(const Rule& rule) {
  return instead(0, [rule](const Arguments& in, const Values& dy) {
    Values dx(in[0].size(), 0.0);
    for (Index i = 0; i < dy.size(); ++i) {
      for (Index j = 0; j < dx.size(); ++j) dx[j] += rule(i, j) * dy[i];
    }
    return dx;
  });
}

double yes(bool b) { return b ? 1 : 0; }

constexpr Index kPicked[] = {4, 1, 1, 0, 1};

/// Both return the position of element j after permute(2, 0, 1): the first for shape [2, 3, 5], and
/// the second for shape [5, 2, 3].
Index permuted(Index j) { return j % 5 * 6 + j / 5; }
Index unpermuted(Index j) { return j % 3 * 10 + j / 3; }

}  // namespace

std::vector<FaultyOp> faulty_indexing() {
  const Rule picks = [](Index i, Index j) { return yes(kPicked[i] == j); };
  const Rule sums = [](Index i, Index j) { return yes(j <= i); };
  const Rule weighs = [](Index i, Index j) {
    return j <= i ? 0.5 + 0.1 * static_cast<double>(i * 5 + j) : 0;
  };
  const Rule kept = [](Index i, Index j) { return i == j && j % 3 != 0 ? 2.0 : 0; };
  const Rule means = [](Index i, Index j) { return yes(j % 3 == i) / 4; };
  const Rule moves = [](Index i, Index j) { return yes(i == permuted(j)); };
  const Case gather = linear("gather", {5}, 5, picks), running = linear("cumsum", {5}, 5, sums);
  const Case causal = linear("causal", {5}, 5, weighs), mask = linear("mask", {7}, 7, kept);
  const Case mean = linear("mean", {4, 3}, 3, means);
  const Case turn = linear("permute", {2, 3, 5}, 30, moves);
  return {
      {"gather, = for +=", gather,
       instead(0,
               [](const Arguments&, const Values& dy) {
                 Values dx(5, 0.0);
                 for (Index i = 0; i < 5; ++i) dx[kPicked[i]] = dy[i];
                 return dx;
               }),
       "PARTIAL SUM"},
      {"gather, no index", gather, by_rule([](Index i, Index j) { return yes(i == j); }),
       "UPSTREAM ONLY"},
      {"gather, next index", gather,
       by_rule([](Index i, Index j) { return yes((kPicked[i] + 1) % 5 == j); }), "OFF BY ONE"},
      {"cumsum, forwards", running, by_rule([](Index i, Index j) { return yes(j >= i); }),
       "OPERAND TRANSPOSED"},
      {"cumsum, without itself", running, by_rule([](Index i, Index j) { return yes(j < i); }),
       "OFF BY ONE"},
      {"causal, no mask", causal,
       by_rule([](Index i, Index j) { return 0.5 + 0.1 * static_cast<double>(i * 5 + j); }),
       "LEAK"},
      {"causal, mask off by one", causal,
       by_rule([weighs](Index i, Index j) { return j < i ? weighs(i, j) : 0; }), "PARTIAL SUM"},
      {"mask, not applied", mask, by_rule([](Index i, Index j) { return 2 * yes(i == j); }),
       "LEAK"},
      {"mask, scale missing", mask, by_rule([kept](Index i, Index j) { return kept(i, j) / 2; }),
       "SCALE"},
      {"mask, applied inverted", mask,
       by_rule([kept](Index i, Index j) { return i == j ? 2 - kept(i, j) : 0; }),
       "LOCAL DERIVATIVE"},
      {"mean, as a sum", mean, by_rule([means](Index i, Index j) { return 4 * means(i, j); }),
       "SCALE"},
      {"mean, of one row", mean,
       by_rule([means](Index i, Index j) { return j < 3 ? means(i, j) : 0; }), "LEFT OUT"},
      {"mean, other axis", mean, by_rule([](Index i, Index j) { return yes(j / 4 == i) / 4; }),
       "TRANSPOSED"},
      {"permute, forwards",
       turn,
       by_rule([](Index i, Index j) { return yes(i == unpermuted(j)); }),
       "PERMUTED",
       0,
       {5, 2, 3}},
      {"permute, not at all",
       turn,
       by_rule([](Index i, Index j) { return yes(i == j); }),
       "UPSTREAM ONLY",
       0,
       {5, 2, 3}},
  };
}

}  // namespace gradus::raw_cases
