#!/usr/bin/env python3
"""The kinds of bench_attention.cpp that PyTorch supports, forward and backward.

  pytorch_attention.py [--examples N] [--heads N] [--width N] [--window N] [--dropout P] [--threads N] --serve

Reads lines "KIND LENGTH COUNT" and writes the milliseconds of COUNT runs. dense and everything use the fused
scaled_dot_product_attention; window adds a boolean mask (with dropout, PyTorch does not fuse it on a CPU).
linear_everything consists of several ops: elu + 1 of queries and keys, then sums over keys. flex_attention is not
included, because it has no backward on a CPU. Needs torch.
"""
import argparse
import sys
import time

from pytorch_step import start_with_allocator


def parse():
    parser = argparse.ArgumentParser()
    for name, default in {"examples": 1, "heads": 4, "width": 64, "window": 256, "threads": 2}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--serve", action="store_true", required=True)
    return parser.parse_args()


def attend_with(torch, kind, length, flags):
    """q, k, v [B, H, T, D] → [B, H, T, D]"""
    F = torch.nn.functional
    if kind in ("dense", "everything"):
        return lambda q, k, v: F.scaled_dot_product_attention(
            q, k, v, is_causal=kind == "dense", dropout_p=flags.dropout)
    if kind == "window":
        behind = torch.arange(length)[:, None] - torch.arange(length)
        mask = (behind >= 0) & (behind < flags.window)
        return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=flags.dropout)

    def linear(q, k, v):
        q, k = F.elu(q) + 1, F.elu(k) + 1
        return (q @ (k.transpose(-2, -1) @ v)) / (q @ k.sum(-2).unsqueeze(-1))

    return linear


class Case:
    def __init__(self, torch, kind, length, flags):
        self.attend = attend_with(torch, kind, length, flags)
        shape = (flags.examples, length, flags.heads, flags.width)  # the layout of projections
        self.leaves = [torch.randn(shape, requires_grad=True) for _ in range(3)]
        self.upstream = torch.randn(shape).transpose(1, 2)

    def timed(self):
        start = time.perf_counter()
        self.attend(*(x.transpose(1, 2) for x in self.leaves)).backward(self.upstream)
        ms = 1e3 * (time.perf_counter() - start)
        for x in self.leaves:
            x.grad = None
        return ms


def main():
    flags = parse()
    start_with_allocator()
    import torch

    torch.set_num_threads(flags.threads)
    torch.manual_seed(1)
    cases = {}
    print("ready", flush=True)
    for line in iter(sys.stdin.readline, ""):
        words = line.split()
        if len(words) != 3:
            break
        kind, length, count = words[0], int(words[1]), int(words[2])
        if (kind, length) not in cases:
            cases[kind, length] = Case(torch, kind, length, flags)
        print(*(f"{cases[kind, length].timed():.4f}" for _ in range(count)), flush=True)


if __name__ == "__main__":
    main()
