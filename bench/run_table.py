#!/usr/bin/env python3
"""The tables of docs/performance.md: training steps of each size, interleaved with peers, as Markdown.

  ./bench.sh table [--configs toy,cpu,...] [--dropouts 0,0.2] [--rounds N] [--peers pytorch,jax,...]

Peers are PyTorch, eager and with torch.compile, and JAX, if installed. With GRADUS_SIMD=avx2, peers are limited to
AVX2 too.
"""
import argparse
import importlib.util
import json
import os
import subprocess
import sys

from interleave import PEERS

HERE = os.path.dirname(os.path.abspath(__file__))
CONFIGS = "toy,cpu,baby12,baby64,gpt2,long"
HELD_TO_AVX2 = {"ATEN_CPU_CAPABILITY": "avx2", "MKL_ENABLE_INSTRUCTIONS": "AVX2", "ONEDNN_MAX_CPU_ISA": "AVX2",
                "XLA_FLAGS": "--xla_cpu_max_isa=AVX2"}


def installed(peer):
    return importlib.util.find_spec("jax" if peer == "jax" else "torch") is not None


def measure(bench, config, dropout, flags, environment):
    command = [sys.executable, os.path.join(HERE, "interleave.py"), bench, "--config", config, "--dropout", dropout,
               "--rounds", str(flags.rounds)]
    for peer in flags.peers:
        command += ["--peer", peer]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return [json.loads(line) for line in done.stdout.splitlines()]


def row(cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--configs", default=CONFIGS)
    parser.add_argument("--dropouts", default="0,0.2")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--peers", default=",".join(PEERS))
    flags = parser.parse_args()
    flags.peers = [peer for peer in flags.peers.split(",") if installed(peer)]
    if not flags.peers:
        parser.error("neither torch nor jax is installed. Install one of them.")
    environment = os.environ | (HELD_TO_AVX2 if os.environ.get("GRADUS_SIMD") == "avx2" else {})
    bench = os.path.join(flags.build, "bench_step")
    row(["config", "dropout", *(f"{peer} ms" for peer in flags.peers), "Gradus ms", "ratio to the fastest",
         "rounds' range", "share of peak", "of floor", "memory"])
    row(["---"] * (8 + len(flags.peers)))
    for config in flags.configs.split(","):
        for dropout in flags.dropouts.split(","):
            *peers, ours, all_of_them = measure(bench, config, dropout, flags, environment)
            low, _, high = all_of_them["speedup_rounds"]
            row([config, dropout, *(f"{peer['median_ms']:.4g}" for peer in peers), f"{ours['median_ms']:.4g}",
                 f"{all_of_them['speedup']:.2f}", f"{low:.2f}–{high:.2f}", f"{all_of_them['share_of_peak']:.2f}",
                 f"{all_of_them['of_floor']:.2f}", f"{all_of_them['memory_ratio']:.2f}"])
    print(f"\n{', '.join(sorted({peer['engine'] for peer in peers}))}; Gradus: {ours['products']}; "
          f"peak {ours['peak_gflops']} Gflop/s; {flags.rounds} interleaved rounds")


if __name__ == "__main__":
    main()
