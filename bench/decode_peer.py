"""Shared by the peers of bench_decode --serve: flags, and the loop that answers."""
import argparse
import sys
import time


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--serve", action="store_true")
    return parser.parse_args()


def serve(prompt, after):
    """Answers lines "prompt N TIMES" and "next N TIMES" with milliseconds; prompt(N) and after(N) give the call to time."""
    print("ready", flush=True)
    for line in sys.stdin:
        task, tokens, times = line.split()
        if tokens == "0":
            break
        call = (after if task == "next" else prompt)(int(tokens))
        took = []
        for _ in range(int(times)):
            start = time.perf_counter()
            call()
            took.append(f"{1e3 * (time.perf_counter() - start):.3f}")
        print(" ".join(took), flush=True)
