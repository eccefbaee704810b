#!/usr/bin/env python3
"""Writes defaults.json: PyTorch's default options. Needs torch; the tests do not."""
import inspect
import json
import pathlib

import torch
from torch import nn
from torch.nn import functional as F

OF = {
    "SGD": torch.optim.SGD, "Adam": torch.optim.Adam, "AdamW": torch.optim.AdamW, "Linear": nn.Linear,
    "LayerNorm": nn.LayerNorm, "BatchNorm1d": nn.BatchNorm1d, "Embedding": nn.Embedding, "Conv1d": nn.Conv1d,
    "MultiheadAttention": nn.MultiheadAttention, "cross_entropy": F.cross_entropy, "huber_loss": F.huber_loss,
    "mse_loss": F.mse_loss, "kl_div": F.kl_div, "gelu": nn.GELU, "leaky_relu": F.leaky_relu, "elu": F.elu,
    "layer_norm": F.layer_norm, "clip_grad_norm": torch.nn.utils.clip_grad_norm_,
}


def main():
    defaults = {}
    for name, what in OF.items():
        for parameter in inspect.signature(what).parameters.values():
            value = parameter.default
            if isinstance(value, (bool, int, float, str, tuple)) or value is None:
                defaults[f"{name}.{parameter.name}"] = value
    text = json.dumps({"torch": torch.__version__.split("+")[0], **defaults}, indent=1)
    (pathlib.Path(__file__).parent / "defaults.json").write_text(text + "\n", encoding="utf-8")


main()
