// Wrong derivatives of small functions, each with the expected cause.
#pragma once

#include <string>
#include <vector>

#include "gradus/tests/check/raw_cases.h"

namespace gradus::raw_cases {

struct FaultyOp {
  std::string name;
  Case subject;
  Spoil spoil;
  std::string cause;  // "": the report must not contain a cause
  Index input = 0;
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

/// Returns the faulty ops with two more wrong entries each. No single cause explains all entries.
std::vector<FaultyOp> faulty_not_quite();

/// Returns distinct values of both signs, none near 0 or 1.
Values plain_values(Index count, std::uint64_t seed = 1);

/// Replaces the gradient of input k with wrong(in, dy).
using Wrong = std::function<Values(const Arguments& in, const Values& dy)>;
Spoil instead(Index k, const Wrong& wrong);

/// Replaces each element i of the gradient of input k with f(correct value, i).
Spoil each(Index k, const std::function<double(double, Index)>& f);

}  // namespace gradus::raw_cases
