#!/usr/bin/env python3
"""Golden data: attention layers, blocks and the Transformer, made with PyTorch.

  make_transformer.py FILE      writes FILE, a .safetensors

All in float64. A case "encoder_pre" has parameters under Gradus' names
(encoder_pre/p.attention.qkv_proj.weight), inputs encoder_pre/x0 …, an upstream gradient
encoder_pre/dy, and results: encoder_pre/y, encoder_pre/dx0 …, and the gradient of each
parameter, encoder_pre/d.attention.qkv_proj.weight ….
tests/golden/transformer/layers.safetensors was made with PyTorch 2.13.0.
"""
import sys

import torch
from safetensors.torch import save_file

WIDTH, HEADS, HIDDEN = 6, 3, 5
LENGTHS = [5, 3]


def padded(length):
    """PyTorch's key_padding_mask: true = hidden."""
    return torch.arange(length)[None] >= torch.tensor(LENGTHS)[:, None]


def later(n):
    return torch.triu(torch.ones(n, n, dtype=torch.bool), 1)


def attention(module, prefix, crossing):
    """(our name, function from PyTorch's module to our tensor) for each parameter of a MultiheadAttention."""
    packed = module.in_proj_weight is not None
    if not crossing:
        yield prefix + "qkv_proj.weight", lambda m: m.in_proj_weight
        yield prefix + "qkv_proj.bias", lambda m: m.in_proj_bias
    else:
        for i, part in enumerate("qkv"):
            if packed:
                yield f"{prefix}{part}_proj.weight", lambda m, i=i: m.in_proj_weight.chunk(3)[i]
            else:
                yield f"{prefix}{part}_proj.weight", lambda m, p=part: getattr(m, p + "_proj_weight")
            yield f"{prefix}{part}_proj.bias", lambda m, i=i: m.in_proj_bias.chunk(3)[i]
    yield prefix + "out_proj.weight", lambda m: m.out_proj.weight
    yield prefix + "out_proj.bias", lambda m: m.out_proj.bias


def under(path, pairs):
    """The same pairs for a module at `path`."""
    for name, of in pairs:
        yield name, lambda m, of=of: of(m.get_submodule(path))


def affine(name, ours):
    for part in ("weight", "bias"):
        yield f"{ours}.{part}", lambda m, n=name, p=part: getattr(m.get_submodule(n), p)


def encoder_layer(layer, prefix=""):
    yield from under("self_attn", attention(layer.self_attn, prefix + "attention.", False))
    yield from affine("norm1", prefix + "norm1")
    yield from affine("norm2", prefix + "norm2")
    yield from affine("linear1", prefix + "feed_forward.up")
    yield from affine("linear2", prefix + "feed_forward.down")


def decoder_layer(layer, prefix=""):
    yield from encoder_layer(layer, prefix)
    yield from affine("norm3", prefix + "norm3")
    yield from under("multihead_attn", attention(layer.multihead_attn, prefix + "cross_attention.", True))


def transformer(model):
    for i, layer in enumerate(model.encoder.layers):
        yield from under(f"encoder.layers.{i}", encoder_layer(layer, f"encoder.blocks.{i}."))
    yield from affine("encoder.norm", "encoder.norm")
    for i, layer in enumerate(model.decoder.layers):
        yield from under(f"decoder.layers.{i}", decoder_layer(layer, f"decoder.blocks.{i}."))
    yield from affine("decoder.norm", "decoder.norm")


def cases():
    """name, module, its parameters, inputs, function that calls it."""
    x, short = torch.randn(2, 5, WIDTH), torch.randn(2, 4, WIDTH)
    module = torch.nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
    yield ("self", module, list(attention(module, "", False)), [x],
           lambda m, x: m(x, x, x, key_padding_mask=padded(5), attn_mask=later(5))[0])
    module = torch.nn.MultiheadAttention(WIDTH, HEADS, kdim=5, vdim=7, batch_first=True)
    yield ("cross", module, list(attention(module, "", True)),
           [short, torch.randn(2, 5, 5), torch.randn(2, 5, 7)],
           lambda m, q, k, v: m(q, k, v, key_padding_mask=padded(5))[0])
    for when in ("pre", "post"):
        options = dict(dim_feedforward=HIDDEN, dropout=0.0, batch_first=True, norm_first=when == "pre",
                       activation="gelu" if when == "pre" else "relu")
        module = torch.nn.TransformerEncoderLayer(WIDTH, HEADS, **options)
        yield (f"encoder_{when}", module, list(encoder_layer(module)), [x],
               lambda m, x: m(x, src_key_padding_mask=padded(5)))
        module = torch.nn.TransformerDecoderLayer(WIDTH, HEADS, **options)
        yield (f"decoder_{when}", module, list(decoder_layer(module)), [short, x],
               lambda m, y, x: m(y, x, tgt_mask=later(4), memory_key_padding_mask=padded(5)))
        module = torch.nn.Transformer(WIDTH, HEADS, 2, 2, **options)
        yield (f"transformer_{when}", module, list(transformer(module)), [x, short],
               lambda m, x, y: m(x, y, tgt_mask=later(4), src_key_padding_mask=padded(5),
                                 memory_key_padding_mask=padded(5)))


def main(path):
    torch.manual_seed(7)
    torch.set_default_dtype(torch.float64)
    out = {}
    for name, module, parameters, inputs, call in cases():
        for p in module.parameters():  # biases and norms, too: zeros and ones hide mistakes
            torch.nn.init.normal_(p, 0.3, 0.4)
        inputs = [x.clone().requires_grad_() for x in inputs]
        y = call(module, *inputs)
        dy = torch.randn_like(y)
        y.backward(dy)
        out[f"{name}/y"], out[f"{name}/dy"] = y.detach(), dy
        for i, x in enumerate(inputs):
            out[f"{name}/x{i}"], out[f"{name}/dx{i}"] = x.detach(), x.grad
        numbers = sum(p.numel() for p in module.parameters())
        grads = {id(p): p.grad for p in module.parameters()}
        for ours, of in parameters:
            out[f"{name}/p.{ours}"] = of(module).detach().clone().contiguous()
            numbers -= of(module).numel()
        for p in module.parameters():
            p.data = grads[id(p)]
        for ours, of in parameters:
            out[f"{name}/d.{ours}"] = of(module).detach().clone().contiguous()
        assert numbers == 0, f"{name}: {numbers} values of PyTorch's module have no name in Gradus"
    save_file({key: value.contiguous() for key, value in out.items()}, path)


if __name__ == "__main__":
    main(sys.argv[1])
