#!/usr/bin/env bash
# Builds the fuzz targets with clang's libFuzzer and runs each for N seconds. Installs missing packages.
#   tools/fuzz.sh [--yes] [--inputs] N [TARGET…]
#     N            seconds per target
#     --inputs     N inputs per target instead
#     TARGET…      some of those in tests/fuzz/: npy csv
# The growing corpora are in build/fuzz/corpus/. An input that breaks a reader, or a limit in tests/fuzz/watch.h,
# is saved in build/fuzz/found/: fix the reader and add the input to tests/fuzz/corpus/TARGET/.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/setup.sh

yes=0
unit=seconds
while [ $# -gt 0 ]; do
  case $1 in
    --yes | -y) yes=1 ;;
    --inputs) unit=inputs ;;
    --help | -h) sed -n '2,8s/^# //p' "$0"; exit 0 ;;
    -*) echo "fuzz.sh: unknown option '$1'. Use --yes, --inputs or --help" >&2; exit 2 ;;
    *) break ;;
  esac
  shift
done
[[ ${1:-} =~ ^[1-9][0-9]*$ ]] || { echo "fuzz.sh: the number of seconds is missing. For example: tools/fuzz.sh 60" >&2; exit 2; }
count=$1
shift
targets=("$@")
[ $# -gt 0 ] || mapfile -t targets < <(ls tests/fuzz/corpus)
for target in "${targets[@]}"; do
  [ -d "tests/fuzz/corpus/$target" ] || { echo "fuzz.sh: unknown target '$target'. Targets:" tests/fuzz/corpus/* >&2; exit 2; }
done

setup_needs g++ cmake ninja-build clang nlohmann-json3-dev libcli11-dev
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz -j "$(setup_cores)" --target "${targets[@]/#/gradus_fuzz_}"
mkdir -p build/fuzz/found

# run TARGET PART OPTION…: PART percent of N. Reports leaks as soon as an input causes one.
run() {
  local target=$1 part=$2 share
  shift 2
  share=$(((count * part + 99) / 100))
  [ $unit = seconds ] && share=-max_total_time=$share || share=-runs=$share
  "build/fuzz/tests/fuzz/gradus_fuzz_$target" "$share" "$@" -timeout=60 -rss_limit_mb=2048 -malloc_limit_mb=1024 \
    -print_final_stats=1 -dict="tests/fuzz/dictionaries/$target.dict" -artifact_prefix="build/fuzz/found/$target-" \
    "build/fuzz/corpus/$target" "tests/fuzz/corpus/$target" >>"build/fuzz/$target.log" 2>&1
}

failed=0
printf '%-14s %10s %9s %8s  %s\n' target inputs seconds corpus result
for target in "${targets[@]}"; do
  mkdir -p "build/fuzz/corpus/$target"
  : >"build/fuzz/$target.log"
  start=$SECONDS
  result=ok
  # Runs many short inputs, then long ones, to find superlinear growth.
  run "$target" 95 -max_len=1024 && run "$target" 5 -max_len=65536 -len_control=0 || {
    result="FAILED: $(grep -m 1 -E '^(VIOLATION|==.*ERROR|.*runtime error)' "build/fuzz/$target.log" ||
      echo "see build/fuzz/$target.log")"
    failed=1
  }
  inputs=$(awk '/number_of_executed_units/ {n += $2} END {print n + 0}' "build/fuzz/$target.log")
  printf '%-14s %10d %9d %8d  %s\n' "$target" "$inputs" $((SECONDS - start)) \
    "$(find "build/fuzz/corpus/$target" -type f | wc -l)" "$result"
done
exit $failed
