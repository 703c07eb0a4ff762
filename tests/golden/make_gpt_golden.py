#!/usr/bin/env python3
"""Writes gpt_*.safetensors: small GPTs computed by PyTorch in f64.

Each file holds the weights under nanoGPT's names ("weight.NAME"), ids and
targets, and what PyTorch makes of them: logits, the mean loss, and every
gradient ("grad.NAME"). The model is written out in plain torch operations with
an explicit mask. Needs torch and safetensors from PyPI.

  python3 tests/golden/make_gpt_golden.py
"""
import os

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

torch.set_default_dtype(torch.float64)
HERE = os.path.dirname(os.path.abspath(__file__))
V, T, D, H, L, B = 11, 6, 8, 2, 2, 3

ACTIVATIONS = {
    "relu": F.relu,
    "gelu-tanh": lambda x: F.gelu(x, approximate="tanh"),
    "gelu-erf": F.gelu,
}


def make_weights(biases, tied, head_bias):
    """Random weights, norms included, so that no term hides another."""
    shapes = {"transformer.wte.weight": (V, D), "transformer.wpe.weight": (T, D)}
    some, every = biases != "none", biases == "all"
    for l in range(L):
        p = f"transformer.h.{l}."
        for norm in ("ln_1", "ln_2"):
            shapes[p + norm + ".weight"] = (D,)
            if some:
                shapes[p + norm + ".bias"] = (D,)
        for name, out, inp, bias in (
            ("attn.c_attn", 3 * D, D, every),
            ("attn.c_proj", D, D, some),
            ("mlp.c_fc", 4 * D, D, some),
            ("mlp.c_proj", D, 4 * D, some),
        ):
            shapes[p + name + ".weight"] = (out, inp)
            if bias:
                shapes[p + name + ".bias"] = (out,)
    shapes["transformer.ln_f.weight"] = (D,)
    if some:
        shapes["transformer.ln_f.bias"] = (D,)
    if not tied:
        shapes["lm_head.weight"] = (V, D)
    if head_bias:
        shapes["lm_head.bias"] = (V,)
    return {n: (torch.randn(s) * 0.5).requires_grad_() for n, s in shapes.items()}


def forward(w, ids, activation):
    t = ids.shape[1]
    hidden = torch.ones(t, t, dtype=torch.bool).triu(1)
    x = w["transformer.wte.weight"][ids] + w["transformer.wpe.weight"][:t]

    def norm(x, name):
        return F.layer_norm(x, (D,), w[name + ".weight"], w.get(name + ".bias"), 1e-5)

    def linear(x, name):
        return F.linear(x, w[name + ".weight"], w.get(name + ".bias"))

    for l in range(L):
        p = f"transformer.h.{l}."
        qkv = linear(norm(x, p + "ln_1"), p + "attn.c_attn")
        q, k, v = (
            part.view(B, t, H, D // H).transpose(1, 2) for part in qkv.split(D, dim=2)
        )
        scores = (q @ k.transpose(-2, -1)) / (D // H) ** 0.5
        weights = scores.masked_fill(hidden, float("-inf")).softmax(-1)
        z = (weights @ v).transpose(1, 2).reshape(B, t, D)
        x = x + linear(z, p + "attn.c_proj")
        h = ACTIVATIONS[activation](linear(norm(x, p + "ln_2"), p + "mlp.c_fc"))
        x = x + linear(h, p + "mlp.c_proj")
    x = norm(x, "transformer.ln_f")
    head = w.get("lm_head.weight", w["transformer.wte.weight"])
    return F.linear(x, head, w.get("lm_head.bias"))


def write(name, biases, tied, head_bias, activation, seed):
    torch.manual_seed(seed)
    w = make_weights(biases, tied, head_bias)
    ids = torch.randint(V, (B, T))
    targets = torch.randint(V, (B, T))
    targets[0, 2] = targets[2, 5] = -1
    logits = forward(w, ids, activation)
    loss = F.cross_entropy(logits.view(-1, V), targets.view(-1), ignore_index=-1)
    loss.backward()
    out = {"ids": ids, "targets": targets, "logits": logits, "loss": loss}
    for n, tensor in w.items():
        out["weight." + n] = tensor
        out["grad." + n] = tensor.grad
    out = {n: tensor.detach().contiguous() for n, tensor in out.items()}
    save_file(out, os.path.join(HERE, f"gpt_{name}.safetensors"))


write("gpt2", "all", True, False, "gelu-tanh", 1)
write("nanogpt", "none", True, False, "gelu-erf", 2)
write("lecture", "all-but-qkv", False, True, "relu", 3)
