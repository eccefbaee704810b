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
  std::set<int> needs_grad_calls = {};  // every i with needs_grad(i) in backward
};

/// The classes derived from Op in a source. Relies on the formatting: from `struct X final : Op {`
/// to `};`, with name() on one line. A template is not an op: its properties apply to the types
/// derived from it.
std::vector<Operation> operations(std::istream& source, const std::string& file);

std::vector<Operation> all_operations(const std::vector<std::string>& folders = {"ops"});

}  // namespace gradus::testing
