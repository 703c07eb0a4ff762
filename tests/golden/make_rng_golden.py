"""Writes rng.txt: draws of PyTorch's CPU generator, in order, for torch_rng_test.

Each line is a call and, after the colon, its result (of long ones the last
eight values). "seed S" starts anew. Run with PyPI's torch: the numbers printed
in the file are from the version named on its first line.
    python tests/golden/make_rng_golden.py > tests/golden/rng.txt
"""

import torch

TYPES = {"f32": torch.float32, "f64": torch.float64}


def show(call, values):
    shown = [v.hex() if isinstance(v, float) else str(v) for v in values[-8:]]
    print(call, ":", " ".join(shown))


def seed(value):
    torch.manual_seed(value)
    print("seed", value)


def fill(kind, dtype, n, *args):
    out = torch.empty(n, dtype=TYPES[dtype])
    if kind == "uniform":
        out.uniform_(*args)
    else:
        out.normal_(*args)
    show(" ".join(map(str, (kind, dtype, n) + args)), out.tolist())


def randint(n):
    show(f"randint {n}", torch.randint(0, n, (1,)).tolist())


def randperm(n):
    show(f"randperm {n}", torch.randperm(n).tolist())


def random63():
    show("random63", [int(torch.empty((), dtype=torch.int64).random_())])


def bernoulli(p, n):
    # A tensor of f64 probabilities: the scalar form is MKL's on Intel.
    drawn = torch.bernoulli(torch.full((n,), p, dtype=torch.float64))
    show(f"bernoulli {p} {n}", [int(x) for x in drawn])


def linear(fan_in, fan_out):
    layer = torch.nn.Linear(fan_in, fan_out)
    show(f"linear {fan_in} {fan_out}",
         layer.weight.flatten().tolist()[-4:] + layer.bias.tolist()[-4:])


def embedding(rows, width):
    layer = torch.nn.Embedding(rows, width)
    show(f"embedding {rows} {width}", layer.weight.flatten().tolist())


print("# torch", torch.__version__.split("+")[0])
for s in (0, 42, 2147483647, 2**32 - 1, 2**40 + 3407):
    seed(s)
    fill("uniform", "f32", 5, 0.0, 1.0)
    fill("uniform", "f64", 5, 0.0, 1.0)
    fill("uniform", "f32", 1000, -0.37, 1.91)
    fill("uniform", "f64", 700, -0.37, 1.91)
    # An odd count leaves the second of a pair behind: the next call takes it,
    # whatever is drawn in between.
    fill("normal", "f64", 3, 0.0, 1.0)
    randint(27)
    fill("normal", "f32", 2, 0.5, 2.0)
    fill("normal", "f32", 15, 0.0, 1.0)
    for n in (16, 17, 31, 32, 4096):
        fill("normal", "f32", n, 0.0, 1.0)
        fill("normal", "f64", n, 0.0, 1.0)
    fill("normal", "f32", 100, 0.1, 0.02)
    fill("normal", "f64", 100, 0.1, 0.02)
    fill("uniform", "f32", 0, 0.0, 1.0)
    for n in (1, 2, 10, 2**28 - 1, 2**28, 2**31, 2**32 - 1, 2**32, 2**40 + 1):
        randint(n)
    for n in (0, 1, 2, 3, 8, 1000):
        randperm(n)
    random63()
    bernoulli(0.3, 8)
    bernoulli(0.0, 2)
    bernoulli(1.0, 2)
    linear(7, 5)
    linear(64, 3)
    embedding(3, 4)
    embedding(9, 5)
    fill("uniform", "f32", 1, 0.0, 1.0)
