"""Is this the derivative of that function?

    report = gradus_check.check(softmax, softmax_vjp, x)      # functions of NumPy arrays
    report = gradus_check.torch(MyFunction.apply, x, w)       # of torch tensors; modules too
    print(report)
    assert report                                             # true where the verdict is PASS

docs/checking_from_python.md shows the rest.
"""
from ._arrays import check, jacobian
from ._report import Report

__all__ = ["Report", "check", "jacobian", "torch"]


def torch(function, *inputs, **options):
    """Checks the gradients of a torch function or module: see gradus_check._torch.check_torch."""
    from ._torch import check_torch  # here: torch is not needed for the rest
    return check_torch(function, *inputs, **options)
