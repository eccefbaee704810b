#!/usr/bin/env python3
"""The cases of bench_check.cpp with torch.autograd.gradcheck in slow mode.

  pytorch_check.py --serve

Reads lines "CASE KIND COUNT" and writes the milliseconds of COUNT checks. KIND is ignored. Needs torch.
"""
import sys
import time

import torch
import torch.nn.functional as F

torch.set_num_threads(1)
torch.manual_seed(1)


def leaf(*shape):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


def multi_head():
    module = torch.nn.MultiheadAttention(8, 2, batch_first=True, dtype=torch.float64)
    names = [name for name, _ in module.named_parameters()]

    def attend(x, *parameters):
        return torch.func.functional_call(module, dict(zip(names, parameters)), (x, x, x), {"need_weights": False})[0]

    return attend, (leaf(2, 5, 8), *(p.detach().clone().requires_grad_() for p in module.parameters()))


CASES = {
    "softmax": (lambda x: F.softmax(x, dim=-1), (leaf(3, 5, 7),)),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (7,), w, b), (leaf(3, 5, 7), leaf(7), leaf(7))),
    "attention": (F.scaled_dot_product_attention, (leaf(2, 2, 5, 3), leaf(2, 2, 5, 3), leaf(2, 2, 5, 3))),
    "multi_head": multi_head(),
}


def timed(case):
    function, inputs = CASES[case]
    start = time.perf_counter()
    if not torch.autograd.gradcheck(function, inputs, fast_mode=False):
        sys.exit(f"{case}: gradcheck failed")
    return 1e3 * (time.perf_counter() - start)


print("ready", flush=True)
for line in iter(sys.stdin.readline, ""):
    words = line.split()
    if len(words) != 3:
        break
    print(*(f"{timed(words[0]):.4f}" for _ in range(int(words[2]))), flush=True)
