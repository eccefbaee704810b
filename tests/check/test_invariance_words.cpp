// What detectors say, in full, of sequences that are right, nearly right and wrong; and what they
// call the function with.
#include <limits>

#include "gradus/check/invariance.h"
#include "gradus/engine/strided.h"
#include "gradus/nn/linear.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/check/golden.h"

namespace gradus {
namespace {

using golden::Page;
using Lengths = std::vector<std::int64_t>;

const Tensor kNumbers =
    reshape(tensor({0.5, -1.0, 2.0, 4.0, 1.5, 3.0, -0.5, 0.25}, Dtype::f64), {2, 4, 1});
const Tensor kIds = tensor(Lengths{3, 1, 4, 1, 5, 3, 3, 1}, {2, 4});

std::string numbers_of(const Tensor& x) {
  return str_cat(x.shape()) + golden::word(kernel::convert(x, Dtype::f64).to_vector<double>());
}

/// Runs a detector and writes what f was called with.
template <class Run>
void show(Page& page, const std::string& what, Run run) {
  std::string calls;
  const auto f = [&calls](auto g) {
    return [&calls, g](const Tensor& x) {
      calls += "  " + numbers_of(x) + "\n";
      return g(x);
    };
  };
  std::string words;
  try {
    const check::Invariance found = run(f);
    words = (found ? "holds: " : "fails: ") + found.words;
  } catch (const Error& error) {
    words = std::string("refused: ") + error.what();
  }
  page.line("== " + what + "\n" + calls + words);
}

Tensor as_numbers(const Tensor& x) { return kernel::convert(x, Dtype::f64); }

/// Each position and the sum of those before it, from the one `behind` it on.
Tensor running_sum(const Tensor& x, std::int64_t ahead) {
  std::vector<Tensor> parts;
  for (std::int64_t t = 0; t < x.size(1); ++t) {
    const std::int64_t end = std::min(x.size(1), t + 1 + ahead);
    parts.push_back(sum(slice(as_numbers(x), 1, 0, end), {1}, true));
  }
  return cat(parts, 1);
}

/// Sums over the lengths, or over the whole of each row.
void show_padding(Page& page, const Tensor& x, bool whole) {
  std::string calls;
  const auto padded = [&](const Tensor& in, const Lengths& lengths) {
    calls += "  " + numbers_of(in) + golden::word(lengths) + "\n";
    std::vector<Tensor> rows;
    for (std::int64_t b = 0; b < in.size(0); ++b) {
      const Tensor row = slice(as_numbers(in), 0, b, b + 1);
      const std::int64_t n = whole ? in.size(1) : lengths[static_cast<std::size_t>(b)];
      rows.push_back(row + sum(slice(row, 1, 0, n), {1}, true));
    }
    return cat(rows, 0);
  };
  for (const Lengths& lengths : {Lengths{4, 2}, Lengths{1, 3}, Lengths{4, 4}, Lengths{2}})
    show(page, "padding", [&](auto) { return check::padding_invariant(padded, x, lengths); });
  page.line(calls);
}

}  // namespace

TEST_CASE("differences of all sizes are golden/check/differences.txt") {
  Page page;
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  for (const Dtype dtype : {Dtype::f64, Dtype::f32})
    for (const double tolerance : {0.0, 0.5, 0.25})
      for (const auto& [from, to] : std::vector<std::pair<double, double>>{{1, 1},
                                                                           {0.5, 1},
                                                                           {4, 5},
                                                                           {-4, -6},
                                                                           {0, 2e-9},
                                                                           {0, 0.5e-9},
                                                                           {0, 2e-4},
                                                                           {3, nan},
                                                                           {nan, nan},
                                                                           {inf, inf},
                                                                           {inf, 1},
                                                                           {2, -inf},
                                                                           {100, 100 + 0.9e-7},
                                                                           {-100, -100 - 3e-7},
                                                                           {0.25, 0.5}}) {
        nn::Linear module(1, 1);
        const auto f = [&](const Tensor&) {
          Tensor y = tensor({{3.0, 2.0, module.training() ? from : to, 7.0},
                             {1, 1, 1, module.training() ? 1.0 : 1.125}},
                            dtype);
          return y;
        };
        module.eval();
        const auto found = check::mode_invariant(module, f, kNumbers, {.tolerance = tolerance});
        page.line(dtype == Dtype::f64, tolerance, golden::shown(from, 10), golden::shown(to, 12),
                  found.holds, found.words, module.training());
      }
  page.compare("differences.txt");
}

TEST_CASE("what detectors ask and say is golden/check/detectors.txt") {
  Page page;
  for (const Tensor& x : {kNumbers, kIds}) {
    for (const std::int64_t ahead : {0, 1, 4})
      show(page, "causal, ahead " + std::to_string(ahead), [&](auto f) {
        return check::causal(f([&](const Tensor& in) { return running_sum(in, ahead); }), x);
      });
    for (const bool whole : {false, true}) {
      show(page, "batch", [&](auto f) {
        return check::batch_invariant(
            f([&](const Tensor& in) {
              return whole ? as_numbers(in) + sum(as_numbers(in), {0}, true) : as_numbers(in) * 2.0;
            }),
            x);
      });
      show(page, "permutation", [&](auto f) {
        return check::permutation_equivariant(
            f([&](const Tensor& in) {
              return whole ? running_sum(in, 0) : as_numbers(in) + sum(as_numbers(in), {1}, true);
            }),
            x);
      });
      show(page, "cache", [&](auto f) {
        const auto start = [&] {
          return [sum_so_far = whole ? 1.0 : 0.0](const Tensor& step) mutable {
            Tensor y = as_numbers(step) + sum_so_far;
            return y;
          };
        };
        return check::cache_invariant(f(as_numbers), start, x);
      });
      show_padding(page, x, whole);
    }
  }
  page.compare("detectors.txt");
}

TEST_CASE("permutations of few and many positions, and what is refused") {
  Page page;
  for (const std::int64_t T : {1, 2, 3, 4, 5, 6})
    show(page, "positions " + std::to_string(T), [&](auto f) {
      return check::permutation_equivariant(f(as_numbers), reshape(arange(0, T), {1, T}));
    });
  const auto same = [](const Tensor& x) { return x; };
  for (const Tensor& x : {Tensor(), tensor({1.0, 2.0}), zeros({0, 3}),
                          tensor(Lengths{2, 2, 2, 2}, {2, 2}), kNumbers, zeros({1, 3}), kIds}) {
    show(page, "causal", [&](auto f) { return check::causal(f(same), x); });
    show(page, "batch", [&](auto f) { return check::batch_invariant(f(same), x); });
    show(page, "cache", [&](auto f) {
      return check::cache_invariant(
          f(same), [&] { return same; }, x);
    });
    show(page, "padding", [&](auto f) {
      return check::padding_invariant([&](const Tensor& in, const Lengths&) { return f(same)(in); },
                                      x, {1, 2});
    });
  }
  show(page, "undefined",
       [&](auto f) { return check::causal(f([](const Tensor&) { return Tensor(); }), kNumbers); });
  show(page, "another shape", [&](auto) {
    return check::batch_invariant(
        [n = 0](const Tensor& in) mutable { return n++ == 0 ? in : slice(in, 1, 0, 2); }, kNumbers);
  });
  page.compare("refused_sequences.txt");
}

}  // namespace gradus
