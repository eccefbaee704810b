#!/usr/bin/env python3
"""speedrun.cpp's row A in PyTorch: the same model, optimizer, batches and evaluation.

  pytorch_speedrun.py A --text FILE --out DIR [--seed N] [--steps N]

bench/run_speedrun.py --peer pytorch measures the time. Writes the weights to DIR/model.safetensors and prints one
JSON line. Random numbers differ from those of Gradus, so a seed's loss also differs.
"""
import argparse
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
from pytorch_step import start_with_allocator  # noqa: E402

LAYERS, HEADS, WIDTH, CONTEXT, WINDOW, TRIPLES, BATCH, STEPS = 2, 4, 128, 64, 32, 8192, 12, 130
MATRIX_RATE, OTHER_RATE, MOMENTUM, WARMUP = 0.03, 6e-3, 0.85, 10


def model_of(torch, vocab):
    nn, F = torch.nn, torch.nn.functional

    def linear(inputs, outputs, std):
        layer = nn.Linear(inputs, outputs, bias=False)
        nn.init.normal_(layer.weight, std=std)
        return layer

    def rotate(x):  # [B, H, T, D], rotary positions
        half = x.shape[-1] // 2
        angles = torch.arange(x.shape[-2])[:, None] * 10000 ** (-torch.arange(half) / half)
        a, b = x[..., :half], x[..., half:]
        return torch.cat([a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()], dim=-1)

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.RMSNorm(WIDTH, eps=1e-5), nn.RMSNorm(WIDTH, eps=1e-5)
            self.q_norm, self.k_norm = (nn.RMSNorm(WIDTH // HEADS, eps=1e-6) for _ in range(2))
            self.q, self.k, self.v = (linear(WIDTH, WIDTH, 0.02) for _ in range(3))
            self.out = linear(WIDTH, WIDTH, 0.01)
            self.up, self.down = linear(WIDTH, 4 * WIDTH, 0.02), linear(4 * WIDTH, WIDTH, 0.01)

        def forward(self, x, mask):
            h = self.norm1(x)
            q, k, v = (f(h).unflatten(-1, (HEADS, -1)).transpose(1, 2) for f in (self.q, self.k, self.v))
            y = F.scaled_dot_product_attention(rotate(self.q_norm(q)), rotate(self.k_norm(k)), v, attn_mask=mask)
            x = x + self.out(y.transpose(1, 2).flatten(2))
            return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.token = nn.Embedding(vocab, WIDTH)
            self.pairs, self.triples = nn.Embedding(vocab * vocab, WIDTH), nn.Embedding(TRIPLES, WIDTH)
            self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
            self.norm = nn.RMSNorm(WIDTH, eps=1e-5)
            nn.init.normal_(self.token.weight, std=0.1)
            nn.init.zeros_(self.pairs.weight)
            nn.init.zeros_(self.triples.weight)

        def forward(self, ids, targets):
            one, two = F.pad(ids, (1, 0))[:, :-1], F.pad(ids, (2, 0))[:, :-2]
            key = (two * vocab + one) * vocab + ids
            key = (key * -0x61C8864680B583EB) >> 32 & (TRIPLES - 1)  # Fibonacci hashing, modulo 2⁶⁴
            x = self.token(ids) + self.pairs(one * vocab + ids) + self.triples(key)
            at = torch.arange(ids.shape[1])
            distance = at[:, None] - at
            mask = (distance >= 0) & (distance < WINDOW)
            for block in self.blocks:
                x = block(x, mask)
            logits = F.linear(self.norm(x), self.token.weight)
            return F.cross_entropy(logits.flatten(0, 1), targets.flatten())

    return Model()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("row", choices=["A"])
    parser.add_argument("--text", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=STEPS)
    flags = parser.parse_args()
    start_with_allocator()
    import torch
    from safetensors.torch import save_file

    torch.set_num_threads(len(os.sched_getaffinity(0)))
    torch.manual_seed(flags.seed)
    with open(flags.text, encoding="utf-8") as file:
        text = file.read()
    numbers = {c: i for i, c in enumerate(sorted(set(text)))}
    ids = torch.tensor([numbers[c] for c in text])
    training, held = ids[:len(ids) - len(ids) // 10], ids[len(ids) - len(ids) // 10:]
    model = model_of(torch, len(numbers))
    matrices = [p for p in model.blocks.parameters() if p.dim() == 2]
    others = [p for p in model.parameters() if all(p is not matrix for matrix in matrices)]
    muon = torch.optim.Muon(matrices, lr=MATRIX_RATE, momentum=MOMENTUM, weight_decay=0)
    adam = torch.optim.AdamW(others, lr=OTHER_RATE, betas=(0.9, 0.95), weight_decay=0, fused=True)
    factor = lambda step: min((step + 1) / WARMUP, (flags.steps - step) / (flags.steps - WARMUP))  # noqa: E731
    schedules = [torch.optim.lr_scheduler.LambdaLR(each, factor) for each in (muon, adam)]
    span = torch.arange(CONTEXT)
    for _ in range(flags.steps):
        at = torch.randint(len(training) - CONTEXT, (BATCH, 1)) + span
        model(training[at], training[at + 1]).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for each in (muon, adam, *schedules):
            each.step()
        model.zero_grad(set_to_none=True)
    model.eval()
    length = 2 * CONTEXT  # a window lets the model read longer texts than those it has learned from
    windows = (len(held) - 1) // length
    x, y = held[:windows * length].view(windows, length), held[1:windows * length + 1].view(windows, length)
    with torch.no_grad():
        total = sum(model(x[i:i + 32], y[i:i + 32]).item() * len(x[i:i + 32]) for i in range(0, windows, 32))
    save_file(model.state_dict(), os.path.join(flags.out, "model.safetensors"))
    print(json.dumps({"row": flags.row, "engine": f"pytorch {torch.__version__}", "seed": flags.seed,
                      "steps": flags.steps, "parameters": sum(p.numel() for p in model.parameters()),
                      "characters_scored": x.numel(), "held_out": round(total / windows, 4)}))


if __name__ == "__main__":
    main()
