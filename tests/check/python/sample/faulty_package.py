"""A package with hand-written derivatives, some of them wrong, for test_hunt.py."""
import torch


class Square(torch.autograd.Function):
    """Correct."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, dy):
        return 2 * ctx.saved_tensors[0] * dy


class Padded(torch.autograd.Function):
    """Correct in the mode that its tests use."""

    @staticmethod
    def forward(ctx, x, mode):
        ctx.mode = mode
        if mode == "zero":
            return torch.nn.functional.pad(x, (1, 1))
        if mode == "reflect":
            return torch.cat([x[..., 1:2], x, x[..., -2:-1]], -1)
        raise ValueError(mode)

    @staticmethod
    def backward(ctx, dy):
        return dy[..., 1:-1], None


class Constant(torch.autograd.Function):
    """The second derivative misses the saved exponential."""

    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        derivative = y.clone()
        ctx.save_for_backward(derivative)
        return y

    @staticmethod
    def backward(ctx, dy):
        return ctx.saved_tensors[0] * dy


class Clamped(torch.autograd.Function):
    """Wrong only where x is exactly 0."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x.abs().sqrt()

    @staticmethod
    def backward(ctx, dy):
        x, = ctx.saved_tensors
        return dy * 1.5 * x.abs() / x.abs().sqrt()


class Crash(torch.autograd.Function):
    """Ends the process."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, dy):
        import os
        os._exit(3)


class NeverCalled(torch.autograd.Function):
    """No test calls it, but its signature suffices."""

    @staticmethod
    def forward(ctx, x, scale=2.0):
        ctx.scale = scale
        return x * scale

    @staticmethod
    def backward(ctx, dy):
        return dy * (ctx.scale + 1), None


@torch.library.custom_op("faulty::cube", mutates_args=())
def cube(x: torch.Tensor) -> torch.Tensor:
    """A custom op whose gradient lacks a factor of 3."""
    return x**3


cube.register_autograd(lambda ctx, dy: dy * ctx.saved_tensors[0]**2,
                       setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
