#!/usr/bin/env bash
# Runs build.sh with OSS-Fuzz's variables and without Docker, then each target for SECONDS (default 1) on its seed corpus.
#   [SANITIZER=undefined] packaging/oss-fuzz/check.sh [SECONDS]      default: address; results are in build/oss-fuzz
# CXX is the clang to use.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
seconds=${1:-1}
[[ $seconds =~ ^[1-9][0-9]*$ ]] || { echo "check.sh: '$seconds' is not a number of seconds. For example: check.sh 1" >&2; exit 2; }

sanitizer=${SANITIZER:-address}
[[ $sanitizer =~ ^(address|undefined)$ ]] || { echo "check.sh: SANITIZER is '$sanitizer'. Use address or undefined" >&2; exit 2; }
root=$PWD/build/oss-fuzz/$sanitizer
export SRC=$root/src WORK=$root/work OUT=$root/out
export CC=${CC:-clang} CXX=${CXX:-clang++} LIB_FUZZING_ENGINE=-fsanitize=fuzzer
export CXXFLAGS="-O1 -fno-omit-frame-pointer -gline-tables-only -fsanitize=$sanitizer,fuzzer-no-link"
CXXFLAGS+=" -fno-sanitize-recover=all"
export CFLAGS=$CXXFLAGS
rm -rf "$SRC" "$OUT"
mkdir -p "$SRC" "$WORK" "$OUT"
ln -s "$PWD" "$SRC/gradus"
packaging/oss-fuzz/build.sh

for program in "$OUT"/gradus_fuzz_*.dict; do
  program=${program%.dict}
  seeds=$WORK/seeds/${program##*/}
  rm -rf "$seeds"
  python3 -m zipfile -e "${program}_seed_corpus.zip" "$seeds"
  echo "${program##*/}"
  "$program" -max_total_time="$seconds" -dict="$program.dict" -artifact_prefix="$WORK/" "$seeds" 2>&1 | tee "$WORK/log" |
    grep -E 'ERROR|VIOLATION|stat::|^Done' || { cat "$WORK/log"; exit 1; }
done
