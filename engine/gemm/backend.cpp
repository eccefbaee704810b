#include "gradus/engine/gemm/backend.h"

#include <array>

#include "gradus/engine/base/bits.h"
#include "gradus/engine/base/environment.h"
#include "gradus/engine/base/error.h"

namespace gradus::gemm {
namespace {

// Measured with `./bench.sh products` (tables: docs/performance.md):
//
//   linked      processor           backend    reason
//   none        any                 builtin
//   OpenBLAS    x86-64, any width   builtin    OpenBLAS is 2 to 4 times slower on newer processors
//   OpenBLAS    others              library    the built-in kernels are not measured there
//   MKL, BLIS   any                 library    detect the processor's features; chosen by the user
//   another     any                 builtin    unknown speed (Netlib has plain loops)
Choice rule(Library library) {
  const auto by = [](Backend backend, const char* reason) {
    return Choice{backend, simd::level(), reason};
  };
  if (library == Library::none) return by(Backend::builtin, "no library is linked");
  if (library == Library::mkl || library == Library::blis)
    return by(Backend::library, "chosen by the build configuration");
  if (library != Library::openblas) return by(Backend::builtin, "the library's speed is unknown");
  if (GRADUS_HAS_LEVELS) return by(Backend::builtin, "OpenBLAS can be slow on new processors");
  return by(Backend::library, "the built-in kernels are not measured on this architecture");
}

/// One per level, because tests change it.
std::array<Choice, 3> portable_choices(std::string_view asked) {
  require(asked != "library",
          "GRADUS_BLAS=library: portable bits need the built-in matmul. Unset GRADUS_BLAS.");
  choice_of(asked, Library::none);  // checks the value
  const auto at = [](simd::Level level) {
    return Choice{Backend::builtin, level, "portable bits"};
  };
  return {at(simd::Level::baseline), at(simd::Level::avx2), at(simd::Level::avx512)};
}

}  // namespace

Choice choice_of(std::string_view asked, Library library) {
  require(asked.empty() || asked == "builtin" || asked == "library", "GRADUS_BLAS=", asked,
          ": unknown backend. Set builtin or library.");
#ifdef GRADUS_BLAS_PLAIN
  return {Backend::plain, simd::level(), "built with -DGRADUS_BLAS=plain"};
#endif
  if (asked.empty()) return rule(library);
  require(asked == "builtin" || library != Library::none,
          "GRADUS_BLAS=library: this build links no library. Use -DGRADUS_BLAS=OpenBLAS.");
  return {asked == "builtin" ? Backend::builtin : Backend::library, simd::level(),
          str_cat("GRADUS_BLAS=", asked)};
}

const Choice& chosen() {
  const auto asked = [] { return environment::value_of(environment::Variable::blas); };
  if (bits() == Bits::portable) {
    static const std::array<Choice, 3> portable = portable_choices(asked());
    return portable[static_cast<std::size_t>(simd::level())];
  }
  static const Choice choice = choice_of(asked(), linked_library());
  return choice;
}

std::string describe(const Choice& choice) {
  if (choice.backend == Backend::plain) return str_cat("plain loops: ", choice.reason);
  if (choice.backend == Backend::library) return str_cat("the BLAS library: ", choice.reason);
  return str_cat("builtin, ", simd::name(choice.level), ": ", choice.reason);
}

}  // namespace gradus::gemm
