#!/usr/bin/env python3
"""The peer of bench_decode --serve: transformers on the same model, f32, eager, with the same lines of input."""
import os

import decode_peer
import torch
import transformers


def main():
    flags = decode_peer.parse()
    torch.set_num_threads(flags.threads)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    folder, name = os.path.split(flags.model)
    where = {"gguf_file": name} if name.endswith(".gguf") else {}
    model = transformers.AutoModelForCausalLM.from_pretrained(
        folder if where else flags.model, dtype=torch.float32, attn_implementation="eager", **where).eval()

    def prompt(tokens, cache=None):
        ids = torch.randint(model.config.vocab_size, (1, tokens))
        return model(ids, past_key_values=cache, use_cache=cache is not None)

    def after(tokens):
        cache = transformers.DynamicCache()
        prompt(tokens, cache)
        return lambda: prompt(1, cache)

    with torch.no_grad():
        decode_peer.serve(lambda tokens: lambda: prompt(tokens), after)


if __name__ == "__main__":
    main()
