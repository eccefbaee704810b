// Checks which folders each folder includes: engine ← ops ← nn ← {train/optim, io, check, trace},
// io ← train, trace ← train. check/raw depends only on the standard library.
#include <map>
#include <string>
#include <vector>

#include "gradus/tests/house/sources.h"
#include "gradus/tests/support/catch.h"

namespace gradus::house {
namespace {

using Folders = std::vector<std::string>;

const Folders kEngine = {"engine/base", "engine/gemm", "engine"};
const std::map<std::string, Folders> kMayInclude = {
    {"engine/base", {}},
    {"engine/gemm", {"engine/base"}},
    {"engine", kEngine},
    {"ops", kEngine},
    {"nn", {"ops"}},
    {"nn/extras", {"ops", "nn"}},
    {"nn/models", {"ops", "nn"}},
    {"io", {"ops", "nn", "io/pretrained"}},
    {"io/pretrained", {"ops", "nn", "nn/models", "io"}},
    {"trace", {"ops", "nn", "io"}},
    {"check", {"ops", "nn", "trace", "check/raw"}},
    {"check/raw", {}},
    {"check/c", {"check/raw"}},
    {"check/adapters", {"check/raw"}},
    {"train/optim", {"ops", "nn"}},
    {"train/distributed", {"ops", "nn", "train/optim"}},
    {"train", {"ops", "nn", "nn/models", "io", "trace", "train/optim", "train/distributed"}},
};

std::string folder_of(const std::string& path) {
  std::string found;
  for (const auto& [folder, rest] : kMayInclude)
    if (path.rfind(folder + "/", 0) == 0 && folder.size() > found.size()) found = folder;
  return found;
}

bool may_include(const std::string& from, const std::string& to) {
  const bool separate = from.rfind("check/", 0) == 0 || from.rfind("engine", 0) == 0;
  return from == to || contains(kMayInclude.at(from), to) || (!separate && contains(kEngine, to));
}

/// Returns `gradus/ops/sum.h` from either form of #include, or "" for other lines.
std::string included(const std::string& line) {
  if (line.rfind("#include", 0) != 0) return "";
  const std::size_t open = line.find_first_of("\"<");
  if (open == std::string::npos) return "";
  const std::size_t close = line.find_first_of("\">", open + 1);
  return close == std::string::npos ? "" : line.substr(open + 1, close - open - 1);
}

std::string fault(const Source& source, const std::string& line) {
  const std::string target = included(line);
  if (target.empty()) return "";
  const bool quoted = line.find('"') != std::string::npos;
  if (target.rfind("gradus/", 0) != 0)
    return quoted ? "is not spelled \"gradus/component/file.h\"" : "";
  const std::string inside = target.substr(7);
  if (inside.find('/') == std::string::npos)
    return "gradus.h is for users; include the specific header";
  const std::string from = folder_of(source.path), to = folder_of(inside);
  return may_include(from, to) ? "" : from + " must not include " + (to.empty() ? inside : to);
}

bool standard(const std::string& name) { return name.find_first_of("/.") == std::string::npos; }

/// True for platform headers, headers of optional libraries, and C headers.
bool optional(const Source& source, const std::string& name) {
  const bool unix_only = source.path == "check/raw/words.h";
  const bool vectors = source.path == "engine/gemm/instruction_set.h";
  return (unix_only && name == "unistd.h") ||
         (vectors && (name == "immintrin.h" || name == "arm_neon.h")) ||
         (source.path == "check/raw/catch2.h" && name.rfind("catch2/", 0) == 0) ||
         (source.path == "check/c/gradus_check.h" && name == "stdint.h") ||
         source.path.rfind("check/adapters/", 0) == 0;
}

}  // namespace

TEST_CASE("the include check detects each kind of fault") {
  const Source ops{"ops/sum.cpp", "ops", {}, false, true};
  CHECK(fault(ops, "#include \"gradus/engine/tensor.h\"").empty());
  CHECK(fault(ops, "#include <vector>").empty());
  CHECK(fault(ops, "// #include \"sum.h\"").empty());
  CHECK(fault(ops, "#include \"gradus/nn/linear.h\"") == "ops must not include nn");
  CHECK(!fault(ops, "#include <gradus/check/gradients.h>").empty());
  CHECK(!fault(ops, "#include <gradus/gradus.h>").empty());
  CHECK(!fault(ops, "#include \"sum.h\"").empty());
  const Source raw{"check/raw/verdict.h", "check", {}, true, true};
  CHECK(fault(raw, "#include \"gradus/check/raw/differences.h\"").empty());
  CHECK(!fault(raw, "#include \"gradus/engine/base/error.h\"").empty());
  const Source base{"engine/base/error.h", "engine", {}, true, true};
  CHECK(!fault(base, "#include \"gradus/engine/tensor.h\"").empty());
  const Source layer{"nn/linear.h", "nn", {}, true, true};
  CHECK(!fault(layer, "#include \"gradus/nn/models/gpt.h\"").empty());
}

TEST_CASE("components include only the components below them") {
  for (const Source& source : library_sources()) {
    for (const std::string& line : source.lines) {
      INFO(source.path << ": " << line);
      CHECK(fault(source, line) == "");
    }
  }
}

TEST_CASE("only the MPI component includes MPI, and nothing in the library needs it") {
  for (const Source& source : library_sources()) {
    const bool component = source.path.rfind("train/distributed/mpi/", 0) == 0;
    for (const std::string& line : source.lines) {
      INFO(source.path << ": " << line);
      const std::string name = included(line);
      CHECK((name != "mpi.h" || source.path == "train/distributed/mpi/mpi.cpp"));
      CHECK((component || name.find("distributed/mpi/") == std::string::npos));
    }
  }
}

TEST_CASE("public headers include only the standard library and Gradus") {
  for (const Source& source : all_sources()) {
    if (!source.header || (source.component != "" && !contains(kLibrary, source.component)))
      continue;
    for (const std::string& line : source.lines) {
      const std::string name = included(line);
      INFO(source.path << ": " << line);
      CHECK((name.empty() || name.rfind("gradus/", 0) == 0 || standard(name) ||
             optional(source, name)));
    }
  }
}

TEST_CASE("only one file uses OpenMP and only one uses CBLAS") {
  for (const Source& source : all_sources()) {
    if (source.component == "tests" || source.component == "bench")
      continue;  // tests and benchmarks may call these for comparison
    for (const std::string& line : source.lines) {
      INFO(source.path << ": " << line);
      const bool openmp = line.find("#pragma omp") != std::string::npos ||
                          line.find("_Pragma(\"omp") != std::string::npos ||
                          included(line) == "omp.h";
      const bool cblas = line.rfind("void cblas_", 0) == 0 || included(line) == "cblas.h";
      CHECK((!openmp || source.path == "engine/base/parallel.cpp"));
      CHECK((!cblas || source.path == "engine/gemm/library.cpp"));
    }
  }
}

TEST_CASE("only one file of the library writes files") {
  for (const Source& source : library_sources()) {
    if (source.path == "io/output_file.cpp" || source.path.rfind("engine/base/platform.", 0) == 0)
      continue;
    if (source.path == "check/raw/ci.h") continue;  // check/raw includes no other part of Gradus
    for (const std::string& line : source.lines) {
      INFO(source.path << ": " << line);
      for (const char* call : {"fopen(", "fwrite(", "ofstream", "std::rename(", "std::remove(",
                               "resize_file(", "filesystem::rename(", "sync_file("})
        CHECK(line.substr(0, line.find("//")).find(call) == std::string::npos);
    }
  }
}

}  // namespace gradus::house
