#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "gradus/engine/base/error.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/derivations/trial.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/registry.h"
#include "gradus/trace/derive.h"
#include "gradus/trace/places.h"

namespace gradus::derivations {
namespace {

std::string file(const std::string& name) {
  std::ifstream in(std::filesystem::path(GRADUS_SOURCE_DIR) / "docs" / "derivations" /
                   (name + ".md"));
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

/// Executes the derivation of a formula. Returns "" if all lines are right.
std::string wrong_lines(const std::string& formula) {
  const Document document = read_document(derive(formula), formula);
  const std::size_t arrow = formula.find("->"), comma = formula.find(',');
  const bool two = comma != std::string::npos;
  const auto tensor = [](const char* name, const std::string& letters) {
    return letters.empty() ? "" : std::string(name) + "_" + letters + " ";
  };
  Case each{.file = formula,
            .inputs = tensor("a", formula.substr(0, two ? comma : arrow)) +
                      (two ? tensor("b", formula.substr(comma + 1, arrow - comma - 1)) : ""),
            .f = [&](const Given& in) {
              return two ? einsum(formula, in("a"), in("b")) : einsum(formula, in("a"));
            }};
  each.op = "";  // no op to compare with: einsum runs other ops
  std::string out;
  for (int trial = 0; trial < kTrials; ++trial)
    for (const Failure& failure : Trial(document, each, trial).failures())
      if (failure.what.find("no backward of") == std::string::npos) out += failure.what + "\n";
  return out;
}

/// Returns the quoted formula after `Call: name = `.
std::string call(const std::string& text, const std::string& name) {
  const std::string start = "Call: " + name + " = einsum(\"";
  const std::size_t first = text.find(start) + start.size();
  return text.substr(first, text.find('"', first) - first);
}

}  // namespace

TEST_CASE("derive: the text equals the file") {
  const auto documents = all_documents();
  const std::vector<std::string> names = derivation_names();
  REQUIRE(names.size() == documents.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    CHECK(names[i] == documents[i].first);
    CHECK(derive(names[i]) == file(names[i]));
    CHECK(derivation(names[i]) == file(names[i]));
  }
  CHECK(derivation("no such op").empty());
}

TEST_CASE("derive: the trace page has the formulas") {
  const std::string json = trace::definitions({"softmax"}).at("softmax").text;
  const std::size_t at =
      json.find("\"derivation\":[\"y_ri = exp(x_ri) / Σ_j exp(x_rj)\",\"dx_ri = ");
  CHECK(at != std::string::npos);
}

TEST_CASE("derive: the lines of an einsum are its gradients") {
  for (const char* formula :
       {"ik,kj->ij", "bhtd,bhsd->bhts", "bhts,bhsd->bhtd", "i,j->ij", "ij,ij->ij", "ij,j->i",
        "ij->ji", "ijk->ik", "ij,k->i", "bij,bjk->bki", "ij->", "tc,sc->ts", "ab,bY->Ya"})
    CHECK(wrong_lines(formula) == "");
  CHECK(derive("bhtd,bhsd->bhts").find("Call: da = einsum(\"bhts,bhsd->bhtd\", dy, b)") !=
        std::string::npos);
}

TEST_CASE("derive: the einsum calls in the text compute the gradients") {
  const Tensor a = testing::values({2, 3, 5, 4}).requires_grad_();
  const Tensor b = testing::values({2, 3, 7, 4}, 1).requires_grad_();
  const Tensor y = einsum("bhtd,bhsd->bhts", a, b), dy = testing::values(y.shape(), 2);
  y.backward(dy);
  const std::string text = derive("bhtd,bhsd->bhts");
  const auto equal = [](const Tensor& x, const Tensor& z) {
    return x.shape() == z.shape() && max(abs(x - z)).item<double>() < 1e-12;  // sums have 20 terms
  };
  CHECK(call(text, "da") == "bhts,bhsd->bhtd");
  CHECK(equal(einsum(call(text, "da"), dy, b.detach()), a.grad()));
  CHECK(equal(einsum(call(text, "db"), dy, a.detach()), b.grad()));
}

TEST_CASE("derive: docs/derivations.md shows the actual einsum derivation") {
  std::ifstream document(std::filesystem::path(GRADUS_SOURCE_DIR) / "docs" / "derivations.md");
  const std::string text = derive("bhtd,bhsd->bhts");
  int found = 0;
  for (std::string line; std::getline(document, line);)
    if (line.rfind("y_bhts = ", 0) == 0 || line.rfind("da_bhtd = ", 0) == 0) {
      INFO(line);
      CHECK(text.find(line + "\n") != std::string::npos);
      ++found;
    }
  CHECK(found == 3);
}

TEST_CASE("derive: an unknown name lists the available derivations") {
  CHECK_REFUSES(ValueError, derive("sofmax"), "sofmax", "softmax");
  CHECK_REFUSES(ValueError, derive(""), "name");
  CHECK_REFUSES(ValueError, derive("i,j,k->ijk"), "one or two");
  CHECK_REFUSES(ValueError, derive("ii->i"), "twice");
  CHECK_REFUSES(ValueError, derive("...i->i"), "letter");
  CHECK_REFUSES(ValueError, derive("ij->k"), "operand");
}

}  // namespace gradus::derivations
