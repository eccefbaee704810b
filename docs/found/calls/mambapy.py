import torch
from mambapy.pscan import pscan

for length in (1, 2, 4, 6, 8, 16):
    A, X = torch.rand(2, length, 3, 2, requires_grad=True), torch.randn(2, length, 3, 2, requires_grad=True)
    pscan(A, X)
