#!/usr/bin/env python3
"""The training run of ./bench.sh recipe in PyTorch, with its best settings.

  pytorch_recipe.py FILE [--steps N] [--seed N] [--threads N]

The same model, batches, rates and evaluations: every 250 steps and at the end, the mean loss over the entire
held-out tenth. Prints one JSON line with the total seconds and the best held-out loss.
"""
import argparse
import json
import math
import time

from pytorch_step import SIZES, allocator, model_of, start_with_allocator

RATE, FINAL, WARMUP, DECAY, EVAL_EVERY, EVAL_BATCH = 1e-3, 0.1, 100, 0.1, 250, 32


def rate_at(step, steps):
    """The rate of the next step: linear warm-up, then half a cosine down to a tenth."""
    if step < WARMUP:
        return RATE * (step + 1) / WARMUP
    done = (step - WARMUP) / max(1, steps - WARMUP)
    return RATE * (FINAL + (1 - FINAL) * 0.5 * (1 + math.cos(math.pi * done)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    flags = parser.parse_args()
    start_with_allocator()
    import torch

    torch.set_num_threads(flags.threads)
    torch.manual_seed(flags.seed)
    start = time.perf_counter()
    with open(flags.file, encoding="utf-8") as file:
        text = file.read()
    kinds = sorted(set(text))
    numbers = {c: i for i, c in enumerate(kinds)}
    ids = torch.tensor([numbers[c] for c in text])
    held = ids[len(ids) - len(ids) // 10:]
    training = ids[:len(ids) - len(ids) // 10]
    layers, heads, width, context, batch, _ = SIZES["cpu"]
    model = model_of(torch, (layers, heads, width, context, batch, len(kinds)), 0.0)
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": DECAY},
                                   {"params": others, "weight_decay": 0.0}],
                                  lr=RATE, betas=(0.9, 0.99), fused=True)
    windows = (len(held) - 1) // context
    held_x = held[:windows * context].view(windows, context)
    held_y = held[1:windows * context + 1].view(windows, context)

    def evaluate():
        model.eval()
        total = 0.0
        with torch.no_grad():
            for i in range(0, windows, EVAL_BATCH):
                x = held_x[i:i + EVAL_BATCH]
                total += model(x, held_y[i:i + EVAL_BATCH]).item() * x.numel()
        model.train()
        return total / held_x.numel()

    losses = []
    span = torch.arange(context)
    for step in range(flags.steps):
        at = torch.randint(len(training) - context, (batch, 1)) + span
        for group in optimizer.param_groups:
            group["lr"] = rate_at(step, flags.steps)
        loss = model(training[at], training[at + 1])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        loss.item()
        if (step + 1) % EVAL_EVERY == 0 or step + 1 == flags.steps:
            losses.append(evaluate())
    print(json.dumps({"engine": f"pytorch {torch.__version__}", "allocator": allocator(), "steps": flags.steps,
                      "seed": flags.seed, "seconds": round(time.perf_counter() - start, 2),
                      "held_out": round(min(losses), 4)}), flush=True)


if __name__ == "__main__":
    main()
