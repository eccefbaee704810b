// The faulty ops: wrong derivatives of small functions, each with the cause the report must name.
#pragma once

#include <string>
#include <vector>

#include "gradus/tests/check/raw_cases.h"

namespace gradus::raw_cases {

struct FaultyOp {
  std::string name;
  Case subject;       // right
  Spoil spoil;        // makes dx wrong
  std::string cause;  // "": no single cause explains it, and the report must not invent one
  Index input = 0;    // that is wrong
  At output_shape = {};
};

std::vector<FaultyOp> faulty_elementwise();
std::vector<FaultyOp> faulty_norm();
std::vector<FaultyOp> faulty_product();
std::vector<FaultyOp> faulty_indexing();
inline std::vector<FaultyOp> all_faulty_ops() {
  std::vector<FaultyOp> all;
  for (const auto& part :
       {faulty_elementwise(), faulty_norm(), faulty_product(), faulty_indexing()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

/// The same faults, each with two more wrong entries in the Jacobian, so that no single cause is
/// left that explains all of it.
std::vector<FaultyOp> faulty_not_quite();

/// One value of each kind: both signs, no two alike, none near 0 or 1.
Values plain_values(Index count, std::uint64_t seed = 1);

/// Another derivative altogether: dx = wrong(in, dy) for input k.
using Wrong = std::function<Values(const Arguments& in, const Values& dy)>;
Spoil instead(Index k, const Wrong& wrong);

/// Each element of dx[k] by itself: f(right value, element number).
Spoil each(Index k, const std::function<double(double, Index)>& f);

}  // namespace gradus::raw_cases
