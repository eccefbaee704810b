#!/usr/bin/env python3
"""The peer of bench_decode --serve: transformers on the same model, f32, eager. "tokens times" a line of the input."""
import argparse
import os
import sys
import time

import torch
import transformers

parser = argparse.ArgumentParser()
parser.add_argument("--model", required=True)
parser.add_argument("--threads", type=int, required=True)
parser.add_argument("--serve", action="store_true")
flags = parser.parse_args()
torch.set_num_threads(flags.threads)
transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
folder, name = os.path.split(flags.model)
where = {"gguf_file": name} if name.endswith(".gguf") else {}
model = transformers.AutoModelForCausalLM.from_pretrained(
    folder if where else flags.model, dtype=torch.float32, attn_implementation="eager", **where).eval()
print("ready", flush=True)
for line in sys.stdin:
    tokens, times = map(int, line.split())
    ids = torch.randint(model.config.vocab_size, (1, tokens))
    took = []
    for _ in range(times):
        start = time.perf_counter()
        with torch.no_grad():
            model(ids, use_cache=False)
        took.append(f"{1e3 * (time.perf_counter() - start):.3f}")
    print(" ".join(took), flush=True)
