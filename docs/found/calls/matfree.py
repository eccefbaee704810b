import jax.numpy as jnp
import numpy
from matfree import decomp

random = numpy.random.default_rng(0)
A, v = random.standard_normal((5, 5)), random.standard_normal(5)
A = jnp.asarray(A @ A.T + numpy.eye(5))
for make in (decomp.tridiag_sym, decomp.hessenberg):
    for reortho in ("none", "full"):
        make(3, reortho=reortho, custom_vjp=True)(lambda s, p: p @ s, jnp.asarray(v), A)
