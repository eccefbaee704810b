#include <string>

#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/ops/places.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing {
namespace {

using namespace places;

void add_copies(Samples& s) {
  add(
      s, "contiguous", "a transposed view", {values({3, 5})},
      [](const Inputs& x) { return contiguous(transpose(x[0])); },
      each({5, 3}, [](const auto& x, const Place& p) {
        return at(x[0], {3, 5}, {p[1], p[0]});
      }));
  add(
      s, "clone", "a transposed view", {values({3, 5})},
      [](const Inputs& x) { return clone(transpose(x[0])); },
      each({5, 3}, [](const auto& x, const Place& p) {
        return at(x[0], {3, 5}, {p[1], p[0]});
      }));
  s.push_back({.op = "reshape",
               .what = "two axes become one",
               .inputs = {values({3, 2, 5})},
               .f =
                   [](const Inputs& x) {
                     return view(clone(x[0]), {-1, 5});
                   },
               .reference = each({6, 5},
                                 [](const auto& x, const Place& p) {
                                   return at(x[0], {6, 5}, p);
                                 }),
               .function = "view"});
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
      each({2, 2, 3},
           [](const auto& x, const Place& p) {
             return at(x[static_cast<std::size_t>(p[1])], {2, 3}, {p[0], p[2]});
           }),
      "stack");
  add(
      s, "cat", "stack of rank 0", {values({}), values({}, 1)},
      [](const Inputs& x) {
        return stack({x[0], x[1]}, -1);
      },
      each({2}, [](const auto& x,
                   const Place& p) { return at(x[static_cast<std::size_t>(p[0])], {}, {}); }),
      "stack");
}

void add_repeats_and_flips(Samples& s) {
  add(
      s, "expand", "repeat along both axes and a new one", {values({2, 3})},
      [](const Inputs& x) {
        return repeat(x[0], {2, 3, 2});
      },
      each({2, 6, 6},
           [](const auto& x, const Place& p) {
             return at(x[0], {2, 3}, {p[1] % 2, p[2] % 3});
           }),
      "repeat");
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
        s, "tril", "a batch, diagonal " + std::to_string(diagonal), {values({2, 3, 5})},
        [=](const Inputs& x) { return tril(x[0], diagonal); },
        each({2, 3, 5}, [=](const auto& x, const Place& p) {
          return p[2] - p[1] <= diagonal ? at(x[0], {2, 3, 5}, p) : 0.0;
        }));
    add(
        s, "triu", "a transposed view, diagonal " + std::to_string(diagonal), {values({3, 5})},
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
      s, "pad", "no padding, a view", {values({3, 4})},
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
  add_copies(samples);
  add_repeats_and_flips(samples);
  add_triangles_and_pads(samples);
  return samples;
}

}  // namespace gradus::testing
