"""Shared by the peers of bench_step.cpp: sizes, flags, timing on request, and the JSON line."""
import argparse
import json
import os
import resource
import sys
import time

SIZES = {  # layers, heads, width, context, batch, vocabulary: the presets of nn/models/gpt.cpp
    "toy": (2, 2, 64, 32, 8, 65),
    "cpu": (4, 4, 128, 64, 12, 65),
    "baby12": (6, 6, 384, 256, 12, 65),
    "baby64": (6, 6, 384, 256, 64, 65),
    "gpt2": (12, 12, 768, 64, 4, 50257),
    "long": (4, 4, 256, 1024, 4, 65),
}


def parse(description, modes=()):
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--config", choices=SIZES, default="cpu")
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--serve", action="store_true")
    if modes:
        parser.add_argument("--mode", choices=modes, default=modes[0])
    return parser.parse_args()


def resident_mb():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize() >> 20


def timed(step, count):
    times = []
    for _ in range(count):
        start = time.perf_counter()
        step()
        times.append(1e3 * (time.perf_counter() - start))
    return times


def flop(config):
    layers, _, width, context, batch, vocab = SIZES[config]
    weights = 12 * layers * width * width + vocab * width
    return 6 * weights * batch * context + 6 * context * (context + 1) * width * batch * layers


def report(flags, engine, build, **more):
    """Times the step returned by build(), in rounds or, with --serve, on request from standard input."""
    base_mb = resident_mb()
    step = build()
    loss0 = step()
    times = timed(step, 2)
    if flags.serve:
        print("ready", flush=True)
        for line in iter(sys.stdin.readline, ""):
            if int(line) <= 0:
                break
            print(*(f"{ms:.4f}" for ms in timed(step, int(line))), flush=True)
    else:
        times = timed(step, flags.steps * flags.rounds)
    median = sorted(times)[len(times) // 2]
    print(json.dumps({
        "engine": engine, "config": flags.config, "dropout": flags.dropout, **more, "threads": flags.threads,
        "median_ms": round(median, 3), "min_ms": round(min(times), 3),
        "gflops": round(flop(flags.config) / median / 1e6, 1), "floor_ms": None,
        "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10, "base_rss_mb": base_mb,
        "loss0": round(loss0, 4)}), flush=True)
