import torch
import torchsde


class Equation(torch.nn.Module):
    noise_type, sde_type = "diagonal", "stratonovich"

    def __init__(self):
        super().__init__()
        self.a = torch.nn.Parameter(torch.tensor(0.3))

    def f(self, t, y):
        return -self.a * y

    def g(self, t, y):
        return 0.1 * self.a.expand_as(y)


torchsde.sdeint_adjoint(Equation(), torch.full((2, 3), 0.5, requires_grad=True), torch.linspace(0, 1, 3), dt=0.1,
                        method="midpoint")
