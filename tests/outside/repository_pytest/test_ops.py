"""Checks gradients with the fixture of gradus_check's pytest plugin."""
import ops


def test_tanh(gradcheck):
    gradcheck(ops.tanh, ops.tanh_backward, [0.5, -1.25, 2.0])


def test_square(gradcheck):
    gradcheck(ops.square, ops.square_backward, [0.5, -1.25, 2.0])
