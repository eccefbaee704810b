#!/usr/bin/env bash
# Builds the tests of the library for musl and LLVM's C++ library, with zig's C++ compiler, and runs them.
# Requires zig ('pip install ziglang' provides it as python-zig).
#   tools/musl.sh [-- CTEST-OPTION…]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/setup.sh

case ${1:-} in
  '') ;;
  --help | -h) sed -n '2,4s/^# //p' "$0"; exit 0 ;;
  --) shift ;;
  *) echo "musl.sh: unknown option '$1'. Use --help or -- …" >&2; exit 2 ;;
esac

zig=$(command -v zig || command -v python-zig) || {
  echo "musl.sh: found neither zig nor python-zig. Run 'pip install ziglang' and add its folder to PATH." >&2
  exit 1
}

# The system's headers belong to glibc. The wrapper passes on the header-only libraries among them.
mkdir -p build/musl/headers
ln -sfn /usr/include/{catch2,nlohmann} build/musl/headers/
cat >build/musl/c++ <<END
#!/bin/sh
for word; do
  shift
  [ "\$word" != /usr/include ] || word='$PWD/build/musl/headers'
  set -- "\$@" "\$word"
done
exec '$zig' c++ -target $(uname -m)-linux-musl "\$@"
END
chmod +x build/musl/c++

cmake --preset musl >/dev/null
cmake --build --preset musl -j "$(setup_cores)"
exec ctest --preset musl -LE nightly -j "$(setup_cores)" "$@"
