"""The tests of faulty_package. They pass, because they check no derivative."""
import faulty_package as package
import torch


def test_values():
    x = torch.arange(1.0, 7.0).reshape(2, 3).requires_grad_()
    assert package.Square.apply(x)[1, 2] == 36
    assert package.Padded.apply(x, "zero").shape == (2, 5)
    assert package.Constant.apply(x).shape == (2, 3)
    assert package.Clamped.apply(x).shape == (2, 3)
    assert package.cube(x)[1, 0] == 64
    assert package.Crash.apply(x).shape == (2, 3)


def test_the_network_is_off():
    import socket
    try:
        socket.create_connection(("127.0.0.1", 9), 1)
    except OSError:
        return
    assert False, "connected"
