#!/usr/bin/env python3
"""The peer of bench_decode --serve: llama.cpp on the same GGUF file, with the same lines of input."""
import random

import decode_peer
import llama_cpp


def main():
    flags = decode_peer.parse()
    model = llama_cpp.Llama(flags.model, n_ctx=2048, n_batch=512, n_ubatch=512, n_threads=flags.threads,
                            n_threads_batch=flags.threads, verbose=False)
    next_token = [0]

    def ids(tokens):
        return [random.randrange(model.n_vocab()) for _ in range(tokens)]

    def prompt(tokens):
        text = ids(tokens)

        def call():
            model.reset()
            model.eval(text)
        return call

    def after(tokens):
        prompt(tokens)()
        return lambda: model.eval(next_token)

    decode_peer.serve(prompt, after)


if __name__ == "__main__":
    main()
