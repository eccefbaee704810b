#!/usr/bin/env python3
"""The training step of bench_step.cpp in JAX, compiled by jit with donated state.

  jax_step.py --config cpu [--dropout P] [--threads N] [--steps N] [--rounds N] [--serve]

XLA uses as many threads as the process has cores, so --threads sets the cores. Needs jax.
"""
import os

from step_peer import SIZES, parse, report


def build(flags):
    """Returns the step as a closure that returns the loss."""
    import jax
    import jax.numpy as jnp

    layers, heads, width, context, batch, vocab = SIZES[flags.config]
    keys = iter(jax.random.split(jax.random.key(1), 4 * layers + 8))

    def normal(*shape):
        return 0.02 * jax.random.normal(next(keys), shape)

    def norm_of():
        return {"weight": jnp.ones(width), "bias": jnp.zeros(width)}

    def linear_of(inputs, outputs):
        return {"weight": normal(inputs, outputs), "bias": jnp.zeros(outputs)}

    weights = {"token": normal(vocab, width), "position": normal(context, width), "norm": norm_of(),
               "blocks": [{"norm1": norm_of(), "qkv": linear_of(width, 3 * width), "out": linear_of(width, width),
                           "norm2": norm_of(), "up": linear_of(width, 4 * width), "down": linear_of(4 * width, width)}
                          for _ in range(layers)]}

    def norm(p, x):
        x = x - x.mean(-1, keepdims=True)
        return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * p["weight"] + p["bias"]

    def linear(p, x):
        return x @ p["weight"] + p["bias"]

    def dropout(x, key):
        if flags.dropout == 0:
            return x
        return jnp.where(jax.random.bernoulli(key, 1 - flags.dropout, x.shape), x / (1 - flags.dropout), 0)

    causal = jnp.tril(jnp.ones((context, context), bool))

    def attend(p, x, key):
        q, k, v = (part.reshape(batch, context, heads, width // heads) for part in
                   jnp.split(linear(p["qkv"], x), 3, -1))
        scores = jnp.einsum("bthd,bshd->bhts", q, k) / (width // heads) ** 0.5
        attention = dropout(jax.nn.softmax(jnp.where(causal, scores, -jnp.inf)), key)
        return linear(p["out"], jnp.einsum("bhts,bshd->bthd", attention, v).reshape(batch, context, width))

    def loss_of(weights, ids, targets, key):
        first, *others = jax.random.split(key, 3 * layers + 1)
        x = dropout(weights["token"][ids] + weights["position"], first)
        for p in weights["blocks"]:
            one, two, three, *others = others
            x = x + dropout(attend(p, norm(p["norm1"], x), one), two)
            x = x + dropout(linear(p["down"], jax.nn.gelu(linear(p["up"], norm(p["norm2"], x)))), three)
        logits = norm(weights["norm"], x) @ weights["token"].T
        right = jnp.take_along_axis(logits, targets[..., None], -1)[..., 0]
        return (jax.nn.logsumexp(logits, -1) - right).mean()

    def train(weights, first, second, count, ids, targets, key):
        """AdamW with b1 0.9, b2 0.999, rate 1e-3 and decay 1e-2. Clips gradients to a norm of 1."""
        loss, grads = jax.value_and_grad(loss_of)(weights, ids, targets, key)
        length = jnp.sqrt(sum((g * g).sum() for g in jax.tree.leaves(grads)))
        grads = jax.tree.map(lambda g: g * jnp.minimum(1, 1 / (length + 1e-6)), grads)
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, grads)
        second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, grads)
        unbias1, unbias2 = 1 - 0.9 ** count, 1 - 0.999 ** count
        weights = jax.tree.map(
            lambda w, m, v: w * (1 - 1e-5) - 1e-3 * m / unbias1 / (jnp.sqrt(v / unbias2) + 1e-8), weights, first, second)
        return weights, first, second, loss

    compiled = jax.jit(train, donate_argnums=(0, 1, 2))
    ids, targets = jax.random.randint(next(keys), (2, batch, context), 0, vocab)
    zeros = jax.tree.map(jnp.zeros_like, weights)
    state = [weights, zeros, jax.tree.map(jnp.zeros_like, weights)]
    count = 0

    def step():
        nonlocal count
        count += 1
        *state[:], loss = compiled(*state, float(count), ids, targets, jax.random.key(count))
        return float(loss)

    return step


def main():
    flags = parse(__doc__)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:flags.threads])
    import jax

    report(flags, f"jax {jax.__version__}", lambda: build(flags))


if __name__ == "__main__":
    main()
