import jax.numpy as jnp
import numpy
from flash_attention_jax import causal_flash_attention, flash_attention

random = numpy.random.default_rng(0)
q, k, v = (jnp.asarray(random.standard_normal((1, 2, 6, 4))) for _ in range(3))
mask = jnp.asarray(random.random((1, 6)) > 0.3).at[:, 0].set(True)
flash_attention(q, k, v, mask)
causal_flash_attention(q, k, v)
