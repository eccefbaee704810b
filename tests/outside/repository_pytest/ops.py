"""The gradients that this repository tests."""
import math


def tanh(x):
    return [math.tanh(v) for v in x]


def tanh_backward(x, dy):
    return [d * (1 - math.tanh(v)**2) for v, d in zip(x, dy)]


def square(x):
    return [v * v for v in x]


def square_backward(x, dy):
    return [v * d for v, d in zip(x, dy)]  # wrong: a factor of 2 is missing
