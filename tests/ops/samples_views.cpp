#include "gradus/ops/attention/attention.h"
#include "gradus/ops/create.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/ops/places.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing {
namespace {

using namespace places;

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
      s, "reshape", "heads of a packed projection, split and rejoined", {values({3, 2, 4})},
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
      [](const Inputs& x) { return flatten(x[0], 1, -2); }, as_it_is, "flatten");
  add(
      s, "reshape", "squeeze and unsqueeze of a strided view", {values({1, 3, 2})},
      [](const Inputs& x) { return unsqueeze(squeeze(transpose(x[0], 0, 2), -1), 0); },
      each({1, 2, 3},
           [](const auto& x, const Place& p) {
             return at(x[0], {3, 2}, {p[2], p[1]});
           }),
      "unsqueeze");
}

void add_axes_of_one(Samples& s) {
  add(
      s, "reshape", "an inner axis is removed", {values({3, 1, 5})},
      [](const Inputs& x) { return squeeze(x[0], 1); }, as_it_is, "squeeze");
  add(
      s, "reshape", "the last axis of a transposed view is removed", {values({1, 3, 2})},
      [](const Inputs& x) { return squeeze(transpose(x[0], 0, 2), -1); },
      each({2, 3},
           [](const auto& x, const Place& p) {
             return at(x[0], {3, 2}, {p[1], p[0]});
           }),
      "squeeze");
  add(
      s, "reshape", "a new last axis", {values({3, 5})},
      [](const Inputs& x) { return unsqueeze(x[0], -1); }, as_it_is, "unsqueeze");
  add(
      s, "reshape", "flatten all axes", {values({2, 3, 5})},
      [](const Inputs& x) { return flatten(x[0]); }, as_it_is, "flatten");
}

void add_orders(Samples& s) {
  add(
      s, "transpose", "last two axes", {values({2, 3, 5})},
      [](const Inputs& x) { return transpose(x[0]); },
      each({2, 5, 3}, [](const auto& x, const Place& p) {
        return at(x[0], {2, 3, 5}, {p[0], p[2], p[1]});
      }));
  add(
      s, "transpose", "two given axes of a view", {values({3, 7})},
      [](const Inputs& x) { return transpose(slice(x[0], 1, 1, 7, 3), 1, 0); },
      each({2, 3}, [](const auto& x, const Place& p) {
        return at(x[0], {3, 7}, {p[1], 1 + 3 * p[0]});
      }));
  add(
      s, "transpose", "an axis with itself", {values({4})},
      [](const Inputs& x) { return transpose(x[0], 0, -1); }, as_it_is);
  add(
      s, "split_heads", "three heads of two", {values({2, 5, 6})},
      [](const Inputs& x) { return split_heads(x[0], 3); },
      each({2, 3, 5, 2}, [](const auto& x, const Place& p) {
        return at(x[0], {2, 5, 6}, {p[0], p[2], 2 * p[1] + p[3]});
      }));
  s.back().op = "transpose";
  s.back().function = "split_heads";
  add(
      s, "merge_heads", "three heads of seven", {values({2, 3, 5, 7})},
      [](const Inputs& x) { return merge_heads(x[0]); },
      each({2, 5, 21}, [](const auto& x, const Place& p) {
        return at(x[0], {2, 3, 5, 7}, {p[0], p[2] / 7, p[1], p[2] % 7});
      }));
  s.back().op = "transpose";
  s.back().function = "merge_heads";
  add(
      s, "permute", "a cycle, which differs from its inverse", {values({2, 3, 5})},
      [](const Inputs& x) {
        return permute(x[0], {2, 0, 1});
      },
      each({5, 2, 3}, [](const auto& x, const Place& p) {
        return at(x[0], {2, 3, 5}, {p[1], p[2], p[0]});
      }));
  add(
      s, "permute", "four negative axes", {values({2, 3, 1, 2})},
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
      s, "slice", "every third position, a short end", {values({7, 2})},
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
      s, "slice", "an empty slice with a step", {values({3, 2})},
      [](const Inputs& x) { return slice(x[0], 0, 3, 3, 2); }, nothing);
  add(
      s, "slice", "nothing", {values({3, 2})}, [](const Inputs& x) { return slice(x[0], 0, 2, 1); },
      nothing);
  add(
      s, "slice", "brackets with a position, a step and a range", {values({2, 5, 4})},
      [](const Inputs& x) {
        return x[0][{-1, slice(0, 5, 2), slice(1, 3)}];
      },
      each({3, 2},
           [](const auto& x, const Place& p) {
             return at(x[0], {2, 5, 4}, {1, 2 * p[0], 1 + p[1]});
           }),
      "slice");
  add(
      s, "slice", "parts of a split, used twice or never", {values({2, 7})},
      [](const Inputs& x) {
        const std::vector<Tensor> part = split(x[0], {2, 3, 2}, 1);
        return cat({part[2], part[0], part[2]}, 1);
      },
      each({2, 6},
           [](const auto& x, const Place& p) {
             const std::int64_t from[] = {5, 6, 0, 1, 5, 6};
             return at(x[0], {2, 7}, {p[0], from[p[1]]});
           }),
      "split");
}

void add_parts(Samples& s) {
  add(
      s, "slice", "equal parts, the last shorter, in another order", {values({7, 3})},
      [](const Inputs& x) {
        const std::vector<Tensor> part = split(x[0], 3);
        return cat({part[2], part[0], part[1]}, 0);
      },
      each({7, 3},
           [](const auto& x, const Place& p) {
             return at(x[0], {7, 3}, {(p[0] + 6) % 7, p[1]});
           }),
      "split");
  add(
      s, "slice", "the last and first of three chunks of a transposed view", {values({5, 3})},
      [](const Inputs& x) {
        const std::vector<Tensor> part = chunk(transpose(x[0]), 3, 1);
        return cat({part[2], part[0]}, 1);
      },
      each({3, 3},
           [](const auto& x, const Place& p) {
             return at(x[0], {5, 3}, {p[1] == 0 ? 4 : p[1] - 1, p[0]});
           }),
      "chunk");
}

void add_selects(Samples& s) {
  add(
      s, "select", "the end of the last axis", {values({2, 5, 3})},
      [](const Inputs& x) { return select(x[0], -1, -1); },
      each({2, 5}, [](const auto& x, const Place& p) {
        return at(x[0], {2, 5, 3}, {p[0], p[1], 2});
      }));
  add(
      s, "select", "a middle axis", {values({2, 5, 3})},
      [](const Inputs& x) { return select(x[0], 1, 3); },
      each({2, 3}, [](const auto& x, const Place& p) {
        return at(x[0], {2, 5, 3}, {p[0], 3, p[1]});
      }));
  add(
      s, "select", "a negative position, to rank 0", {values({4})},
      [](const Inputs& x) { return x[0][-2]; },
      each({}, [](const auto& x, const Place&) { return at(x[0], {4}, {2}); }));
  add(
      s, "select", "the same row twice", {values({3, 2})},
      [](const Inputs& x) {
        return stack({select(x[0], 0, 1), select(x[0], 0, 1)}, 1);
      },
      each({2, 2},
           [](const auto& x, const Place& p) {
             return at(x[0], {3, 2}, {1, p[0]});
           }),
      "select");
}

}  // namespace

Samples view_samples() {
  Samples samples;
  add_reshapes(samples);
  add_axes_of_one(samples);
  add_orders(samples);
  add_slices(samples);
  add_parts(samples);
  add_selects(samples);
  return samples;
}

}  // namespace gradus::testing
