#!/usr/bin/env bash
# Builds every target of tests/fuzz into $OUT, with its seed corpus and dictionary, as OSS-Fuzz asks: it sets CXX,
# CXXFLAGS, LIB_FUZZING_ENGINE, SRC, WORK and OUT. check.sh runs this without Docker.
set -euo pipefail
tree=$SRC/gradus
mapfile -t targets < <(ls "$tree/tests/fuzz/corpus")

cmake --preset fuzz -S "$tree" -B "$WORK/gradus" -DCMAKE_CXX_COMPILER="$CXX" -DCMAKE_CXX_FLAGS_DEBUG= \
  -DGRADUS_FUZZ_ENGINE="$LIB_FUZZING_ENGINE"
cmake --build "$WORK/gradus" -j "$(nproc)" --target "${targets[@]/#/gradus_fuzz_}"

for target in "${targets[@]}"; do
  cp "$WORK/gradus/tests/fuzz/gradus_fuzz_$target" "$OUT/"
  cp "$tree/tests/fuzz/dictionaries/$target.dict" "$OUT/gradus_fuzz_$target.dict"
  zip -jqr "$OUT/gradus_fuzz_${target}_seed_corpus.zip" "$tree/tests/fuzz/corpus/$target"
done
