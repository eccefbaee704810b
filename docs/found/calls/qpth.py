import torch
from qpth.qp import QPFunction

L, none = torch.randn(3, 3), torch.Tensor()
Q, p = (L @ L.T + torch.eye(3)).requires_grad_(), torch.randn(3, requires_grad=True)
G, h = torch.randn(2, 3, requires_grad=True), (torch.rand(2) + 1).requires_grad_()
A, b = torch.randn(1, 3, requires_grad=True), torch.randn(1, requires_grad=True)
QPFunction(verbose=-1)(Q, p, G, h, A, b)
QPFunction(verbose=-1)(Q, p, G, h, none, none)
