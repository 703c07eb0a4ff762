#!/usr/bin/env python3
"""Times in PyTorch what `qkv bench NAME` times: the same sizes, the same work.

  python3 bench/torch_case.py NAME [--seconds S] [--threads N] [--compile]

A training step is a random batch, forward, loss, backward, clipping where the
preset clips, AdamW; attention is scaled_dot_product_attention, with backward
unless the name says forward. Models are built of PyTorch's own modules, written
as one would write them there. Prints one JSON object: ms (median), ms_min,
peak_rss_mb.
"""
import argparse
import json
import re
import resource
import statistics
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


def loss_of(logits, targets):
    return F.cross_entropy(logits.view(-1, logits.size(-1)), targets.reshape(-1))


class Bigram(nn.Module):
    def __init__(self, vocab):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(vocab, vocab))

    def forward(self, ids, targets):
        return loss_of(self.table[ids], targets)


class Mlp(nn.Module):
    def __init__(self, vocab, length, width):
        super().__init__()
        self.length, self.blank = length, vocab
        self.embed = nn.Embedding(vocab + 1, width)
        self.net = nn.Sequential(
            nn.Linear(length * width, width), nn.Tanh(), nn.Linear(width, vocab)
        )

    def forward(self, ids, targets):
        parts, at = [], ids
        for _ in range(self.length):
            parts.append(self.embed(at))
            at = torch.roll(at, 1, 1)
            at[:, 0] = self.blank
        return loss_of(self.net(torch.cat(parts, -1)), targets)


class Bow(nn.Module):
    def __init__(self, vocab, length, width):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.place = nn.Embedding(length, width)
        self.net = nn.Sequential(
            nn.Linear(width, width), nn.Tanh(), nn.Linear(width, width)
        )
        self.head = nn.Linear(width, vocab)
        self.register_buffer("past", torch.tril(torch.ones(length, length)))

    def forward(self, ids, targets):
        t = ids.size(1)
        x = self.embed(ids) + self.place.weight[:t]
        scores = torch.zeros(ids.size(0), t, t)
        scores = scores.masked_fill(self.past[:t, :t] == 0, float("-inf"))
        x = x + F.softmax(scores, -1) @ x
        x = x + self.net(x)
        return loss_of(self.head(x), targets)


class Recurrent(nn.Module):
    def __init__(self, vocab, width, gates):
        super().__init__()
        self.start = nn.Parameter(torch.zeros(1, width))
        self.embed = nn.Embedding(vocab, width)
        self.gates = nn.ModuleList([nn.Linear(2 * width, width) for _ in range(gates)])
        self.head = nn.Linear(width, vocab)

    def step(self, x, h):
        both = torch.cat([x, h], 1)
        if len(self.gates) == 1:
            return torch.tanh(self.gates[0](both))
        z, r = torch.sigmoid(self.gates[0](both)), torch.sigmoid(self.gates[1](both))
        fresh = torch.tanh(self.gates[2](torch.cat([x, r * h], 1)))
        return (1 - z) * h + z * fresh

    def forward(self, ids, targets):
        x = self.embed(ids)
        h, out = self.start.expand(ids.size(0), -1), []
        for t in range(ids.size(1)):
            h = self.step(x[:, t], h)
            out.append(h)
        return loss_of(self.head(torch.stack(out, 1)), targets)


class Block(nn.Module):
    def __init__(self, width, heads, bias, gelu, dropout):
        super().__init__()
        self.heads, self.gelu, self.dropout = heads, gelu, dropout
        self.ln_1 = nn.LayerNorm(width, bias=bias)
        self.c_attn = nn.Linear(width, 3 * width, bias=bias)
        self.c_proj = nn.Linear(width, width, bias=bias)
        self.ln_2 = nn.LayerNorm(width, bias=bias)
        self.c_fc = nn.Linear(width, 4 * width, bias=bias)
        self.mlp_proj = nn.Linear(4 * width, width, bias=bias)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (
            part.view(b, t, self.heads, d // self.heads).transpose(1, 2)
            for part in self.c_attn(self.ln_1(x)).split(d, dim=2)
        )
        z = F.scaled_dot_product_attention(
            q, k, v, is_causal=True, dropout_p=self.dropout
        )
        z = self.c_proj(z.transpose(1, 2).reshape(b, t, d))
        x = x + F.dropout(z, self.dropout)
        h = self.mlp_proj(F.gelu(self.c_fc(self.ln_2(x)), approximate=self.gelu))
        return x + F.dropout(h, self.dropout)


class Gpt(nn.Module):
    def __init__(self, vocab, context, layers, heads, width, bias, gelu, tied, dropout):
        super().__init__()
        self.dropout = dropout
        self.wte = nn.Embedding(vocab, width)
        self.wpe = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(
            [Block(width, heads, bias, gelu, dropout) for _ in range(layers)]
        )
        self.ln_f = nn.LayerNorm(width, bias=bias)
        self.head = nn.Linear(width, vocab, bias=False)
        if tied:  # as GPT-2 begins: wider, the loss would start in the hundreds
            for table in (self.wte, self.wpe):
                nn.init.normal_(table.weight, std=0.02)
            self.head.weight = self.wte.weight

    def forward(self, ids, targets):
        x = F.dropout(self.wte(ids) + self.wpe.weight[: ids.shape[1]], self.dropout)
        for block in self.blocks:
            x = block(x)
        return loss_of(self.head(self.ln_f(x)), targets)


# name: model, vocabulary, tokens a sequence, batch, largest gradient norm
STEPS = {
    "makemore": (lambda: Gpt(27, 16, 4, 4, 64, True, "tanh", False, 0.0), 27, 16, 32, 0),
    "makemore-mlp": (lambda: Mlp(27, 16, 64), 27, 16, 32, 0),
    "makemore-bow": (lambda: Bow(27, 16, 64), 27, 16, 32, 0),
    "makemore-rnn": (lambda: Recurrent(27, 64, 1), 27, 16, 32, 0),
    "makemore-gru": (lambda: Recurrent(27, 64, 3), 27, 16, 32, 0),
    "makemore-bigram": (lambda: Bigram(27), 27, 16, 32, 0),
    "nanogpt-cpu": (lambda: Gpt(65, 64, 4, 4, 128, False, "none", True, 0.0), 65, 64, 12, 1.0),
    "shakespeare-char": (lambda: Gpt(65, 256, 6, 6, 384, False, "none", True, 0.2), 65, 256, 64, 1.0),
    "gpt2-b4-t64": (lambda: Gpt(50257, 1024, 12, 12, 768, True, "tanh", True, 0.0), 50257, 64, 4, 1.0),
    "gpt2-b1-t1024": (lambda: Gpt(50257, 1024, 12, 12, 768, True, "tanh", True, 0.0), 50257, 1024, 1, 1.0),
}


def step_work(name, compiled):
    make, vocab, length, batch, clip = STEPS[name]
    model = make()
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=1e-3, betas=(0.9, 0.99), weight_decay=0.1
    )
    forward = torch.compile(model) if compiled else model

    def run():
        ids = torch.randint(vocab, (batch, length + 1))
        loss = forward(ids[:, :-1].contiguous(), ids[:, 1:])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()

    return run


def attention_work(b, h, t, d, dropout, forward_only):
    packed = torch.randn(b, t, 3 * h * d, requires_grad=not forward_only)
    grad = torch.randn(b, t, h * d)

    def run():
        packed.grad = None
        q, k, v = packed.view(b, t, 3, h, d).permute(2, 0, 3, 1, 4)
        z = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=dropout)
        z = z.transpose(1, 2).reshape(b, t, h * d)
        if not forward_only:
            z.backward(grad)

    return run


def work_of(name, compiled):
    if name in STEPS:
        return step_work(name, compiled)
    match = re.fullmatch(r"attention-b(\d+)-h(\d+)-t(\d+)-d(\d+)(-dropout)?(-forward)?", name)
    if not match:
        raise SystemExit(f"torch_case.py: nothing here is called {name}")
    b, h, t, d = map(int, match.groups()[:4])
    return attention_work(b, h, t, d, 0.2 if match[5] else 0.0, bool(match[6]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--compile", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    run = work_of(args.name, args.compile)
    run()
    run()
    times, begin = [], time.perf_counter()
    while len(times) < 3 or time.perf_counter() - begin < args.seconds:
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1e3)
    print(json.dumps({
        "ms": statistics.median(times),
        "ms_min": min(times),
        "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }))


main()
