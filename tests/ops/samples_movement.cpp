// Samples of views and movement. The references write each element's place out.
#include <string>
#include <utility>

#include "gradus/ops/create.h"
#include "gradus/ops/movement.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing {
namespace {

using Place = Sizes;

/// A row-major list of `shape` whose element at each place is source(x, place).
template <class Source>
Reference each(const Place& shape, Source source) {
  return [=]<class T>(const Arguments<T>& x) {
    std::int64_t count = 1;
    for (const std::int64_t size : shape) count *= size;
    List<T> y;
    Place place(shape.size());
    for (std::int64_t k = 0; k < count; ++k) {
      std::int64_t rest = k;
      for (std::size_t a = shape.size(); a-- > 0; rest /= shape[a]) place[a] = rest % shape[a];
      y.push_back(source(x, place));
    }
    return y;
  };
}

/// Element [place…] of the row-major numbers of x, whatever x's shape is called.
template <class T>
T at(const Argument<T>& x, const Place& shape, const Place& place) {
  std::int64_t k = 0;
  for (std::size_t a = 0; a < shape.size(); ++a) k = k * shape[a] + place[a];
  return x.values[static_cast<std::size_t>(k)];
}

constexpr auto as_it_is = []<class T>(const Arguments<T>& x) { return x[0].values; };
constexpr auto nothing = []<class T>(const Arguments<T>&) { return List<T>(); };

void add(Samples& samples, std::string op, std::string what, Inputs inputs,
         std::function<Tensor(const Inputs&)> f, Reference reference) {
  samples.push_back(
      {std::move(op), std::move(what), std::move(inputs), std::move(f), std::move(reference)});
}

void add_reshapes(Samples& s) {
  add(
      s, "reshape", "one size computed", {values({2, 3, 5})},
      [](const Inputs& x) {
        return reshape(x[0], {5, -1});
      },
      as_it_is);
  add(
      s, "reshape", "rank 0 to rank 2", {values({})},
      [](const Inputs& x) {
        return reshape(x[0], {1, 1});
      },
      as_it_is);
  add(
      s, "reshape", "size 0", {values({0, 3})},
      [](const Inputs& x) {
        return reshape(x[0], {2, 0, 7});
      },
      as_it_is);
  add(
      s, "reshape", "a transposed view: a copy", {values({3, 5})},
      [](const Inputs& x) { return reshape(transpose(x[0]), {15}); },
      each({15}, [](const auto& x, const Place& p) {
        return at(x[0], {3, 5}, {p[0] % 3, p[0] / 3});
      }));
  add(
      s, "reshape", "heads of a packed projection, split and joined again", {values({3, 2, 4})},
      [](const Inputs& x) {  // [3, 2, 4] → [2, 3, 2, 2] → [2, 3, 4]
        return reshape(reshape(transpose(x[0], 0, 1), {2, 3, 2, 2}), {2, 3, 4});
      },
      each({2, 3, 4}, [](const auto& x, const Place& p) {
        return at(x[0], {3, 2, 4}, {p[1], p[0], p[2]});
      }));
  add(
      s, "reshape", "an expanded view", {values({3, 1})},
      [](const Inputs& x) {
        return reshape(expand(x[0], {3, 4}), {2, 6});
      },
      each({2, 6},
           [](const auto& x, const Place& p) { return at(x[0], {3}, {(p[0] * 6 + p[1]) / 4}); }));
  add(
      s, "reshape", "flatten the middle", {values({2, 3, 1, 2})},
      [](const Inputs& x) { return flatten(x[0], 1, -2); }, as_it_is);
  add(
      s, "reshape", "squeeze and unsqueeze of a strided view", {values({1, 3, 2})},
      [](const Inputs& x) { return unsqueeze(squeeze(transpose(x[0], 0, 2), -1), 0); },
      each({1, 2, 3}, [](const auto& x, const Place& p) {
        return at(x[0], {3, 2}, {p[2], p[1]});
      }));
}

void add_orders(Samples& s) {
  add(
      s, "transpose", "last two axes", {values({2, 3, 5})},
      [](const Inputs& x) { return transpose(x[0]); },
      each({2, 5, 3}, [](const auto& x, const Place& p) {
        return at(x[0], {2, 3, 5}, {p[0], p[2], p[1]});
      }));
  add(
      s, "transpose", "axes given, of a view", {values({3, 7})},
      [](const Inputs& x) { return transpose(slice(x[0], 1, 1, 7, 3), 1, 0); },
      each({2, 3}, [](const auto& x, const Place& p) {
        return at(x[0], {3, 7}, {p[1], 1 + 3 * p[0]});
      }));
  add(
      s, "transpose", "an axis with itself", {values({4})},
      [](const Inputs& x) { return transpose(x[0], 0, -1); }, as_it_is);
  add(
      s, "permute", "a cycle: its inverse is another", {values({2, 3, 5})},
      [](const Inputs& x) {
        return permute(x[0], {2, 0, 1});
      },
      each({5, 2, 3}, [](const auto& x, const Place& p) {
        return at(x[0], {2, 3, 5}, {p[1], p[2], p[0]});
      }));
  add(
      s, "permute", "axes from the end, four of them", {values({2, 3, 1, 2})},
      [](const Inputs& x) {
        return permute(x[0], {-3, -1, 0, 2});
      },
      each({3, 2, 2, 1}, [](const auto& x, const Place& p) {
        return at(x[0], {2, 3, 1, 2}, {p[2], p[0], p[3], p[1]});
      }));
  add(
      s, "permute", "rank 0", {values({})}, [](const Inputs& x) { return permute(x[0], {}); },
      as_it_is);
  add(
      s, "expand", "an inner and a new axis", {values({3, 1, 2})},
      [](const Inputs& x) {
        return expand(x[0], {2, -1, 4, 2});
      },
      each({2, 3, 4, 2}, [](const auto& x, const Place& p) {
        return at(x[0], {3, 2}, {p[1], p[3]});
      }));
  add(
      s, "expand", "rank 0", {values({})},
      [](const Inputs& x) {
        return expand(x[0], {2, 3});
      },
      each({2, 3}, [](const auto& x, const Place&) { return at(x[0], {}, {}); }));
  add(
      s, "expand", "to size 0", {values({1, 3})},
      [](const Inputs& x) {
        return expand(x[0], {0, 3});
      },
      nothing);
}

void add_slices(Samples& s) {
  add(
      s, "slice", "the middle of an axis", {values({2, 7, 3})},
      [](const Inputs& x) { return slice(x[0], 1, 2, -1); },
      each({2, 4, 3}, [](const auto& x, const Place& p) {
        return at(x[0], {2, 7, 3}, {p[0], p[1] + 2, p[2]});
      }));
  add(
      s, "slice", "every third, the last short", {values({7, 2})},
      [](const Inputs& x) { return slice(x[0], 0, 1, 100, 3); },
      each({2, 2}, [](const auto& x, const Place& p) {
        return at(x[0], {7, 2}, {1 + 3 * p[0], p[1]});
      }));
  add(
      s, "slice", "every second of a transposed view", {values({3, 5})},
      [](const Inputs& x) { return slice(transpose(x[0]), 0, 0, 5, 2); },
      each({3, 3}, [](const auto& x, const Place& p) {
        return at(x[0], {3, 5}, {p[1], 2 * p[0]});
      }));
  add(
      s, "slice", "nothing", {values({3, 2})}, [](const Inputs& x) { return slice(x[0], 0, 2, 1); },
      nothing);
  add(
      s, "slice", "by index brackets: a position, a step, a range", {values({2, 5, 4})},
      [](const Inputs& x) {
        return x[0][{-1, slice(0, 5, 2), slice(1, 3)}];
      },
      each({3, 2}, [](const auto& x, const Place& p) {
        return at(x[0], {2, 5, 4}, {1, 2 * p[0], 1 + p[1]});
      }));
  add(
      s, "slice", "parts of a split, used twice and not at all", {values({2, 7})},
      [](const Inputs& x) {
        const std::vector<Tensor> part = split(x[0], {2, 3, 2}, 1);
        return cat({part[2], part[0], part[2]}, 1);
      },
      each({2, 6}, [](const auto& x, const Place& p) {
        const std::int64_t from[] = {5, 6, 0, 1, 5, 6};
        return at(x[0], {2, 7}, {p[0], from[p[1]]});
      }));
}

void add_selects(Samples& s) {
  add(
      s, "select", "a middle axis", {values({2, 5, 3})},
      [](const Inputs& x) { return select(x[0], 1, 3); },
      each({2, 3}, [](const auto& x, const Place& p) {
        return at(x[0], {2, 5, 3}, {p[0], 3, p[1]});
      }));
  add(
      s, "select", "down to rank 0, from the end", {values({4})},
      [](const Inputs& x) { return x[0][-2]; },
      each({}, [](const auto& x, const Place&) { return at(x[0], {4}, {2}); }));
  add(
      s, "select", "the same row twice", {values({3, 2})},
      [](const Inputs& x) {
        return stack({select(x[0], 0, 1), select(x[0], 0, 1)}, 1);
      },
      each({2, 2}, [](const auto& x, const Place& p) {
        return at(x[0], {3, 2}, {1, p[0]});
      }));
}

void add_copies(Samples& s) {
  add(
      s, "contiguous", "a transposed view", {values({3, 5})},
      [](const Inputs& x) { return contiguous(transpose(x[0])); },
      each({5, 3}, [](const auto& x, const Place& p) {
        return at(x[0], {3, 5}, {p[1], p[0]});
      }));
  add(
      s, "cat", "unequal sizes, one of them 0, one a view",
      {values({2, 3}), values({2, 0}), values({1, 2}, 1)},
      [](const Inputs& x) {
        return cat({x[0], x[1], expand(x[2], {2, 2})}, 1);
      },
      each({2, 5}, [](const auto& x, const Place& p) {
        return p[1] < 3 ? at(x[0], {2, 3}, p) : at(x[2], {2}, {p[1] - 3});
      }));
  add(
      s, "cat", "first axis, the same tensor twice", {values({2, 3}), values({1, 3}, 1)},
      [](const Inputs& x) {
        return cat({x[0], x[1], x[0]}, 0);
      },
      each({5, 3}, [](const auto& x, const Place& p) {
        return p[0] == 2 ? at(x[1], {3}, {p[1]}) : at(x[0], {2, 3}, {p[0] % 3, p[1]});
      }));
  add(
      s, "cat", "stack along a middle axis", {values({2, 3}), values({2, 3}, 1)},
      [](const Inputs& x) {
        return stack({x[0], x[1]}, 1);
      },
      each({2, 2, 3}, [](const auto& x, const Place& p) {
        return at(x[static_cast<std::size_t>(p[1])], {2, 3}, {p[0], p[2]});
      }));
  add(
      s, "cat", "stack of rank 0", {values({}), values({}, 1)},
      [](const Inputs& x) {
        return stack({x[0], x[1]}, -1);
      },
      each({2}, [](const auto& x, const Place& p) {
        return at(x[static_cast<std::size_t>(p[0])], {}, {});
      }));
}

void add_repeats_and_flips(Samples& s) {
  add(
      s, "expand", "repeat along both axes and a new one", {values({2, 3})},
      [](const Inputs& x) {
        return repeat(x[0], {2, 3, 2});
      },
      each({2, 6, 6}, [](const auto& x, const Place& p) {
        return at(x[0], {2, 3}, {p[1] % 2, p[2] % 3});
      }));
  add(
      s, "flip", "two of three axes", {values({2, 3, 5})},
      [](const Inputs& x) {
        return flip(x[0], {0, -1});
      },
      each({2, 3, 5}, [](const auto& x, const Place& p) {
        return at(x[0], {2, 3, 5}, {1 - p[0], p[1], 4 - p[2]});
      }));
  s.push_back(
      {"flip",
       "an expanded view",
       {values({3, 1})},
       [](const Inputs& x) {
         return flip(expand(x[0], {3, 2}), {0, 1});
       },
       each({3, 2}, [](const auto& x, const Place& p) { return at(x[0], {3}, {2 - p[0]}); })});
  add(
      s, "flip", "size 0", {values({0, 2})}, [](const Inputs& x) { return flip(x[0], {0}); },
      nothing);
}

void add_triangles_and_pads(Samples& s) {
  for (const std::int64_t diagonal : {-2, 0, 1, 9}) {
    add(
        s, "tril", "of a batch, diagonal " + std::to_string(diagonal), {values({2, 3, 5})},
        [=](const Inputs& x) { return tril(x[0], diagonal); },
        each({2, 3, 5}, [=](const auto& x, const Place& p) {
          return p[2] - p[1] <= diagonal ? at(x[0], {2, 3, 5}, p) : 0.0;
        }));
    add(
        s, "triu", "of a transposed view, diagonal " + std::to_string(diagonal), {values({3, 5})},
        [=](const Inputs& x) { return triu(transpose(x[0]), diagonal); },
        each({5, 3}, [=](const auto& x, const Place& p) {
          return p[1] - p[0] >= diagonal ? at(x[0], {3, 5}, {p[1], p[0]}) : 0.0;
        }));
  }
  add(
      s, "pad", "both ends of a middle axis", {values({2, 3, 2})},
      [](const Inputs& x) { return pad(x[0], 1, 2, 1, -4.5); },
      each({2, 6, 2}, [](const auto& x, const Place& p) {
        return p[1] < 2 || p[1] > 4 ? -4.5 : at(x[0], {2, 3, 2}, {p[0], p[1] - 2, p[2]});
      }));
  add(
      s, "pad", "nothing to pad, of a view", {values({3, 4})},
      [](const Inputs& x) { return pad(slice(x[0], 1, 0, 4, 2), 0, 0, 0); },
      each({3, 2}, [](const auto& x, const Place& p) {
        return at(x[0], {3, 4}, {p[0], 2 * p[1]});
      }));
  add(
      s, "pad", "an axis of size 0", {values({0, 2})},
      [](const Inputs& x) { return pad(x[0], 0, 1, 1, 2.0); },
      []<class T>(const Arguments<T>&) { return List<T>(4, T(2.0)); });
}

}  // namespace

Samples movement_samples() {
  Samples samples;
  add_reshapes(samples);
  add_orders(samples);
  add_slices(samples);
  add_selects(samples);
  add_copies(samples);
  add_repeats_and_flips(samples);
  add_triangles_and_pads(samples);
  return samples;
}

}  // namespace gradus::testing
