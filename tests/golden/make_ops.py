#!/usr/bin/env python3
"""Golden data: ops, layers, optimizers and schedules, made with PyTorch.

  make_ops.py DIR      writes DIR/ops.safetensors, DIR/optimizers.safetensors, DIR/schedules.json

All in float64. A case "softmax" has inputs softmax.x0, softmax.x1 …, an upstream gradient
softmax.dy, and results: softmax.y, and softmax.dx0 … for each input with a gradient.
tests/golden/ops was made with PyTorch 2.13.0 by `make_ops.py tests/golden/ops`.
"""
import json
import os
import sys

import torch
import torch.nn.functional as F
from safetensors.torch import save_file


def randn(*shape):
    return torch.randn(shape)


def ids(*values):
    return torch.tensor(values)


def rows(mask):
    """A bool mask written as text: # may attend."""
    return torch.tensor([[c == "#" for c in row] for row in mask.split()])


def tied(*shape):
    """Values with ties and signs."""
    return torch.round(torch.randn(shape) * 1.5) / 2


def attention(width, heads):
    """nn.MultiheadAttention (self-attention) as a function of x and of its parameters."""
    def run(x, *parameters, **options):
        module = torch.nn.MultiheadAttention(width, heads, batch_first=True)
        names = ["in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"]
        return torch.func.functional_call(module, dict(zip(names, parameters)), (x, x, x),
                                          dict(need_weights=False, **options))[0]
    return run


def cases():
    softmax_in = randn(3, 5, 7)
    yield "softmax", lambda x: F.softmax(x, 1), [softmax_in]
    yield "softmax_far", lambda x: F.softmax(x, -1), [randn(3, 7) * 300]
    yield "log_softmax", lambda x: F.log_softmax(x, 0), [randn(5, 3, 2)]
    yield "logsumexp", lambda x: torch.logsumexp(x, (0, 2)), [randn(3, 2, 5) * 20]
    yield "layer_norm", lambda x, w, b: F.layer_norm(x, (7,), w, b), [randn(2, 3, 7), randn(7), randn(7)]
    yield ("layer_norm_small", lambda x, w, b: F.layer_norm(x, (5,), w, b),
           [0.3 + 2e-3 * randn(3, 5), randn(5), randn(5)])
    yield "rms_norm", lambda x, w: F.rms_norm(x, (5,), w, 1e-5), [randn(2, 3, 5), randn(5)]
    yield ("batch_norm", lambda x, w, b: F.batch_norm(x, None, None, w, b, True),
           [randn(5, 3, 2), randn(3), randn(3)])
    yield "gelu_tanh", lambda x: F.gelu(x, approximate="tanh"), [randn(3, 7) * 4]
    yield "gelu_erf", lambda x: F.gelu(x), [randn(3, 7) * 4]
    for name, f in {"silu": F.silu, "elu": F.elu, "relu": F.relu, "softplus": F.softplus}.items():
        yield name, f, [randn(3, 7) * 4]
    yield "leaky_relu", lambda x: F.leaky_relu(x, 0.3), [tied(3, 7)]
    yield "glu", lambda x: F.glu(x, 1), [randn(3, 4, 5)]
    yield "swiglu", lambda g, x: F.silu(g) * x, [randn(3, 5), randn(3, 5)]

    logits, weight = randn(5, 7), torch.rand(7) + 0.5
    target = ids(3, -100, 6, 3, 0)
    options = {"mean": {}, "sum": {"reduction": "sum"}, "none": {"reduction": "none"},
               "smooth": {"label_smoothing": 0.1}, "ignore": {"ignore_index": 3}}
    for name, option in options.items():
        t = ids(3, 1, 6, 3, 0) if name == "ignore" else target
        yield f"cross_entropy_{name}", lambda x, t, o=option: F.cross_entropy(x, t, **o), [logits, t]
    for name, option in {"weight": {}, "weight_smooth": {"label_smoothing": 0.2},
                         "weight_sum": {"reduction": "sum", "label_smoothing": 0.3}}.items():
        yield (f"cross_entropy_{name}",
               lambda x, t, w, o=option: F.cross_entropy(x, t, weight=w.detach(), **o),
               [logits, target, weight])
    yield "cross_entropy_soft", lambda x, p: F.cross_entropy(x, p), [logits, F.softmax(randn(5, 7), 1)]
    yield "nll_loss", lambda x, t, w: F.nll_loss(x, t, weight=w.detach()), [logits, target, weight]
    a, b = randn(3, 5), randn(3, 5)
    yield "mse_loss", F.mse_loss, [a, b]
    yield "l1_loss", lambda x, t: F.l1_loss(x, t, reduction="sum"), [tied(3, 5), tied(3, 5)]
    yield "huber_loss", lambda x, t: F.huber_loss(x, t, delta=0.5, reduction="none"), [a, b]
    yield ("bce_with_logits", lambda x, t: F.binary_cross_entropy_with_logits(x, t),
           [randn(3, 5) * 5, torch.rand(3, 5)])
    yield ("kl_div", lambda q, t: F.kl_div(q, t, reduction="sum") / t.numel(),
           [F.log_softmax(a, 1), F.softmax(b, 1)])

    q, k, v = randn(2, 3, 4, 5), randn(2, 3, 7, 5), randn(2, 3, 7, 2)
    sdpa = F.scaled_dot_product_attention
    mask = rows("#.##..# .####.. ###.... #.#.#.#")
    yield "attention", sdpa, [q, k, v]
    yield "attention_scale", lambda *x: sdpa(*x, scale=0.3), [q, k, v]
    yield "attention_causal", lambda *x: sdpa(*x, is_causal=True), [q, k, v]
    yield "attention_mask", lambda q, k, v, m: sdpa(q, k, v, attn_mask=m), [q, k, v, mask]
    yield "attention_bias", lambda q, k, v, b: sdpa(q, k, v, attn_mask=b), [q, k, v, randn(3, 1, 7)]

    yield ("embedding", lambda w, i: F.embedding(i, w), [randn(5, 3), ids([4, 0, 4], [2, 4, 0])])
    yield ("embedding_padding", lambda w, i: F.embedding(i, w, padding_idx=4),
           [randn(5, 3), ids([4, 0, 4], [2, 4, 0])])
    yield "index_select", lambda x, i: torch.index_select(x, 1, i), [randn(2, 5, 3), ids(4, 0, 4)]
    yield "gather", lambda x, i: torch.gather(x, 1, i), [randn(2, 5), ids([4, 4, 0], [1, 2, 1])]
    yield ("scatter_add", lambda x, i, s: torch.scatter_add(x, 1, i, s),
           [randn(2, 5), ids([4, 4, 0], [1, 2, 1]), randn(2, 3)])
    yield "sort", lambda x: torch.sort(x, 0, descending=True).values, [randn(7, 3)]
    yield "topk", lambda x: torch.topk(x, 3, 1).values, [randn(2, 7)]
    yield "cumsum", lambda x: torch.cumsum(x, 1), [randn(2, 5, 3)]
    yield "var", lambda x: torch.var(x, (0, 2)), [randn(3, 2, 5)]
    yield "var_biased", lambda x: torch.var(x, 1, correction=0), [randn(3, 5)]
    yield "std", lambda x: torch.std(x, 1, keepdim=True), [randn(3, 5)]
    yield "mean", lambda x: torch.mean(x, (0, 1)), [randn(3, 5, 2)]
    yield "norm", lambda x: torch.linalg.vector_norm(x, dim=1), [randn(3, 5)]
    zeros = randn(3, 4)
    zeros[1, 2] = zeros[2, 0] = zeros[2, 3] = 0
    yield "prod", lambda x: torch.prod(x, 1), [zeros]
    yield "max_ties", lambda x: torch.amax(x, 1), [tied(5, 7)]
    yield "min_ties", lambda x: torch.amin(x, 0), [tied(5, 7)]
    yield "maximum_ties", torch.maximum, [tied(3, 7), tied(3, 7)]
    yield "minimum_ties", torch.minimum, [tied(3, 7), tied(7)]
    yield "clamp_bounds", lambda x: torch.clamp(x, -0.5, 1), [tied(5, 7)]
    yield "abs_zero", torch.abs, [tied(5, 7)]
    yield "power", torch.pow, [torch.rand(3, 1, 2) + 0.2, randn(5, 1)]
    yield "pow_number", lambda x: torch.pow(x, -1.5), [torch.rand(3, 5) + 0.2]
    yield "divide", torch.div, [randn(2, 1, 5), randn(3, 1)]
    yield "where", torch.where, [rows("#.#.. .##.#"), randn(2, 1), randn(5)]
    yield "erf_tanh", lambda x: torch.erf(x) * torch.tanh(x) + torch.expm1(x), [randn(3, 5)]
    yield "permute", lambda x: x.permute(2, 0, 1), [randn(2, 3, 5)]
    yield "tril", lambda x: torch.tril(x, 1), [randn(2, 3, 5)]
    yield "pad", lambda x: F.pad(x, (0, 0, 2, 1)), [randn(2, 3, 5)]
    yield "repeat", lambda x: x.repeat(2, 1, 3), [randn(3, 2)]
    yield "matmul", torch.matmul, [randn(2, 1, 3, 5), randn(7, 5, 2)]
    yield "matmul_vector", torch.matmul, [randn(5), randn(2, 5, 3)]

    yield "nn_linear", F.linear, [randn(2, 3, 5), randn(7, 5), randn(7)]
    weights = [randn(24, 8) * 0.4, randn(24), randn(8, 8) * 0.4, randn(8)]
    yield "nn_attention", attention(8, 2), [randn(2, 5, 8), *weights]
    padded = rows("...## ....#")  # true hides
    yield ("nn_attention_padding", lambda *x: attention(8, 2)(*x, key_padding_mask=padded),
           [randn(2, 5, 8), *weights])
    causal = torch.triu(torch.ones(5, 5, dtype=torch.bool), 1)
    yield ("nn_attention_causal", lambda *x: attention(8, 4)(*x, attn_mask=causal),
           [randn(2, 5, 8), *weights])


def convolutions():
    f = F.conv1d
    yield "conv1d", f, [randn(2, 3, 7), randn(5, 3, 2), randn(5)]
    yield "conv1d_one", f, [randn(1, 1, 3), randn(1, 1, 3), randn(1)]
    yield "conv1d_stride", lambda *x: f(*x, stride=3, padding=2), [randn(2, 3, 11), randn(5, 3, 4), randn(5)]
    yield "conv1d_stride_wide", lambda *x: f(*x, stride=5), [randn(2, 1, 13), randn(3, 1, 2), randn(3)]
    yield ("conv1d_dilation", lambda *x: f(*x, stride=2, padding=3, dilation=4),
           [randn(1, 2, 13), randn(3, 2, 3), randn(3)])
    yield "conv1d_padding", lambda *x: f(*x, padding=3), [randn(2, 2, 1), randn(3, 2, 3), randn(3)]
    yield "conv1d_groups", lambda *x: f(*x, padding=1, groups=3), [randn(2, 6, 7), randn(9, 2, 3), randn(9)]
    yield "conv1d_depthwise", lambda *x: f(*x, padding=2, groups=5), [randn(2, 5, 7), randn(5, 1, 3)]
    yield ("conv1d_all", lambda *x: f(*x, stride=3, padding=5, dilation=2, groups=2),
           [randn(3, 4, 17), randn(6, 2, 5), randn(6)])


def sums_of_products():
    e = torch.einsum
    yield "einsum_scores", lambda *x: e("bhtd,bhsd->bhts", *x), [randn(2, 3, 4, 5), randn(2, 3, 7, 5)]
    yield "einsum_values", lambda *x: e("bhts,bshd->bthd", *x), [randn(2, 3, 4, 7), randn(2, 7, 3, 5)]
    yield "einsum_summed_batch", lambda *x: e("bij,bjk->ik", *x), [randn(3, 2, 5), randn(3, 5, 7)]
    yield "einsum_bilinear", lambda *x: e("bi,ijk->bjk", *x), [randn(5, 3), randn(3, 2, 7)]
    yield "einsum_outer", lambda *x: e("i,j->ji", *x), [randn(5), randn(3)]
    yield "einsum_dot", lambda *x: e("ij,ij->", *x), [randn(3, 5), randn(3, 5)]
    yield "einsum_elementwise", lambda *x: e("bi,bj->jbi", *x), [randn(3, 5), randn(3, 2)]
    yield "einsum_alone", lambda *x: e("ij,kj->i", *x), [randn(2, 5), randn(3, 5)]
    yield "einsum_dots", lambda *x: e("...ij,...jk->...ki", *x), [randn(2, 1, 3, 5), randn(7, 5, 2)]
    yield "einsum_dots_summed", lambda *x: e("b...c,cd->...bd", *x), [randn(2, 3, 1, 5), randn(5, 7)]
    yield "einsum_permuted", lambda x: e("abcd->dbac", x), [randn(2, 3, 1, 5)]
    yield "einsum_reduced", lambda x: e("ijk->ki", x), [randn(2, 3, 5)]
    yield "einsum_sum", lambda x: e("ij->", x), [randn(3, 5)]


def all_cases():
    yield from cases()
    with torch.random.fork_rng():  # so that earlier golden data does not change
        torch.manual_seed(12)
        yield from convolutions()
        yield from sums_of_products()


def write_cases(directory):
    tensors = {}
    for name, f, inputs in all_cases():
        x = [t.clone().requires_grad_() if t.is_floating_point() else t for t in inputs]
        y = f(*x)
        dy = torch.randn(y.shape)
        y.backward(dy)
        tensors[f"{name}.y"], tensors[f"{name}.dy"] = y.detach().contiguous(), dy
        for i, t in enumerate(x):
            tensors[f"{name}.x{i}"] = t.detach().clone().contiguous()
            if t.is_floating_point() and t.grad is not None:
                tensors[f"{name}.dx{i}"] = t.grad.contiguous()
    save_file(tensors, os.path.join(directory, "ops.safetensors"))


def write_optimizers(directory):
    """Ten steps of two parameters with given gradients: the parameters after each step."""
    o = torch.optim
    made = {
        "sgd": lambda p: o.SGD(p, lr=0.1),
        "sgd_momentum": lambda p: o.SGD(p, lr=0.1, momentum=0.9),
        "sgd_nesterov": lambda p: o.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
        "sgd_decay": lambda p: o.SGD(p, lr=0.1, momentum=0.5, weight_decay=0.2),
        "adam": lambda p: o.Adam(p, lr=0.05, betas=(0.8, 0.97), eps=1e-6),
        "adam_decay": lambda p: o.Adam(p, lr=0.05, weight_decay=0.3),
        "adamw": lambda p: o.AdamW(p, lr=0.05, weight_decay=0.3),
        "adamw_clipped": lambda p: o.AdamW(p, lr=0.05, weight_decay=0.01),
        "sgd_clipped": lambda p: o.SGD(p, lr=0.1, momentum=0.9),
    }
    start = [randn(3, 5), randn(4)]
    gradients = [randn(10, 3, 5), randn(10, 4) * 3]
    tensors = {"start0": start[0], "start1": start[1],
               "gradient0": gradients[0], "gradient1": gradients[1]}
    for name, make in made.items():
        p = [t.clone().requires_grad_() for t in start]
        optimizer, after, norms = make(p), ([], []), []
        for step in range(10):
            for k in range(2):
                p[k].grad = gradients[k][step].clone()
            if "clipped" in name:
                norms.append(torch.nn.utils.clip_grad_norm_(p, 2.0).clone())
            optimizer.step()
            for k in range(2):
                after[k].append(p[k].detach().clone())
        for k in range(2):
            tensors[f"{name}.after{k}"] = torch.stack(after[k])
        if norms:
            tensors[f"{name}.norms"] = torch.stack(norms)
    write_muon(start, gradients, tensors)
    write_average(start, gradients, tensors)
    save_file(tensors, os.path.join(directory, "optimizers.safetensors"))


def write_muon(start, gradients, tensors):
    """Muon for the matrix (and for its transpose, tall), AdamW for the vector. Skips PyTorch's
    rounding to bfloat16, so that all is float64."""
    keep = torch.Tensor.bfloat16
    torch.Tensor.bfloat16 = lambda self: self.clone()
    options = {"muon": {}, "muon_plain": {"nesterov": False, "weight_decay": 0.3},
               "muon_tall": {"momentum": 0.8}}
    for name, extra in options.items():
        turned = (lambda t: t.transpose(-1, -2)) if name == "muon_tall" else (lambda t: t)
        p = [turned(start[0]).clone().requires_grad_(), start[1].clone().requires_grad_()]
        made = [torch.optim.Muon(p[:1], lr=0.1, **{"weight_decay": 0.0, **extra}),
                torch.optim.AdamW(p[1:], lr=0.05, weight_decay=extra.get("weight_decay", 0.0))]
        after = [], []
        for step in range(10):
            for k in range(2):
                g = gradients[k][step]
                p[k].grad = (turned(g) if k == 0 else g).clone()
                made[k].step()
                after[k].append(p[k].detach().clone())
        for k in range(2):
            tensors[f"{name}.after{k}"] = torch.stack(after[k])
    torch.Tensor.bfloat16 = keep


def write_average(start, gradients, tensors):
    """torch.optim.swa_utils.AveragedModel with decay 0.8, for a parameter trained by SGD."""
    model = torch.nn.ParameterList([start[0].clone()])
    average = torch.optim.swa_utils.AveragedModel(
        model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.8))
    optimizer, after = torch.optim.SGD(model.parameters(), lr=0.1), []
    for step in range(10):
        model[0].grad = gradients[0][step].clone()
        torch.nn.utils.clip_grad_value_(model.parameters(), 0.5)
        optimizer.step()
        average.update_parameters(model)
        after.append(average.module[0].detach().clone())
    tensors["average.after0"] = torch.stack(after)


def write_schedules(directory):
    """Factors of 25 steps: 5 of warm-up, down to 0.1 at step 20, and constant afterwards."""
    s = torch.optim.lr_scheduler

    def factors(make):
        optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        schedule, out = make(optimizer), []
        for _ in range(25):
            out.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            schedule.step()
        return out

    def after_warmup(later):
        def make(optimizer):
            warmup = s.LinearLR(optimizer, start_factor=1 / 5, total_iters=4)
            return s.SequentialLR(optimizer, [warmup, later(optimizer)], milestones=[5])
        return make

    down = factors(after_warmup(lambda o: s.LinearLR(o, 1.0, 0.1, total_iters=15)))
    cosine = factors(after_warmup(lambda o: s.CosineAnnealingLR(o, T_max=15, eta_min=0.1)))[:21]
    with open(os.path.join(directory, "schedules.json"), "w", encoding="ascii") as file:
        json.dump({"warmup_linear": down, "warmup_cosine": cosine}, file, indent=1)


def main():
    (directory,) = sys.argv[1:]
    os.makedirs(directory, exist_ok=True)
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(11)
    write_cases(directory)
    write_optimizers(directory)
    write_schedules(directory)


if __name__ == "__main__":
    main()
