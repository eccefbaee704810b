#pragma once

#include <istream>
#include <set>
#include <string>
#include <vector>

namespace gradus::testing {

struct Operation {
  std::string type;                // "Softmax in softmax.cpp"
  std::vector<std::string> names;  // possible results of name()
  bool differentiable = false;
  std::set<int> needs_grad_calls = {};  // each i for which backward calls needs_grad(i)
};

/// Returns the classes derived from Op in a source file. Relies on their formatting: from `struct X
/// final : Op {` to `};`, with name() on one line. Types derived from a template have the
/// template's properties.
std::vector<Operation> operations(std::istream& source, const std::string& file);

std::vector<Operation> all_operations(const std::vector<std::string>& folders = {"ops"});

}  // namespace gradus::testing
