// The fault zoo: wrong derivatives of small functions, each with the cause the report must name.
#pragma once

#include <string>
#include <vector>

#include "gradus/tests/check/raw_cases.h"

namespace gradus::raw_cases {

struct Beast {
  std::string name;
  Case subject;       // right
  Spoil spoil;        // makes dx wrong
  std::string cause;  // "": no single cause explains it, and the report must not invent one
  Index input = 0;    // that is wrong
  At output_shape = {};
};

std::vector<Beast> elementwise_beasts();
std::vector<Beast> norm_beasts();
std::vector<Beast> product_beasts();
std::vector<Beast> indexing_beasts();
inline std::vector<Beast> all_beasts() {
  std::vector<Beast> all;
  for (const auto& part :
       {elementwise_beasts(), norm_beasts(), product_beasts(), indexing_beasts()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

/// The same faults, each with two more wrong entries in the Jacobian, so that no single cause is
/// left that explains all of it.
std::vector<Beast> not_quite_beasts();

/// One value of each kind: both signs, no two alike, none near 0 or 1.
Values plain_values(Index count, std::uint64_t seed = 1);

/// Another derivative altogether: dx = wrong(in, dy) for input k.
using Wrong = std::function<Values(const Arguments& in, const Values& dy)>;
Spoil instead(Index k, const Wrong& wrong);

/// Each element of dx[k] by itself: f(right value, element number).
Spoil each(Index k, const std::function<double(double, Index)>& f);

}  // namespace gradus::raw_cases
