// sort and topk record a gather op, which selects their values.
#include <algorithm>

#include "gradus/ops/shape_ops.h"
#include "gradus/ops/sort.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing {
namespace {

/// Returns the first k elements of each sorted row. Rows have n elements.
template <class T>
List<T> sorted_rows(const List<T>& x, std::size_t n, std::size_t k, bool descending) {
  List<T> y;
  for (std::size_t first = 0; first + n <= x.size(); first += n) {
    List<T> row(x.data() + first, x.data() + first + n);
    std::sort(row.begin(), row.end());
    if (descending) std::reverse(row.begin(), row.end());
    y.insert(y.end(), row.data(), row.data() + k);
  }
  return y;
}

template <class T>
List<T> transposed(const List<T>& x, std::size_t m, std::size_t n) {  // [m, n] → [n, m]
  List<T> y;
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t i = 0; i < m; ++i) y.push_back(x[i * n + j]);
  return y;
}

}  // namespace

Samples order_samples() {
  Samples s;
  s.push_back(
      {"gather",
       "sort, last axis",
       {values({3, 7})},
       [](const Inputs& x) { return sort(x[0]).values; },
       []<class T>(const Arguments<T>& x) { return sorted_rows(x[0].values, 7, 7, false); }});
  s.push_back({"gather",
               "sort, descending, first axis",
               {values({5, 3})},
               [](const Inputs& x) { return sort(x[0], 0, true).values; },
               []<class T>(const Arguments<T>& x) {
                 const List<T> columns = transposed(x[0].values, 5, 3);
                 return transposed(sorted_rows(columns, 5, 5, true), 3, 5);
               }});
  s.push_back({"gather",
               "sort, a transposed view",
               {values({5, 3})},
               [](const Inputs& x) { return sort(transpose(x[0])).values; },
               []<class T>(const Arguments<T>& x) {
                 return sorted_rows(transposed(x[0].values, 5, 3), 5, 5, false);
               }});
  s.push_back({"gather",
               "sort, size 1",
               {values({2, 1})},
               [](const Inputs& x) { return sort(x[0]).values; },
               []<class T>(const Arguments<T>& x) { return x[0].values; }});
  s.push_back(
      {"gather",
       "topk, 3 of 7",
       {values({2, 7})},
       [](const Inputs& x) { return topk(x[0], 3).values; },
       []<class T>(const Arguments<T>& x) { return sorted_rows(x[0].values, 7, 3, true); }});
  s.push_back({"gather",
               "topk, 2 of 5 along the first axis",
               {values({5, 3}, 1)},
               [](const Inputs& x) { return topk(x[0], 2, 0).values; },
               []<class T>(const Arguments<T>& x) {
                 const List<T> columns = transposed(x[0].values, 5, 3);
                 return transposed(sorted_rows(columns, 5, 2, true), 3, 2);
               }});
  s.push_back({"gather",
               "topk, 0 of 4",
               {values({2, 4})},
               [](const Inputs& x) { return topk(x[0], 0).values; },
               []<class T>(const Arguments<T>&) { return List<T>(); }});
  for (Sample& sample : s) sample.function = sample.what.substr(0, 4);  // "sort" or "topk"
  return s;
}

}  // namespace gradus::testing
