// Tests GRADUS_SIMD and GRADUS_BLAS in separate processes.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "gradus/engine/base/error.h"
#include "gradus/engine/base/simd.h"
#include "gradus/engine/gemm/backend.h"
#include "gradus/engine/gemm/library.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/simd_levels.h"

namespace simd = gradus::simd;
using simd::Level;

namespace {

template <int n>
GRADUS_INLINE int number(int more) {
  return n + more;
}

struct Outcome {
  int status;
  std::string output;
};

/// Runs test `name` of this program with an environment variable, such as "GRADUS_SIMD=avx2".
Outcome with(const std::string& setting, const std::string& name) {
  const auto self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = setting + " '" + self + "' '" + name + "' 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  Outcome outcome{0, ""};
  std::array<char, 256> some;
  while (std::fgets(some.data(), some.size(), pipe) != nullptr) outcome.output += some.data();
  outcome.status = pclose(pipe);
  return outcome;
}

Outcome with_level(const std::string& value, const std::string& name) {
  return with("GRADUS_SIMD=" + value, name);
}

}  // namespace

// The tests below run these helpers in separate processes.
TEST_CASE("helper: print the SIMD level", "[.]") {
  try {
    std::printf("level=%s\n", std::string(simd::name(simd::level())).c_str());
  } catch (const gradus::ValueError& error) {
    std::printf("error=%s\n", error.what());
  }
}

TEST_CASE("helper: print the active matmul backend", "[.]") {
  try {
    std::printf("backend=%s\n", gradus::gemm::describe().c_str());
  } catch (const gradus::ValueError& error) {
    std::printf("error=%s\n", error.what());
  }
}

TEST_CASE("levels have names, and run calls the variant of the current level", "[kernel]") {
  CHECK(simd::name(Level::baseline) == "baseline");
  CHECK(simd::name(Level::avx2) == "avx2");
  CHECK(simd::name(Level::avx512) == "avx512");
  CHECK(simd::level() <= simd::widest());
  for (const Level level : gradus::testing::simd_levels()) {
    const gradus::testing::LevelScope scope(level);
    CAPTURE(simd::name(level));
    CHECK(simd::level() == level);
    const int ran = simd::run_one<number<512>, number<256>, number<0>>(1) - 1;
    const int wanted = level == Level::avx512 ? 512 : level == Level::avx2 ? 256 : 0;
    CHECK(ran == (GRADUS_DISPATCHES ? wanted : 0));
    CHECK(simd::run<number<5>>(2) == 7);
  }
}

TEST_CASE("the widest level matches the flags of the processor", "[kernel]") {
#if GRADUS_HAS_LEVELS
  if (!__builtin_cpu_supports("sse2")) return;  // zig's run-time library detects nothing
#endif
  std::ifstream cpuinfo("/proc/cpuinfo");
  std::string line;
  while (std::getline(cpuinfo, line) && !line.starts_with("flags")) {
  }
  if (!line.starts_with("flags")) return;  // not x86-64 Linux
  const auto has = [&](const std::string& flag) {
    return (line + " ").find(" " + flag + " ") != line.npos;
  };
  const bool avx2 = GRADUS_HAS_LEVELS && has("avx2") && has("fma") && has("bmi1") && has("bmi2");
  const bool avx512 = avx2 && has("avx512f") && has("avx512bw") && has("avx512cd") &&
                      has("avx512dq") && has("avx512vl");
  CHECK(simd::widest() == (avx512 ? Level::avx512 : avx2 ? Level::avx2 : Level::baseline));
}

#ifdef __linux__
TEST_CASE("GRADUS_SIMD sets the level of a process", "[process]") {
  for (const Level level : gradus::testing::simd_levels()) {
    const std::string name(simd::name(level));
    CAPTURE(name);
    const Outcome outcome = with_level(name, "helper: print the SIMD level");
    CHECK(outcome.status == 0);
    CHECK(outcome.output.find("level=" + name + "\n") != std::string::npos);
  }
  const std::string widest(simd::name(simd::widest()));
  CHECK(with_level("", "helper: print the SIMD level").output.find("level=" + widest) !=
        std::string::npos);
}

TEST_CASE("an unknown or unsupported GRADUS_SIMD throws a ValueError with the fix", "[process]") {
  for (const std::string unknown : {"sse", "avx5122", "AVX2"}) {
    const std::string output = with_level(unknown, "helper: print the SIMD level").output;
    CHECK(output.find("error=GRADUS_SIMD=" + unknown) != std::string::npos);
    CHECK(output.find("level=") == std::string::npos);
  }
  const std::string widest(simd::name(simd::widest()));
  for (const Level level : {Level::avx2, Level::avx512}) {
    if (level <= simd::widest()) continue;
    const std::string name(simd::name(level));
    const std::string output = with_level(name, "helper: print the SIMD level").output;
    CHECK(output.find("error=GRADUS_SIMD=" + name) != std::string::npos);
    CHECK(output.find("Set GRADUS_SIMD=" + widest) != std::string::npos);
  }
}

TEST_CASE("GRADUS_BITS=portable selects the built-in matmul", "[process]") {
  const auto output_with = [](const std::string& setting) {
    return with(setting, "helper: print the active matmul backend").output;
  };
  const std::string portable = output_with("GRADUS_BLAS= GRADUS_BITS=portable");
  CAPTURE(portable);
  CHECK(portable.find("backend=builtin") != std::string::npos);
  CHECK(portable.find("portable") != std::string::npos);
  CHECK(output_with("GRADUS_BITS=exact").find("error=GRADUS_BITS=exact") != std::string::npos);
  CHECK(output_with("GRADUS_BLAS=library GRADUS_BITS=portable").find("error=GRADUS_BLAS=library") !=
        std::string::npos);
}

TEST_CASE("GRADUS_BLAS selects the matmul backend for any core type of OpenBLAS", "[process]") {
  const auto check_output = [](const std::string& setting, const std::string& what) {
    CAPTURE(setting);
    const std::string output = with(setting, "helper: print the active matmul backend").output;
    CAPTURE(output);
    CHECK(output.find(what) != std::string::npos);
  };
  using gradus::gemm::Backend;
  if (gradus::gemm::chosen().backend == Backend::plain) return;  // the build selects this backend
  const std::string widest(simd::name(simd::widest()));
  check_output("GRADUS_BLAS=builtin GRADUS_SIMD=", "backend=builtin, " + widest);
  check_output("GRADUS_BLAS=builtin GRADUS_SIMD=baseline", "backend=builtin, baseline");
  check_output("GRADUS_BLAS=mkl", "error=GRADUS_BLAS=mkl");
  const auto library = gradus::gemm::linked_library();
  if (library == gradus::gemm::Library::none) {
    check_output("GRADUS_BLAS=library", "error=GRADUS_BLAS=library");
    check_output("GRADUS_BLAS= GRADUS_SIMD=", "backend=builtin, " + widest);
  } else {
    check_output("GRADUS_BLAS=library", "backend=the BLAS library");
  }
  if (library == gradus::gemm::Library::openblas && GRADUS_HAS_LEVELS)
    for (const char* core : {"Prescott", "Haswell", "SkylakeX"})
      check_output(std::string("GRADUS_BLAS= GRADUS_SIMD= OPENBLAS_CORETYPE=") + core,
                   "backend=builtin, " + widest);
}
#endif
