// The layers of the library: base ← engine ← ops ← nn ← models ← io ← train ← examples, trace
// includes up to io, check and train up to trace, and no component includes check. check/raw
// depends on the standard library only.
#include <map>
#include <string>
#include <vector>

#include "gradus/tests/house/sources.h"
#include "gradus/tests/support/catch.h"

namespace gradus::house {
namespace {

const std::map<std::string, std::vector<std::string>> kMaySee = {
    {"base", {"base"}},
    {"engine", {"base", "engine"}},
    {"ops", {"base", "engine", "ops"}},
    {"nn", {"base", "engine", "ops", "nn"}},
    {"models", {"base", "engine", "ops", "nn", "models"}},
    {"io", {"base", "engine", "ops", "nn", "models", "io"}},
    {"train", {"base", "engine", "ops", "nn", "models", "io", "trace", "train"}},
    {"check", {"base", "engine", "ops", "nn", "models", "io", "trace", "check"}},
    {"trace", {"base", "engine", "ops", "nn", "models", "io", "trace"}},
};

/// `gradus/ops/sum.h` from either spelling of an include, "" where the line is none.
std::string included(const std::string& line) {
  if (line.rfind("#include", 0) != 0) return "";
  const std::size_t open = line.find_first_of("\"<");
  if (open == std::string::npos) return "";
  const std::size_t close = line.find_first_of("\">", open + 1);
  return close == std::string::npos ? "" : line.substr(open + 1, close - open - 1);
}

/// What is wrong with this include in this file, or "".
std::string fault(const Source& source, const std::string& line) {
  const std::string target = included(line);
  if (target.empty()) return "";
  const bool quoted = line.find('"') != std::string::npos;
  if (target.rfind("gradus/", 0) != 0)
    return quoted ? "is not spelled \"gradus/component/file.h\"" : "";
  const std::string inside = target.substr(7);
  if (source.path.rfind("check/raw/", 0) == 0) {
    return inside.rfind("check/raw/", 0) == 0 ? "" : "check/raw needs the standard library alone";
  }
  const std::size_t slash = inside.find('/');
  if (slash == std::string::npos) return "gradus.h is for users: name the header that is meant";
  const std::string component = inside.substr(0, slash);
  return contains(kMaySee.at(source.component), component)
             ? ""
             : source.component + " may not see " + component;
}

/// Is `name` a header of the standard library? Those have neither a folder nor an extension.
bool standard(const std::string& name) { return name.find_first_of("/.") == std::string::npos; }

/// Headers that some systems and some users have: included under __has_include, or by an adapter
/// for those who have that library. C has headers of its own.
bool optional(const Source& source, const std::string& name) {
  const bool unix_alone = source.path == "check/raw/words.h";
  const bool vectors = source.path == "base/products/narrow.h";  // on x86-64 alone
  return (unix_alone && name == "unistd.h") || (vectors && name == "immintrin.h") ||
         (source.path == "check/raw/catch2.h" && name.rfind("catch2/", 0) == 0) ||
         (source.path == "check/raw/c/gradus_check.h" && name == "stdint.h") ||
         source.path.rfind("check/adapters/", 0) == 0;
}

}  // namespace

TEST_CASE("the include check detects each kind of fault") {
  const Source ops{"ops/sum.cpp", "ops", {}, false, true};
  CHECK(fault(ops, "#include \"gradus/engine/tensor.h\"").empty());
  CHECK(fault(ops, "#include <vector>").empty());
  CHECK(fault(ops, "// #include \"sum.h\"").empty());
  CHECK(fault(ops, "#include \"gradus/nn/linear.h\"") == "ops may not see nn");
  CHECK(!fault(ops, "#include <gradus/check/gradients.h>").empty());
  CHECK(!fault(ops, "#include <gradus/gradus.h>").empty());
  CHECK(!fault(ops, "#include \"sum.h\"").empty());
  const Source raw{"check/raw/verdict.h", "check", {}, true, true};
  CHECK(fault(raw, "#include \"gradus/check/raw/differences.h\"").empty());
  CHECK(!fault(raw, "#include \"gradus/base/error.h\"").empty());
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
      continue;  // they compare with both
    for (const std::string& line : source.lines) {
      INFO(source.path << ": " << line);
      const bool openmp = line.find("#pragma omp") != std::string::npos ||
                          line.find("_Pragma(\"omp") != std::string::npos ||
                          included(line) == "omp.h";
      const bool cblas = line.rfind("void cblas_", 0) == 0 || included(line) == "cblas.h";
      CHECK((!openmp || source.path == "base/parallel.cpp"));
      CHECK((!cblas || source.path == "base/products/library.cpp"));
    }
  }
}

TEST_CASE("only one file of the library writes files") {
  for (const Source& source : library_sources()) {
    if (source.path == "io/output_file.cpp" || source.path.rfind("base/platform.", 0) == 0)
      continue;
    for (const std::string& line : source.lines) {
      INFO(source.path << ": " << line);
      for (const char* call : {"fopen(", "fwrite(", "ofstream", "std::rename(", "std::remove(",
                               "resize_file(", "filesystem::rename(", "sync_file("})
        CHECK(line.substr(0, line.find("//")).find(call) == std::string::npos);
    }
  }
}

}  // namespace gradus::house
