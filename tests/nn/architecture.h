// What a module is made of, as text: one name a line.
#pragma once

#include <string>

#include "gradus/nn/module.h"
#include "gradus/tests/support/outcomes.h"

namespace gradus::testing {

inline std::string tree(nn::Module& model) {
  std::string text = model.summary() + "  parameters:";
  for (const nn::NamedTensor& each : model.parameters()) text += " " + each.name;
  text += "\n  buffers:";
  for (const nn::NamedTensor& each : model.buffers()) text += " " + each.name;
  return text + "\n";
}

/// The title and the tree, which the module's same_architecture() must have, too.
template <class M>
std::string made_of(const char* title, M&& model) {
  auto alike = model.same_architecture();
  INFO(title);
  CHECK(tree(alike) == tree(model));
  return str_cat("-- ", title, "\n", tree(model));
}

}  // namespace gradus::testing
