#!/usr/bin/env bash
# Builds and runs a benchmark: ./bench.sh NAME [OPTION…] runs bench/bench_NAME.cpp.
#   ./bench.sh step --config cpu --dropout 0.2      one JSON object per line
#   ./bench.sh step --config cpu --peer pytorch     both engines interleaved, and their ratio (needs torch)
#   ./bench.sh products --type f64                  compares the matmul backends
#   ./bench.sh check --peer pytorch                 gradient checks next to torch.autograd.gradcheck
#   ./bench.sh small                                ops on one value, forward and backward
#   ./bench.sh attention --table                    time and memory by length and type of attention
#   ./bench.sh attention --peer pytorch             dense, or --kind window, next to PyTorch
#   ./bench.sh decode --config gpt2                 the next token, with and without a cache
#   ./bench.sh decode --model DIR_OR_GGUF           by weight precision, next to the memory bandwidth
#   ./bench.sh decode --model M --peer pytorch --peer llama.cpp    next to transformers and llama.cpp
#   ./bench.sh table                                the table of steps next to PyTorch and JAX, as Markdown
#   ./bench.sh recipe FILE                          nanoGPT's CPU recipe in both engines
#   ./bench.sh speedrun A --text FILE               seconds to a held-out loss (--peer pytorch): bench/records/
#   ./bench.sh rows                                 row kernels; GRADUS_SIMD=avx2: with narrower vectors
#   ./bench.sh ops                                  Google Benchmark, one op at a time
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
. tools/setup.sh

name=${1-}
case $name in
  table) target=bench_step ;;
  recipe) target=gpt ;;
  speedrun) target=speedrun ;;
  *) target=bench_$name ;;
esac
if [ ! -e "bench/bench_$name.cpp" ] && [ ! -e "bench/run_$name.py" ]; then
  sed -n '2,17s/^# //p' "$0" >&2
  exit 2
fi
shift

yes=0
setup_needs g++ cmake ninja-build libopenblas-dev libcli11-dev nlohmann-json3-dev libbenchmark-dev >&2
{
  [ -e build/release/build.ninja ] || cmake --preset release -DGRADUS_BUILD_TESTS=OFF
  cmake -DGRADUS_BUILD_BENCHMARKS=ON build/release >/dev/null
  cmake --build --preset release --target "$target" -j "$(setup_cores)"
} >&2

[ ! -e "bench/run_$name.py" ] || exec python3 "bench/run_$name.py" build/release "$@"
case " $* " in
  *" --peer "*)
    script=bench/interleave_$name.py
    [ -e "$script" ] || script=bench/interleave.py
    exec python3 "$script" "build/release/bench_$name" "$@"
    ;;
esac
exec "build/release/bench_$name" "$@"
