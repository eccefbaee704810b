#!/usr/bin/env python3
"""The training step of bench_step.cpp in PyTorch, at its best settings: the peer to compare with.

  pytorch_step.py --config cpu [--mode eager|compiled|max-autotune] [--dropout P] [--threads N] [--serve]

Best settings: fused AdamW, scaled_dot_product_attention, gradients set to None, and tcmalloc if installed
(libtcmalloc-minimal4), with which the script restarts. Needs torch.
"""
import glob
import os
import sys
import tempfile

from step_peer import SIZES, parse, report

MODES = ("eager", "compiled", "max-autotune")
ALLOCATORS = "/usr/lib/*/libtcmalloc_minimal.so.4"


def start_with_allocator():
    """Restarts the script with tcmalloc. If tcmalloc is not installed, prints a warning."""
    found = glob.glob(ALLOCATORS)
    if "LD_PRELOAD" in os.environ:
        return
    if not found:
        print("tcmalloc is not installed, so PyTorch is slower. Run apt-get install libtcmalloc-minimal4", file=sys.stderr)
        return
    os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | {"LD_PRELOAD": found[0]})


def allocator():
    return "tcmalloc" if "tcmalloc" in os.environ.get("LD_PRELOAD", "") else "the system's"


def model_of(torch, sizes, dropout):
    """A GPT whose forward returns the mean loss."""
    nn, F = torch.nn, torch.nn.functional
    layers, heads, width, context, _, vocab = sizes

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def attend(self, x):
            q, k, v = (t.unflatten(-1, (heads, -1)).transpose(1, 2) for t in self.qkv(x).chunk(3, dim=-1))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=dropout if self.training else 0.0)
            return self.out(y.transpose(1, 2).flatten(2))

        def forward(self, x):
            x = x + F.dropout(self.attend(self.norm1(x)), dropout, self.training)
            hidden = F.gelu(self.up(self.norm2(x)), approximate="tanh")
            return x + F.dropout(self.down(hidden), dropout, self.training)

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.token, self.position = nn.Embedding(vocab, width), nn.Embedding(context, width)
            self.blocks = nn.Sequential(*(Block() for _ in range(layers)))
            self.norm = nn.LayerNorm(width)
            for name, parameter in self.named_parameters():
                if name.endswith("bias"):
                    nn.init.zeros_(parameter)
                elif "norm" not in name:
                    nn.init.normal_(parameter, std=0.02)

        def forward(self, ids, targets):
            h = F.dropout(self.token(ids) + self.position.weight, dropout, self.training)
            logits = F.linear(self.norm(self.blocks(h)), self.token.weight)
            return F.cross_entropy(logits.flatten(0, 1), targets.flatten())

    return GPT()


def build(torch, flags):
    """Returns the step as a closure that returns the loss."""
    _, _, _, context, batch, vocab = SIZES[flags.config]
    model = model_of(torch, SIZES[flags.config], flags.dropout)
    if flags.mode != "eager":
        model.compile(mode="default" if flags.mode == "compiled" else flags.mode)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-2, fused=True)
    ids, targets = torch.randint(vocab, (2, batch, context))

    def step():
        loss = model(ids, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.item()

    return step


def main():
    flags = parse(__doc__, MODES)
    # Kernels compiled for another vector width crash.
    width = os.environ.get("ATEN_CPU_CAPABILITY", "default")
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", os.path.join(tempfile.gettempdir(), f"gradus-inductor-{width}"))
    start_with_allocator()
    import torch

    torch.set_num_threads(flags.threads)
    torch.manual_seed(1)
    report(flags, f"pytorch {torch.__version__}", lambda: build(torch, flags), mode=flags.mode,
           allocator=allocator())


if __name__ == "__main__":
    main()
