"""The faulty ops as torch functions. gradus_faulty_ops_server computes forward and backward. It gets the tensors'
memory layout, and returns writes to that memory and reused buffers."""
import itertools
import math
import os
import subprocess

import torch

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SERVER = os.path.join(ROOT, "build/release/tests/gradus_faulty_ops_server")
DTYPES = {"f32": torch.float32, "f64": torch.float64}
NAMES = {dtype: name for name, dtype in DTYPES.items()}


class FaultyOp:
    def __init__(self, number, line):
        self.name, self.family, self.cause, self.order, self.dtype, inputs = line.split("\t")
        self.number, self.second = number, self.order == "2"
        self.inputs = []
        for text in inputs.split(";"):
            shape, values = text.split(":")
            self.inputs.append(torch.tensor([float(v) for v in values.split()], dtype=torch.float64).reshape(
                [int(n) for n in shape.split()]).to(DTYPES[self.dtype]))


class Server:
    def __init__(self, program=SERVER):
        self._process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._buffers = {}  # memory of the server's results, by id

    def faulty_ops(self):
        print("list", file=self._process.stdin, flush=True)
        lines = iter(lambda: self._process.stdout.readline().rstrip("\n"), "")
        return [FaultyOp(number, line) for number, line in enumerate(lines)]

    def function(self, faulty):
        """A function of tensors, with the faulty backward."""
        self._buffers = {}
        server = self

        class Function(torch.autograd.Function):
            @staticmethod
            def forward(ctx, recorded, *x):
                ctx.save_for_backward(*x)
                return server.forward(faulty, recorded, x)

            @staticmethod
            @torch.autograd.function.once_differentiable
            def backward(ctx, dy):
                return None, *server.backward(faulty, ctx.needs_input_grad[1:], ctx.saved_tensors, dy)

        def function(*x):
            return Function.apply(torch.is_grad_enabled(), *x)
        function.__name__ = faulty.name
        return function

    def _ask(self, *words):
        print(*words, file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if answer.startswith("error"):
            raise RuntimeError(answer.strip())
        return iter(answer.split())

    @staticmethod
    def _memory(tensors):
        """The flat memory blocks of these tensors, and the request text that describes both."""
        blocks = {t.untyped_storage().data_ptr(): t.untyped_storage() for t in tensors}
        flat = [torch.empty(0, dtype=tensors[0].dtype).set_(storage) for storage in blocks.values()]
        words = [len(flat)]
        for block in flat:
            words += [block.numel(), *(repr(v) for v in block.tolist())]
        at = {address: k for k, address in enumerate(blocks)}
        for t in tensors:
            words += [at[t.untyped_storage().data_ptr()], t.dim(), *t.shape, *t.stride(), t.storage_offset()]
        return flat, words

    def forward(self, faulty, recorded, x):
        answer = self._ask("forward", faulty.number, NAMES[x[0].dtype], int(recorded), *self._memory(x)[1])
        shape = [int(n) for n in itertools.islice(answer, int(next(answer)))]
        return torch.tensor([float(v) for v in answer], dtype=x[0].dtype).reshape(shape)

    def backward(self, faulty, wants, x, dy):
        flat, words = self._memory([*x, dy])
        dtype = dy.dtype
        poison = math.isnan(torch.empty(1, dtype=dtype).item())  # true if torch fills new memory with NaN
        answer = self._ask("backward", faulty.number, NAMES[dtype], "".join(str(int(w)) for w in wants), int(poison),
                           *words)

        def block():
            count = int(next(answer))
            return torch.tensor([float(v) for v in itertools.islice(answer, count)], dtype=dtype)
        for memory in flat:
            now = block()
            if not torch.equal(now.nan_to_num(7.0), memory.nan_to_num(7.0)):
                memory.copy_(now)
        for _ in range(int(next(answer))):
            name, now = next(answer), block()
            if name in self._buffers and self._buffers[name].numel() == now.numel():
                self._buffers[name].copy_(now)
            else:
                self._buffers[name] = now
        return [self._result(answer, flat) for _ in x]

    def _result(self, answer, flat):
        name = next(answer)
        if name == "-1":
            return None
        rank = int(next(answer))
        sizes = [int(next(answer)) for _ in range(rank)]
        strides = [int(next(answer)) for _ in range(rank)]
        memory = flat[int(name)] if int(name) < len(flat) else self._buffers[name]
        return torch.as_strided(memory, sizes, strides, int(next(answer)))
