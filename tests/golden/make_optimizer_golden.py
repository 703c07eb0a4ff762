"""Writes optimizer.txt: PyTorch's optimizers over several steps, for optimizer_test.

A case line names the optimizer and its options; "clip" is clip_grad_norm_ over
all gradients before each step. Two parameters, a (3,4) and b (5), begin at and
get gradients from start() and gradient(), exact in f32; the decay of b is "wd_b".
Then, for some steps, the norm before clipping and both parameters, in f64.
    python tests/golden/make_optimizer_golden.py > tests/golden/optimizer.txt
"""

import torch


def start(n, salt):
    return [((i * 5 + salt) % 9 - 4) / 4 for i in range(n)]


def gradient(n, salt, step):
    return [((i * 7 + step * 13 + salt) % 11 - 5) / 8 for i in range(n)]


def rate(lr, step):  # changes with the step, as a schedule's does
    return lr / (1 + step % 3)


def run(kind, lr=0.1, clip=0.0, wd=0.0, wd_b=0.0, **options):
    words = dict(lr=lr, clip=clip, wd=wd, wd_b=wd_b, **options)
    print("case", kind, *(f"{k}={float(v)!r}" for k, v in words.items()))
    a = torch.tensor(start(12, 0), dtype=torch.float64).reshape(3, 4)
    b = torch.tensor(start(5, 3), dtype=torch.float64)
    groups = [{"params": [a], "weight_decay": wd},
              {"params": [b], "weight_decay": wd_b}]
    for p in (a, b):
        p.requires_grad_()
    if kind == "adamw":
        betas = options.pop("beta1", 0.9), options.pop("beta2", 0.999)
        optimizer = torch.optim.AdamW(groups, lr=lr, betas=betas, **options)
    else:
        options["nesterov"] = bool(options.get("nesterov", False))
        optimizer = torch.optim.SGD(groups, lr=lr, **options)
    for step in range(10):
        a.grad = torch.tensor(gradient(12, 0, step), dtype=torch.float64).reshape(3, 4)
        b.grad = torch.tensor(gradient(5, 2, step), dtype=torch.float64)
        norm = torch.nn.utils.clip_grad_norm_([a, b], clip if clip else float("inf"))
        for group in optimizer.param_groups:
            group["lr"] = rate(lr, step)
        optimizer.step()
        if step in (0, 1, 2, 9):
            values = [float(norm)] + a.flatten().tolist() + b.tolist()
            print("step", step, *(v.hex() for v in values))


print("# torch", torch.__version__.split("+")[0])
run("adamw")
run("adamw", wd=0.1, wd_b=0.1)
run("adamw", lr=0.003, wd=0.1, beta1=0.9, beta2=0.95)
run("adamw", lr=0.5, clip=0.7, wd=0.01, beta1=0.8, beta2=0.99, eps=1e-3)
run("adamw", clip=100.0, wd=0.3)
run("adamw", beta1=0.0, beta2=0.0)
run("sgd")
run("sgd", wd=0.1, wd_b=0.1)
run("sgd", momentum=0.9)
run("sgd", momentum=0.9, wd=0.1, clip=0.5)
run("sgd", momentum=0.8, nesterov=1, wd=0.1, wd_b=0.1)
