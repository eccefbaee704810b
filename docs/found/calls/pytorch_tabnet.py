import torch
from pytorch_tabnet import sparsemax

x = torch.randn(3, 5, requires_grad=True)
for axis in (-1, 0, 1):
    sparsemax.sparsemax(x * 1.0, axis)
    sparsemax.Entmax15Function.apply(x, axis)
