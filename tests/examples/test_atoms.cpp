// Compares atom maps from attention weights with published maps of RXNMapper
// (tests/golden/make_atoms.py).
#include <cmath>
#include <string>
#include <vector>

#include "gradus/examples/apps/atoms/mapping.h"
#include "gradus/io/safetensors.h"
#include "gradus/ops/create.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing::test_atoms {
namespace {

using examples::AtomMap;
using examples::Reaction;
using examples::read_reaction;
using Atoms = std::vector<std::int64_t>;

struct Published {
  std::string reaction;
  double confidence;
  Atoms reactant;  // reactant atom of each product atom
};
const std::vector<Published> kPublished = {
    {"CC(C)S.CN(C)C=O.Fc1cccnc1F.O=C([O-])[O-].[K+].[K+]>>CC(C)Sc1ncccc1F",
     0.9565619900376546,
     {0, 1, 2, 3, 15, 14, 13, 12, 11, 10, 9}},
    {"C1COCCO1.CC(C)(C)OC(=O)CONC(=O)NCc1cccc2ccccc12.Cl>>O=C(O)CONC(=O)NCc1cccc2ccccc12",
     0.9704424331552834,
     {12, 11, 10, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29}},
    {"C=CCN=C=S.CNCc1ccc(C#N)cc1.NNC(=O)c1cn2c(n1)CCCC2>>"
     "C=CCn1c(-c2cn3c(n2)CCCC3)nnc1N(C)Cc1ccc(C#N)cc1",
     0.919023506871605,
     {0,  1,  2, 3, 19, 21, 22, 23, 24, 25, 26, 27, 28, 29,
      18, 17, 4, 7, 6,  8,  9,  10, 11, 12, 13, 14, 15, 16}}};

}  // namespace

TEST_CASE("atoms gives the published maps of three reactions") {
  const auto golden =
      io::load_safetensors(GRADUS_SOURCE_DIR "/tests/golden/atoms.safetensors").tensors;
  for (std::size_t i = 0; i < kPublished.size(); ++i) {
    INFO(kPublished[i].reaction);
    const Reaction reaction = read_reaction(kPublished[i].reaction);
    const AtomMap map = map_atoms(reaction, golden.at("reaction" + std::to_string(i)));
    CHECK(map.reactant == kPublished[i].reactant);
    CHECK(std::abs(map.all - kPublished[i].confidence) < 1e-5);
  }
}

TEST_CASE("SMILES are read as atoms, elements and bonds") {
  const Reaction r = read_reaction("[13cH]1cc[nH]c1.ClCC(=O)Br>>C%10CC%10[Na+]");
  CHECK(r.element == std::vector<std::string>{"C", "C", "C", "N", "C", "Cl", "C", "C", "O", "Br",
                                              "C", "C", "C", "Na"});
  CHECK(r.reactant_atoms == 10);
  CHECK(r.tokens[static_cast<std::size_t>(r.split)] == ">>");
  CHECK(r.neighbours[0] == Atoms{1, 4});     // closes the ring
  CHECK(r.neighbours[7] == Atoms{6, 8, 9});  // the branch returns to its start
  CHECK(r.neighbours[12] == Atoms{11, 10, 13});
  CHECK(mapped_text(r, {.reactant = {4, -1, 0, -1}, .confidence = {}}) ==
        "[13cH:3]1cc[nH][c:1]1.ClCC(=O)Br>>[C:1]%10[C:2][C:3]%10[Na+:4]");
}

TEST_CASE("malformed reactions are rejected") {
  const auto message = [](const std::string& text) {
    return message_of<ValueError>([&] { read_reaction(text); });
  };
  CHECK(has(message("CC"), "REACTANTS>>PRODUCTS"));
  CHECK(has(message("C>>C>>C"), "REACTANTS>>PRODUCTS"));
  CHECK(has(message(">>C"), "REACTANTS>>PRODUCTS"));
  CHECK(has(message("CXC>>C"), "\"XC>>C\" at character 2"));
  CHECK(has(message("C[C>>C"), "\"[C>>C\" at character 2"));
  CHECK(has(message("C(C>>C"), "a \"(\" has no \")\""));
  CHECK(has(message("CC)>>C"), "a \")\" has no \"(\""));
  CHECK(has(message("C1CC>>C"), "ring 1 is not closed"));
  CHECK(has(message("1CC>>C"), "ring 1 begins before any atom"));
  CHECK_REFUSES(ShapeError, map_atoms(read_reaction("C>>C"), ones({4, 4})), "[5, 5]", "[4, 4]");
}

}  // namespace gradus::testing::test_atoms
