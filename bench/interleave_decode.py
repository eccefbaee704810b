#!/usr/bin/env python3
"""Times a prompt of a real model in two engines, in turn, so that a drifting machine is fair to both.

  interleave_decode.py BENCH_DECODE --model DIR_OR_GGUF [--tokens N] [--threads N] [--rounds N] --peer pytorch

The peer is transformers in f32, eager. Prints one JSON object: medians of the rounds' medians, and of their ratios.
"""
import argparse
import json
import os
import sys

from interleave import Engine, median


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bench")
    parser.add_argument("--peer", choices=["pytorch"], required=True)
    parser.add_argument("--model", required=True)
    for name, default in {"tokens": 512, "rounds": 7, "threads": len(os.sched_getaffinity(0))}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    flags = parser.parse_args()
    common = ["--model", flags.model, "--threads", str(flags.threads), "--serve"]
    here = os.path.dirname(os.path.abspath(__file__))
    peer = Engine([sys.executable, os.path.join(here, f"{flags.peer}_decode.py"), *common])
    ours = Engine([flags.bench, *common])
    times = {id(ours): [], id(peer): []}
    for turn in range(flags.rounds + 1):
        for engine in (ours, peer) if turn % 2 == 0 else (peer, ours):
            ms = engine.run(f"{flags.tokens} 3")
            if turn > 0:  # memory is warm by then
                times[id(engine)].append(ms)
    ratios = [theirs / own for own, theirs in zip(times[id(ours)], times[id(peer)])]
    print(json.dumps({
        "model": os.path.basename(flags.model), "prompt": flags.tokens, "threads": flags.threads, "rounds": flags.rounds,
        "peer_ms": round(median(times[id(peer)]), 1), "ours_ms": round(median(times[id(ours)]), 1),
        "tokens_per_s": round(1e3 * flags.tokens / median(times[id(ours)])),
        "speedup": round(median(ratios), 3), "speedup_rounds": [round(min(ratios), 3), round(max(ratios), 3)]}))


if __name__ == "__main__":
    main()
