import jax.numpy as jnp
import numpy
import torch
from tensorcircuit.backends import jax_ops, pytorch_ops

random = numpy.random.default_rng(0)
for shape in ((3, 3), (4, 3), (3, 4)):
    a = random.standard_normal(shape)
    jax_ops.adaware_svd(jnp.asarray(a))
    jax_ops.adaware_qr(jnp.asarray(a))
    pytorch_ops.torchqr.apply(torch.tensor(a, requires_grad=True))
    if shape == (3, 3):
        jax_ops.adaware_eigh(jnp.asarray(a + a.T))
