"""Checks gradients against finite differences.

    report = gradus_check.check(softmax, softmax_vjp, x)      # functions of NumPy arrays
    report = gradus_check.torch(MyFunction.apply, x, w)       # of torch tensors; modules too
    print(report)
    assert report                                             # true if the verdict is PASS

See docs/checking/python.md.
"""
from ._arrays import check, jacobian
from ._report import Report

__all__ = ["Report", "check", "jacobian", "torch"]


def torch(function, *inputs, **options):
    """Checks the gradients of a torch function or module. See gradus_check._torch.check_torch."""
    from ._torch import check_torch  # imported here, because the other checks do not need torch
    return check_torch(function, *inputs, **options)
