#!/usr/bin/env python3
"""Golden data: 20 training steps of a small GPT, made with PyTorch in float64.

  make_gpt.py PRESET DIR      writes DIR/init.safetensors, DIR/batch.safetensors, DIR/expected.json

The step: cross-entropy, backward, clipping to norm 1, AdamW (1e-3, 0.9, 0.999, 1e-8, decay 1e-2).
tests/golden/gpt_toy was made with PyTorch 2.13.0 by `make_gpt.py toy tests/golden/gpt_toy`.
"""
import json
import os
import sys

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

SIZES = {"toy": (2, 2, 64, 32, 8, 65), "cpu": (4, 4, 128, 64, 12, 65)}


def initial_weights(layers, width, context, vocab):
    """The initial state under nn::GPT's names."""
    state = {"token.weight": torch.randn(vocab, width) * 0.02,
             "position.weight": torch.randn(context, width) * 0.02}
    shapes = {"attention.qkv_proj": (3 * width, width), "attention.out_proj": (width, width),
              "feed_forward.up": (4 * width, width), "feed_forward.down": (width, 4 * width)}
    norms = ["norm"]
    for i in range(layers):
        norms += [f"blocks.{i}.norm1", f"blocks.{i}.norm2"]
        for name, shape in shapes.items():
            state[f"blocks.{i}.{name}.weight"] = torch.randn(shape) * 0.02
            state[f"blocks.{i}.{name}.bias"] = torch.zeros(shape[0])
    for name in norms:
        state[f"{name}.weight"], state[f"{name}.bias"] = torch.ones(width), torch.zeros(width)
    return state


def loss_of(w, layers, heads, x, y):
    def norm(name, h):
        return F.layer_norm(h, h.shape[-1:], w[f"{name}.weight"], w[f"{name}.bias"])

    def linear(name, h):
        return F.linear(h, w[f"{name}.weight"], w[f"{name}.bias"])

    h = w["token.weight"][x] + w["position.weight"][: x.shape[1]]
    for i in range(layers):
        b = f"blocks.{i}"
        q, k, v = (t.unflatten(-1, (heads, -1)).transpose(1, 2)
                   for t in linear(f"{b}.attention.qkv_proj", norm(f"{b}.norm1", h)).chunk(3, -1))
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        h = h + linear(f"{b}.attention.out_proj", attended)
        up = F.gelu(linear(f"{b}.feed_forward.up", norm(f"{b}.norm2", h)), approximate="tanh")
        h = h + linear(f"{b}.feed_forward.down", up)
    logits = norm("norm", h) @ w["token.weight"].T
    return F.cross_entropy(logits.flatten(0, 1), y.flatten())


def main():
    preset, directory = sys.argv[1:]
    layers, heads, width, context, batch, vocab = SIZES[preset]
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(7)
    weights = initial_weights(layers, width, context, vocab)
    x, y = torch.randint(vocab, (2, batch, context))
    os.makedirs(directory, exist_ok=True)
    save_file(weights, f"{directory}/init.safetensors")
    save_file({"x": x, "y": y}, f"{directory}/batch.safetensors")
    for tensor in weights.values():
        tensor.requires_grad_()
    optimizer = torch.optim.AdamW(weights.values(), lr=1e-3, weight_decay=1e-2)
    rows = []
    for _ in range(20):
        loss = loss_of(weights, layers, heads, x, y)
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(weights.values(), 1.0)
        optimizer.step()
        rows.append((loss.item(), norm.item()))
    with open(f"{directory}/expected.json", "w") as out:
        json.dump({"config": preset, "loss": [r[0] for r in rows], "grad_norm": [r[1] for r in rows]}, out, indent=1)
        out.write("\n")


if __name__ == "__main__":
    main()
