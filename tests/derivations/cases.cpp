#include <iterator>

#include "gradus/tests/derivations/trial.h"

namespace gradus::derivations {

std::vector<Case> all_cases() {
  std::vector<Case> out;
  for (const auto family :
       {elementwise_cases, reduction_cases, movement_cases, product_cases, attention_cases}) {
    std::vector<Case> more = family();
    out.insert(out.end(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
  }
  return out;
}

}  // namespace gradus::derivations
