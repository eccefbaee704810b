// The text that derive() makes of einsum's formulas, and what it refuses: golden/trace/derive.txt.
#include "gradus/trace/derive.h"

#include <string>

#include "gradus/base/error.h"
#include "gradus/tests/io/golden.h"

namespace gradus::testing {
namespace {

std::string said_of(const std::string& what) {
  std::string text;
  const std::string refused = refusal<ValueError>([&] { text = derive(what); });
  return "== " + what + "\n" + (text.empty() ? refused : text) + "\n";
}

}  // namespace

TEST_CASE("derive's texts of einsum are those of golden/trace/derive.txt") {
  const std::string lower = "abcdefghijklmnopqrstuvwxyz", upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::string all;
  for (const std::string what : {"ik,kj->ij",      "bhtd,bhsd->bhts",
                                 " i , j -> i j ", "ij,ij->ij",
                                 "ij,j->i",        "ij->ji",
                                 "ijk->ik",        "ij,k->i",
                                 "ij->",           ",i->i",
                                 "i,->",           "->",
                                 "aA->aA",         "aA,bB->aB",
                                 "aA,B->abA",      "abcA->abc",
                                 "ABCa->ABC",      "abcdefghijklmA->abcdefghijklm",
                                 "Zz->Z",          "zyx,Z->zyx"})
    all += said_of(what);
  all += said_of(lower + upper.substr(0, 25) + "->a") + said_of(lower + upper + "->a") +
         said_of(lower + upper.substr(0, 24) + "->aA") + said_of(lower + "," + upper + "->a") +
         said_of(upper + "a->A") + said_of(upper + lower.substr(0, 25) + "->A");
  for (const std::string what :
       {"i,j,k->ijk", "ii->i", "i->ii", "ij,kk->i", "...i->i", "i->i.", "a@->a", "a[->a", "a`->a",
        "a{->a", "aZ->a", "a1->a", "ij->k", "ij,k->m", "i,j", "sofmax", "", "é", "add->"})
    all += said_of(what);
  check_golden("trace/derive.txt", all);
}

TEST_CASE("derive gives the text of each name, and derivation() the same") {
  for (const std::string& name : derivation_names()) {
    CHECK(derive(name) == derivation(name));
    CHECK(derivation(name).size() > 40);
    CHECK(derivation(name + " ").empty());
  }
}

}  // namespace gradus::testing
