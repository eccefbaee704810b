# Sourced by the scripts. Installs missing packages.
#
#   setup_needs PACKAGE…     Debian names; each is probed by what it provides
#   yes=1                    do not ask

setup_has() {
  case $1 in
    g++) setup_compiles 'int main() {}' ;;
    cmake) setup_cmake_is_new ;;
    ninja-build) command -v ninja >/dev/null ;;
    pkg-config) command -v pkg-config >/dev/null ;;
    python3) command -v python3 >/dev/null ;;
    gdb) [ "$(gdb -nx -batch -ex 'python print(1)' 2>/dev/null)" = 1 ] ;;
    g++-aarch64-linux-gnu) command -v aarch64-linux-gnu-g++ >/dev/null ;;
    qemu-user) command -v qemu-aarch64 >/dev/null ;;
    clang) command -v clang++ >/dev/null ;;
    llvm) command -v llvm-symbolizer >/dev/null ;;
    libomp-dev) clang++ -fopenmp -x c++ -o /dev/null - <<<'int main() {}' 2>/dev/null ;;
    libopenblas-dev) setup_compiles 'int main() {}' -lopenblas ;;
    libcli11-dev) setup_includes '<CLI/CLI.hpp>' ;;
    nlohmann-json3-dev) setup_includes '<nlohmann/json.hpp>' ;;
    libbenchmark-dev) setup_includes '<benchmark/benchmark.h>' ;;
    nodejs) command -v node >/dev/null || command -v nodejs >/dev/null ;;
    chromium) command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null ;;
    doxygen) command -v doxygen >/dev/null ;;
    emscripten) command -v em++ >/dev/null ;;
    python3-venv) python3 -c 'import ensurepip, venv' 2>/dev/null ;;
    libopenmpi-dev) command -v mpicxx >/dev/null ;;
    openmpi-bin) command -v mpirun >/dev/null ;;
    catch2) setup_includes '<catch2/catch.hpp>' || setup_includes '<catch2/catch_all.hpp>' ;;
    *) echo "tools/setup.sh has no probe for $1" >&2; exit 1 ;;
  esac
}

setup_compiles() {
  local program=$1
  shift
  "${CXX:-c++}" -x c++ -o /dev/null - "$@" <<<"$program" 2>/dev/null
}

setup_includes() {
  "${CXX:-c++}" -fsyntax-only -x c++ - 2>/dev/null <<<"#if !__has_include($1)
#error
#endif"
}

setup_cmake_is_new() {
  local version
  version=$(cmake --version 2>/dev/null | sed -n 's/^cmake version //p')
  [ -n "$version" ] && [ "$(printf '%s\n3.25\n' "$version" | sort -V | head -n 1)" = 3.25 ]
}

setup_missing() {
  local package
  for package in "$@"; do
    setup_has "$package" || printf '%s ' "$package"
  done
}

# Asks before installing. Without a terminal, installs only with --yes.
setup_may_install() {
  [ "${yes:-0}" = 1 ] && return
  [ -t 0 ] || { echo "Nothing was installed, because there is no terminal for the question. Add --yes." >&2; exit 1; }
  local answer
  read -r -p "Install them now? [Y/n] " answer
  case $answer in
    '' | [Yy]*) ;;
    *) echo "Nothing was installed." >&2; exit 1 ;;
  esac
}

setup_needs() {
  local missing root=
  missing=$(setup_missing "$@")
  [ -n "$missing" ] || return 0

  if ! command -v apt-get >/dev/null; then
    echo "Not found: ${missing% } (Debian's package names). Install the equivalents of your system." >&2
    setup_has g++ && setup_has cmake && setup_has ninja-build && return 0  # CMake searches more directories
    exit 1
  fi

  [ "$(id -u)" = 0 ] || root="sudo "
  echo "Packages are missing. This command installs them:"
  echo "  ${root}apt-get update && ${root}apt-get install -y --no-install-recommends ${missing% }"
  if [ -n "$root" ] && ! command -v sudo >/dev/null; then
    echo "sudo is not installed. Run that line as root, then run this script again." >&2
    exit 1
  fi
  setup_may_install
  ${root}apt-get update -qq || echo "apt-get update failed; continuing with the existing package lists." >&2
  # shellcheck disable=SC2086  # the list is meant to be split
  ${root}env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    -o Dpkg::Use-Pty=0 $missing >/dev/null || {
    echo "The installation failed. The command is in the line above." >&2
    exit 1
  }
  missing=$(setup_missing "$@")
  [ -z "$missing" ] || {
    echo "Still missing or too old: ${missing% }. Gradus needs CMake 3.25 and g++ 12 or newer;" \
      "'pip install cmake' installs a recent CMake." >&2
    exit 1
  }
}

# Installs axe-core, which tests the accessibility of a page.
setup_axe() {
  local into=build/axe
  [ -e $into/axe_playwright_python/axe.min.js ] && return
  python3 -m pip download --quiet --no-deps --dest $into axe-playwright-python &&
    python3 -m zipfile -e $into/axe_playwright_python-*.whl $into && return
  echo "axe-core was not found, so its tests are skipped ('python3 -m pip download axe-playwright-python' failed)." >&2
}

setup_cores() { nproc 2>/dev/null || getconf _NPROCESSORS_ONLN; }
