#!/usr/bin/env python3
"""Writes tests/data/fixtures and prints the numbers in lines_test.cc and
text_test.cc. Needs torch from PyPI; the tests do not.
"""
import io
import json
import pathlib
import random

import torch
from torch.utils.data import DataLoader, Dataset, RandomSampler

HERE = pathlib.Path(__file__).parent / "fixtures"


def python_lines():
    """What Python makes of texts full of odd ends of line and white space."""
    rng = random.Random(1)
    pieces = (["\n", "\r", "\r\n", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x1f",
               "\x85", "\u2028", "\u2029", " ", "\t", "\xa0", "\u1680", "\u2003",
               "\u200b", "\u202f", "\u205f", "\u3000", "\ufeff"]
              + ["a", "b c", "é", "日", "\U0001f917"] * 3)
    cases = []
    for _ in range(300):
        text = "".join(rng.choice(pieces) for _ in range(rng.randrange(12)))
        lines = io.StringIO(text, newline=None).read().splitlines()
        items = [line.strip() for line in lines]
        cases.append({"text": text, "items": [i for i in items if i],
                      "blank": items.count(""), "cr": text.count("\r")})
    (HERE / "python_lines.json").write_text(
        json.dumps(cases, ensure_ascii=False, separators=(",", ":")))


class Indices(Dataset):
    def __init__(self, items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def makemore_order(workers):
    """The order of makemore.py's draws: 1,000 items, seed 3407; ten numbers
    drawn where its model is initialised."""
    torch.manual_seed(3407)
    order = torch.randperm(1000).tolist()
    train, test = Indices(order[:-100]), order[-100:]
    torch.rand(10)
    sampler = RandomSampler(train, replacement=True, num_samples=int(1e10))
    batches = iter(DataLoader(train, sampler=sampler, batch_size=48,
                              num_workers=workers))
    first = next(batches).tolist()
    # An evaluation draws from the main generator, not from the sampler's.
    for _ in DataLoader(Indices(test), shuffle=True, batch_size=50):
        pass
    return test[:8], first[:8], [next(batches).tolist() for _ in range(2)][1][-8:]


def nanogpt_order():
    """The offsets of its get_batch: 1,000 tokens to train on, block 8."""
    torch.manual_seed(1337)
    torch.rand(10)
    return [torch.randint(1000 - 8, (6,)).tolist() for _ in range(2)]


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    python_lines()
    print(makemore_order(0))
    print(makemore_order(4))
    print(nanogpt_order())
