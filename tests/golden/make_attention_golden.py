#!/usr/bin/env python3
"""Writes attention_*.safetensors: the attention modules computed by PyTorch.

One file a module, f64. It holds the parameters under their state_dict names
("weight.NAME"), the inputs ("x", "memory" where there is one, "grad_out"), and
for each mask what PyTorch makes of them: "MASK.out", "MASK.weights",
"MASK.grad.x", "MASK.grad.memory" and "MASK.grad.NAME". The modules are plain
torch.nn modules; every mask is an explicit matrix, because torch's is_causal
aligns at the first query and key. Needs torch and safetensors from PyPI.

  python3 tests/golden/make_attention_golden.py
"""
import os

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import nn

torch.set_default_dtype(torch.float64)
HERE = os.path.dirname(os.path.abspath(__file__))


def visible(mask, queries, keys):
    distance = torch.arange(queries)[:, None] + keys - queries - torch.arange(keys)
    if mask == "none":
        return torch.ones(queries, keys, dtype=torch.bool)
    if mask == "causal":
        return distance >= 0
    return (distance >= 0) & (distance < int(mask.removeprefix("window:")))


def attend(q, k, v, seen):
    """softmax(q kᵀ/√d) v over what is seen; 0 where that is nothing."""
    some = seen.any(-1, keepdim=True)
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    scores = scores.masked_fill(~seen & some, float("-inf"))
    weights = scores.softmax(-1) * some
    out = weights @ v
    theirs = F.scaled_dot_product_attention(q, k, v, attn_mask=seen | ~some)
    assert torch.allclose(out, theirs * some, rtol=1e-12, atol=1e-14)
    return out, weights


class SelfAttention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)

    def forward(self, x, mask):
        seen = visible(mask, x.shape[1], x.shape[1])
        return attend(self.query(x), self.key(x), self.value(x), seen)


def split(x, parts, heads):
    """(B,T,parts·D) -> parts tensors (B,H,T,d)."""
    b, t, width = x.shape
    return x.view(b, t, parts, heads, width // parts // heads).permute(2, 0, 3, 1, 4)


def join(x):
    return x.transpose(1, 2).flatten(2)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out_proj = nn.Linear(width, width)

    def forward(self, x, mask):
        q, k, v = split(self.qkv(x), 3, self.heads)
        out, weights = attend(q, k, v, visible(mask, x.shape[1], x.shape[1]))
        return self.out_proj(join(out)), weights


class CrossAttention(nn.Module):
    def __init__(self, width, heads, kv_width):
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.kv = nn.Linear(kv_width, 2 * width)
        self.out_proj = nn.Linear(width, width)

    def forward(self, x, mask, memory):
        (q,) = split(self.query(x), 1, self.heads)
        k, v = split(self.kv(memory), 2, self.heads)
        out, weights = attend(q, k, v, visible(mask, x.shape[1], memory.shape[1]))
        return self.out_proj(join(out)), weights


class TinyGPTBlock(nn.Module):
    def __init__(self, width, heads, hidden):
        super().__init__()
        self.ln1 = nn.LayerNorm(width)
        self.attn = MultiHeadSelfAttention(width, heads)
        self.ln2 = nn.LayerNorm(width)
        self.ff = nn.Sequential(
            nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, width)
        )

    def forward(self, x, mask):
        attended, weights = self.attn(self.ln1(x), mask)
        x = x + attended
        return x + self.ff(self.ln2(x)), weights


def write(name, module, x, memory=None, masks=("none", "causal", "window:3")):
    # Random norms and biases too, so that no term hides another.
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.5)
    inputs = {"x": x} if memory is None else {"x": x, "memory": memory}
    grad_out = torch.randn_like(x)
    out = {**inputs, "grad_out": grad_out}
    for key, tensor in module.state_dict().items():
        out["weight." + key] = tensor
    for mask in masks:
        leaves = {key: t.clone().requires_grad_() for key, t in inputs.items()}
        module.zero_grad()
        y, weights = module(leaves["x"], mask, *list(leaves.values())[1:])
        y.backward(grad_out)
        out[mask + ".out"], out[mask + ".weights"] = y, weights
        for key, tensor in [*leaves.items(), *module.named_parameters()]:
            out[mask + ".grad." + key] = tensor.grad.clone()
    out = {key: tensor.detach().contiguous() for key, tensor in out.items()}
    save_file(out, os.path.join(HERE, f"attention_{name}.safetensors"))


torch.manual_seed(1)
write("self", SelfAttention(6), torch.randn(2, 5, 6))
write("multi_head", MultiHeadSelfAttention(8, 4), torch.randn(2, 5, 8))
write(
    "cross", CrossAttention(8, 2, 6), torch.randn(2, 3, 8), torch.randn(2, 7, 6)
)
# More queries than keys: under causal the first see nothing.
write(
    "cross_long", CrossAttention(6, 3, 6), torch.randn(1, 7, 6), torch.randn(1, 4, 6)
)
write("block", TinyGPTBlock(8, 2, 12), torch.randn(2, 5, 8))
