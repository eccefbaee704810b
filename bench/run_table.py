#!/usr/bin/env python3
"""The table of docs/performance.md: a training step of each size beside PyTorch, in turn, as Markdown.

  ./bench.sh table [--configs toy,cpu,…] [--dropouts 0,0.2] [--rounds N]

Rows have goals, and say which of them are met. With GRADUS_SIMD=avx2 PyTorch is held to AVX2 too, and the goals
are those of a processor that has no more.
"""
import argparse
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# ratio to PyTorch, the same with dropout 0.2, share of the processor's peak, memory above the base
WIDE = {"toy": (2.5, 3.5, None, 0.1), "cpu": (1.6, 2.4, 0.58, 0.3), "baby12": (1.35, 1.9, 0.78, 0.7),
        "baby64": (1.2, 1.7, 0.80, 0.6), "gpt2": (1.15, 1.3, 0.72, 0.82), "long": (1.35, 3.6, 0.70, 0.62)}
AVX2 = {"toy": (2.3, 2.8, None, None), "cpu": (1.5, 1.9, 0.70, None), "baby12": (1.3, 1.6, 0.85, None),
        "baby64": (1.35, 1.7, 0.87, None), "gpt2": (1.35, 1.35, 0.80, None), "long": (1.3, 2.4, 0.78, None)}
HELD_TO_AVX2 = {"ATEN_CPU_CAPABILITY": "avx2", "MKL_ENABLE_INSTRUCTIONS": "AVX2", "ONEDNN_MAX_CPU_ISA": "AVX2"}


def measure(bench, config, dropout, rounds, environment):
    command = [sys.executable, os.path.join(HERE, "interleave.py"), bench, "--config", config, "--dropout", dropout,
               "--rounds", str(rounds), "--peer", "pytorch"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return [json.loads(line) for line in done.stdout.splitlines()]


def cell(value, goal, more_is_better=True):
    if goal is None:
        return f"{value:.2f}"
    met = value >= goal if more_is_better else value <= goal
    return f"{value:.2f} ({'' if met else '**not** '}{'≥' if more_is_better else '≤'} {goal})"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--configs", default=",".join(WIDE))
    parser.add_argument("--dropouts", default="0,0.2")
    parser.add_argument("--rounds", type=int, default=7)
    flags = parser.parse_args()
    narrow = os.environ.get("GRADUS_SIMD") == "avx2"
    goals = AVX2 if narrow else WIDE
    environment = os.environ | (HELD_TO_AVX2 if narrow else {})
    bench = os.path.join(flags.build, "bench_step")
    print("| config | dropout | PyTorch ms | Gradus ms | ratio | rounds' range | share of peak | of floor | memory |")
    print("|---|---|---|---|---|---|---|---|---|")
    for config in flags.configs.split(","):
        for dropout in flags.dropouts.split(","):
            peer, ours, both = measure(bench, config, dropout, flags.rounds, environment)
            plain = float(dropout) == 0
            ratio, dropped, share, memory = goals[config]
            low, _, high = both["speedup_rounds"]
            print(f"| {config} | {dropout} | {peer['median_ms']:.4g} | {ours['median_ms']:.4g} "
                  f"| {cell(both['speedup'], ratio if plain else dropped)} | {low:.2f}–{high:.2f} "
                  f"| {cell(both['share_of_peak'], share if plain else None)} | {both['of_floor']:.2f} "
                  f"| {cell(both['memory_ratio'], memory, False)} |", flush=True)
    print(f"\nPyTorch {peer['engine'].split()[1]} with {peer['allocator']} allocator; Gradus: {ours['products']}; "
          f"peak {ours['peak_gflops']} Gflop/s; {flags.rounds} interleaved rounds")


if __name__ == "__main__":
    main()
