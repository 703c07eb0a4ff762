"""Writes optim.txt: steps of PyTorch's AdamW and SGD in f64, for optim_test.

A run begins with its options: adamw lr beta1 beta2 eps weight_decay 0, or
sgd lr momentum dampening 0 weight_decay nesterov. Run with PyPI's torch:
    python tests/golden/make_optim_golden.py > tests/golden/optim.txt
"""

import torch

N, STEPS = 19, 4


def line(word, values):
    print(word, " ".join(v.hex() for v in values.tolist()))


def run(header, make):
    print(header)
    w = torch.nn.Parameter(torch.randn(N, dtype=torch.float64))
    line("start", w.detach())
    optimizer = make([w])
    for _ in range(STEPS):
        w.grad = torch.randn(N, dtype=torch.float64)
        line("gradient", w.grad)
        optimizer.step()
        line("weight", w.detach())


def adamw(lr, beta1, beta2, eps, decay):
    run(f"adamw {lr} {beta1} {beta2} {eps} {decay} 0",
        lambda p: torch.optim.AdamW(p, lr=lr, betas=(beta1, beta2), eps=eps,
                                    weight_decay=decay, foreach=False))


def sgd(lr, momentum, dampening, decay, nesterov):
    run(f"sgd {lr} {momentum} {dampening} 0 {decay} {int(nesterov)}",
        lambda p: torch.optim.SGD(p, lr=lr, momentum=momentum,
                                  dampening=dampening, weight_decay=decay,
                                  nesterov=nesterov, foreach=False))


print("# torch", torch.__version__.split("+")[0])
torch.manual_seed(1)
adamw(1e-3, 0.9, 0.999, 1e-8, 0.01)
adamw(5e-2, 0.9, 0.95, 1e-8, 0.1)
adamw(1e-2, 0.5, 0.99, 1e-3, 0.0)
sgd(0.1, 0.0, 0.0, 0.0, False)
sgd(0.1, 0.9, 0.0, 0.0, False)
sgd(0.1, 0.9, 0.3, 0.05, False)
sgd(0.1, 0.9, 0.0, 0.05, True)
