// The operations of the tree, found in its sources.
#pragma once

#include <istream>
#include <set>
#include <string>
#include <vector>

namespace gradus::testing {

struct Operation {
  std::string type;                // "Softmax", and the file
  std::vector<std::string> names;  // what its name() may return
  bool differentiable = false;     // has a backward
  std::set<int> asks = {};         // inputs i of which it asks needs_grad(i)
};

/// The classes derived from Op in a source, found by how the tree is written: from
/// `struct X final : Op {` to `};` at the same place, with name() on a line of its own. A template
/// is no operation: what it says holds for those that are derived from it.
std::vector<Operation> operations(std::istream& source, const std::string& file);

/// Those of every .cpp in these folders of the tree.
std::vector<Operation> all_operations(const std::vector<std::string>& folders = {"ops"});

}  // namespace gradus::testing
