#!/usr/bin/env python3
"""Times attention in two engines, interleaved, so that drift of the machine affects both equally.

  interleave_attention.py BENCH_ATTENTION [--kind KIND…] [--length N…] [--examples N] [--heads N] [--width N]
                          [--window N] [--dropout P] [--threads N] [--rounds N] --peer pytorch

Prints one JSON object per kind and length: the median of the rounds' medians for forward and backward together, and
the median, lowest and highest ratio of the rounds.
"""
import argparse
import json
import os
import sys

from interleave import Engine, median

DROPS = ("dense", "everything", "window")  # support dropout on the weights
PEERS = (*DROPS, "linear_everything")


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("bench")
    parser.add_argument("--peer", choices=["pytorch"], required=True)
    parser.add_argument("--kind", nargs="+", default=["dense"])
    parser.add_argument("--length", nargs="+", type=int, default=[256, 1024, 4096])
    for name, default in {"examples": 1, "heads": 4, "width": 64, "window": 256, "rounds": 7}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--dropout", type=float, default=0.0)
    flags = parser.parse_args()
    for kind in flags.kind:
        if kind not in PEERS:
            fail(f"{flags.peer} does not support the kind \"{kind}\". Kinds: {', '.join(PEERS)}")
        if flags.dropout > 0 and kind not in DROPS:
            fail(f"--dropout: {kind} has no weights to drop. Kinds with dropout: {', '.join(DROPS)}")
    return flags


def fail(words):
    print(f"bench_attention: {words}", file=sys.stderr)
    sys.exit(2)


def compare(kind, length, ours, peer, flags):
    words = f"{kind} {length}"
    ours.run(f"{words} 2"), peer.run(f"{words} 2")  # warm-up
    count = max(1, min(100, round(300 / max(ours.run(f"{words} 1"), peer.run(f"{words} 1")))))
    times = {id(ours): [], id(peer): []}
    for turn in range(flags.rounds):
        for engine in (ours, peer) if turn % 2 == 0 else (peer, ours):
            times[id(engine)].append(engine.run(f"{words} {count}"))
    ratios = [theirs / own for own, theirs in zip(times[id(ours)], times[id(peer)])]
    print(json.dumps({
        "kind": kind, "length": length, "examples": flags.examples, "heads": flags.heads, "width": flags.width,
        "dropout": flags.dropout, "threads": flags.threads, "rounds": flags.rounds, "times_a_round": count,
        "peer_ms": round(median(times[id(peer)]), 3), "ours_ms": round(median(times[id(ours)]), 3),
        "speedup": round(median(ratios), 3), "speedup_rounds": [round(min(ratios), 3), round(max(ratios), 3)]}),
        flush=True)


def main():
    flags = parse()
    common = ["--serve"]
    for name in ("examples", "heads", "width", "window", "dropout", "threads"):
        common += [f"--{name}", str(getattr(flags, name))]
    here = os.path.dirname(os.path.abspath(__file__))
    peer = Engine([sys.executable, os.path.join(here, f"{flags.peer}_attention.py"), *common])
    ours = Engine([flags.bench, *common])
    for kind in flags.kind:
        for length in flags.length:
            compare(kind, length, ours, peer, flags)


if __name__ == "__main__":
    main()
