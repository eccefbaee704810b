#!/usr/bin/env python3
"""Times a prompt and the tokens after it, of a real model in several engines, interleaved.

  interleave_decode.py BENCH_DECODE --model DIR_OR_GGUF --peer PEER... [--weights f32,bf16,int8]
                       [--tokens N] [--threads N] [--rounds N]

A peer is pytorch (transformers in f32, eager) or llama.cpp (by llama-cpp-python, a GGUF file at its own precision).
Prints a JSON object for the prompt and one for the next token. Each contains the engines' milliseconds (medians of
the rounds' medians) and the ratios of their times to that of Gradus in f32 (medians of the rounds' ratios).
"""
import argparse
import json
import os
import sys

from interleave import Engine, median

TASKS = {"prompt": 3, "next": 32}  # task: how often a round times it
PEERS = {"pytorch": "pytorch_decode.py", "llama.cpp": "llamacpp_decode.py"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bench")
    parser.add_argument("--peer", choices=PEERS, action="append", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--weights", default="f32,bf16,int8", help="weight precisions of Gradus; the first is the baseline")
    for name, default in {"tokens": 512, "rounds": 7, "threads": len(os.sched_getaffinity(0))}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    flags = parser.parse_args()
    common = ["--model", flags.model, "--threads", str(flags.threads), "--serve"]
    here = os.path.dirname(os.path.abspath(__file__))
    commands = {f"gradus {weights}": [flags.bench, "--weights", weights] for weights in flags.weights.split(",")}
    commands |= {name: [sys.executable, os.path.join(here, PEERS[name])] for name in flags.peer}
    engines = {name: Engine([*command, *common]) for name, command in commands.items()}
    first = next(iter(engines))
    for task, times in TASKS.items():
        ms = {name: [] for name in engines}
        for turn in range(flags.rounds + 1):
            for name in list(engines) if turn % 2 == 0 else reversed(engines):
                took = engines[name].run(f"{task} {flags.tokens} {times}")
                if turn > 0:  # the first round is a warm-up
                    ms[name].append(took)
        ratios = {name: sorted(theirs / own for own, theirs in zip(ms[first], ms[name])) for name in engines}
        print(json.dumps({
            "task": task, "model": os.path.basename(flags.model), "tokens": flags.tokens, "threads": flags.threads,
            "rounds": flags.rounds, "ms": {name: round(median(took), 2) for name, took in ms.items()},
            "ratios": {name: round(median(all_), 3) for name, all_ in ratios.items() if name != first},
            "ratios_range": {name: [round(all_[0], 3), round(all_[-1], 3)] for name, all_ in ratios.items()
                             if name != first}}), flush=True)


if __name__ == "__main__":
    main()
