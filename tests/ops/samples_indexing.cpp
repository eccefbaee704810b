// Samples whose indices repeat, omit positions, or are views.
#include "gradus/ops/create.h"
#include "gradus/ops/indexing.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing {
namespace {

using Positions = std::vector<std::int64_t>;

template <class T>
const Positions& positions(const Argument<T>& index) {
  return index.integers;
}

/// x [outer, n, inner] → [outer, index.size(), inner]
template <class T>
List<T> pick(const List<T>& x, std::int64_t outer, std::int64_t n, std::int64_t inner,
             const Positions& index) {
  List<T> y;
  for (std::int64_t o = 0; o < outer; ++o)
    for (const std::int64_t i : index)
      for (std::int64_t j = 0; j < inner; ++j)
        y.push_back(x[static_cast<std::size_t>((o * n + i) * inner + j)]);
  return y;
}

void add_index_select(Samples& s) {
  s.push_back(
      {"index_select",
       "first axis, repeats",
       {values({5, 3}), indices({4, 0, 4, 2})},
       [](const Inputs& x) { return index_select(x[0], 0, x[1]); },
       []<class T>(const Arguments<T>& x) { return pick(x[0].values, 1, 5, 3, positions(x[1])); }});
  s.push_back(
      {"index_select",
       "middle axis, repeats",
       {values({2, 5, 3}), indices({1, 1, 3})},
       [](const Inputs& x) { return index_select(x[0], -2, x[1]); },
       []<class T>(const Arguments<T>& x) { return pick(x[0].values, 2, 5, 3, positions(x[1])); }});
  s.push_back(
      {"index_select",
       "a transposed view, every second index",
       {values({2, 5}), indices({3, 9, 0, 9, 3})},
       [](const Inputs& x) { return index_select(transpose(x[0]), 0, slice(x[1], 0, 0, 5, 2)); },
       []<class T>(const Arguments<T>& x) {
         const List<T> v = x[0].values;
         return List<T>{v[3], v[8], v[0], v[5], v[3], v[8]};
       }});
  s.push_back({"index_select",
               "no index",
               {values({3, 2}), indices({})},
               [](const Inputs& x) { return index_select(x[0], 0, x[1]); },
               []<class T>(const Arguments<T>&) { return List<T>(); }});
}

void add_gather(Samples& s) {
  const Tensor rows = tensor(Positions{2, 0, 2, 1, 1, 1}, {2, 3});
  s.push_back({"gather",
               "along the first axis, repeats",
               {values({3, 5}), rows},
               [](const Inputs& x) { return gather(x[0], 0, x[1]); },
               []<class T>(const Arguments<T>& x) {
                 const List<T> v = x[0].values;
                 const Positions at = positions(x[1]);
                 List<T> y;
                 for (std::size_t k = 0; k < 6; ++k)
                   y.push_back(v[static_cast<std::size_t>(at[k]) * 5 + k % 3]);
                 return y;
               }});
  s.push_back({"gather",
               "one element of each row, as in a loss",
               {values({4, 3}), tensor(Positions{2, 0, 0, 1}, {4, 1})},
               [](const Inputs& x) { return gather(x[0], -1, x[1]); },
               []<class T>(const Arguments<T>& x) {
                 const List<T> v = x[0].values;
                 return List<T>{v[2], v[3], v[6], v[10]};
               }});
  s.push_back(
      {"gather",
       "more positions than x has, an expanded index",
       {values({2, 3}), indices({2, 0, 2, 1})},
       [](const Inputs& x) {
         return gather(x[0], 1, expand(x[1], {2, 4}));
       },
       []<class T>(const Arguments<T>& x) { return pick(x[0].values, 2, 3, 1, positions(x[1])); }});
  s.push_back({"gather",
               "a transposed view",
               {values({3, 2}), tensor(Positions{1, 0, 2, 2}, {2, 2})},
               [](const Inputs& x) { return gather(transpose(x[0]), 1, x[1]); },
               []<class T>(const Arguments<T>& x) {
                 const List<T> v = x[0].values;
                 return List<T>{v[2], v[0], v[5], v[5]};
               }});
  s.push_back({"gather",
               "no index",
               {values({3, 2}), tensor(Positions{}, {0, 2})},
               [](const Inputs& x) { return gather(x[0], 0, x[1]); },
               []<class T>(const Arguments<T>&) { return List<T>(); }});
}

void add_scatter(Samples& s) {
  const Tensor columns = tensor(Positions{4, 1, 4, 0, 0, 0}, {2, 3});
  s.push_back({"scatter_add",
               "along the last axis, repeats",
               {values({2, 5}), columns, values({2, 3}, 1)},
               [](const Inputs& x) { return scatter_add(x[0], 1, x[1], x[2]); },
               []<class T>(const Arguments<T>& x) {
                 List<T> y = x[0].values;
                 const List<T> v = x[2].values;
                 const Positions at = positions(x[1]);
                 for (std::size_t k = 0; k < 6; ++k)
                   y[k / 3 * 5 + static_cast<std::size_t>(at[k])] += v[k];
                 return y;
               }});
  s.push_back({"scatter_add",
               "along the first axis, sizes smaller than x's, a transposed source",
               {values({4, 3}), tensor(Positions{3, 0, 3, 1, 3, 1}, {3, 2}), values({2, 3}, 1)},
               [](const Inputs& x) { return scatter_add(x[0], 0, x[1], transpose(x[2])); },
               []<class T>(const Arguments<T>& x) {
                 List<T> y = x[0].values;
                 const List<T> v = x[2].values;
                 const Positions at = positions(x[1]);
                 for (std::size_t i = 0; i < 3; ++i)
                   for (std::size_t j = 0; j < 2; ++j)
                     y[static_cast<std::size_t>(at[i * 2 + j]) * 3 + j] += v[j * 3 + i];
                 return y;
               }});
  s.push_back({"scatter_add",
               "nothing",
               {values({2, 2}), tensor(Positions{}, {2, 0}), values({2, 0})},
               [](const Inputs& x) { return scatter_add(x[0], 1, x[1], x[2]); },
               []<class T>(const Arguments<T>& x) { return x[0].values; }});
}

void add_embedding(Samples& s) {
  const Tensor ids = tensor(Positions{4, 1, 4, 0, 1, 4}, {2, 3});
  s.push_back(
      {"embedding",
       "repeated ids, unused rows",
       {values({5, 3}), ids},
       [](const Inputs& x) { return embedding(x[0], x[1]); },
       []<class T>(const Arguments<T>& x) { return pick(x[0].values, 1, 5, 3, positions(x[1])); }});
  s.push_back(
      {"embedding",
       "one id of rank 0",
       {values({3, 4}), tensor(Positions{2}, {})},
       [](const Inputs& x) { return embedding(x[0], x[1]); },
       []<class T>(const Arguments<T>& x) { return pick(x[0].values, 1, 3, 4, positions(x[1])); }});
  s.push_back({"embedding",
               "transposed ids and weight, a padding id that does not occur",
               {values({3, 5}), ids},
               [](const Inputs& x) { return embedding(transpose(x[0]), transpose(x[1]), 3); },
               []<class T>(const Arguments<T>& x) {
                 const List<T> v = x[0].values;
                 const Positions at = positions(x[1]);
                 List<T> y;
                 for (std::size_t i = 0; i < 3; ++i)
                   for (std::size_t j = 0; j < 2; ++j)
                     for (std::size_t c = 0; c < 3; ++c)
                       y.push_back(v[c * 5 + static_cast<std::size_t>(at[j * 3 + i])]);
                 return y;
               }});
  s.push_back({"embedding",
               "no ids",
               {values({3, 2}), tensor(Positions{}, {2, 0})},
               [](const Inputs& x) { return embedding(x[0], x[1]); },
               []<class T>(const Arguments<T>&) { return List<T>(); }});
}

}  // namespace

Samples indexing_samples() {
  Samples samples;
  add_index_select(samples);
  add_gather(samples);
  add_scatter(samples);
  add_embedding(samples);
  return samples;
}

}  // namespace gradus::testing
