import jax.numpy as jnp
import numpy
from ott.geometry import pointcloud
from ott.math import matrix_square_root, utils
from ott.solvers import linear

random = numpy.random.default_rng(0)
x = jnp.asarray(random.standard_normal((4, 4)))
matrix_square_root.sqrtm(x @ x.T + jnp.eye(4))
matrix_square_root.sqrtm_only(x @ x.T + jnp.eye(4))
matrix_square_root.inv_sqrtm_only(x @ x.T + jnp.eye(4))
utils.logsumexp(x, axis=0)
utils.norm(x, axis=1)
utils.softmin(x, jnp.asarray(0.7), None)
utils.softmin(x, jnp.asarray(0.7), 0)
linear.solve(pointcloud.PointCloud(x[:, :2], x[:3, 2:], epsilon=0.5))
