#!/usr/bin/env python3
"""Writes tests/io/fixtures: files and verdicts of the formats' own libraries.

Needs numpy, torch and safetensors from PyPI. The tests need none of them.
"""
import io
import pathlib

import numpy as np
import safetensors
import safetensors.torch
import torch

HERE = pathlib.Path(__file__).parent / "fixtures"


def write(name, content):
    (HERE / name).write_bytes(content)


def types():
    """Every dtype that is read, one that is not, a scalar, an empty tensor."""
    tensors = {
        "f32": torch.tensor([[1.5, -2.0, 3.25], [0.1, float("inf"), -0.0]]),
        "f64": torch.tensor([0.1, -1e300], dtype=torch.float64),
        "bf16": torch.tensor([1.0, -2.5, 3e38], dtype=torch.bfloat16),
        "f16": torch.tensor([1.0, -0.5, 65504.0], dtype=torch.float16),
        "i64": torch.tensor([-1, 2**62]),
        "i32": torch.tensor([-5, 6], dtype=torch.int32),
        "u16": torch.tensor([0, 65535], dtype=torch.uint16),
        "u8": torch.tensor([0, 7, 255], dtype=torch.uint8),
        "i8": torch.tensor([-1, 1], dtype=torch.int8),
        "bool": torch.tensor([[True], [False]]),
        "scalar": torch.tensor(42.0),
        "empty": torch.zeros(0, 3),
        'é "\\name': torch.tensor([9.0]),
    }
    write("types.safetensors",
          safetensors.torch.save(tensors, {"who": 'a "test"\n→ é'}))


def view(data):
    """What the reference reader sees: 'name dtype shape hex;…' by name."""
    parts = []
    for name, info in sorted(safetensors.deserialize(data)):
        shape = ",".join(str(n) for n in info["shape"])
        parts.append(f"{name} {info['dtype']} ({shape}) {bytes(info['data']).hex()}")
    return ";".join(parts)


def verdicts():
    """The reference's verdict on every bit flip of a file's header, and on every
    byte of it set to 00, FF, 7F, 80: a line 'byte value view' where it accepts."""
    tensors = {
        "a": torch.tensor([1.0, 2.0]),
        "b.weight": torch.tensor([[3], [4]], dtype=torch.int32),
        "e": torch.zeros(0, dtype=torch.uint8),
    }
    original = safetensors.torch.save(tensors, {"k": "v"})
    write("small.safetensors", original)
    header = 8 + int.from_bytes(original[:8], "little")
    lines = []
    for at in range(header):
        values = [original[at] ^ (1 << bit) for bit in range(8)]
        for value in sorted({*values, 0x00, 0xFF, 0x7F, 0x80} - {original[at]}):
            changed = bytearray(original)
            changed[at] = value
            try:
                seen = view(bytes(changed))
            except safetensors.SafetensorError:
                continue
            lines.append(f"{at} {value} {seen}\n")
    write("verdicts.txt", "".join(lines).encode())


def npy():
    def save(array, version):
        out = io.BytesIO()
        np.lib.format.write_array(out, array, version=version)
        return out.getvalue()

    arange = np.arange(6).reshape(2, 3)
    for code in ["f2", "f4", "f8", "i4", "i8", "u2", "u1", "b1"]:
        write(f"{code}.npy", save(arange.astype(code), (1, 0)))
    write("scalar.npy", save(np.array(2.5), (1, 0)))
    write("vector.npy", save(np.array([1.0, 2.0], "f4"), (1, 0)))
    write("empty.npy", save(np.zeros((0, 3), "f4"), (1, 0)))
    write("version2.npy", save(arange.astype("f4"), (2, 0)))
    write("version3.npy", save(arange.astype("f4"), (3, 0)))
    cube = np.arange(24).reshape(2, 3, 4)
    write("fortran.npy", save(np.asfortranarray(cube.astype("f8")), (1, 0)))
    write("big_endian.npy", save(arange.astype(">f4"), (1, 0)))
    write("i2.npy", save(arange.astype("i2"), (1, 0)))
    write("structured.npy",
          save(np.zeros(2, [("x", "<f4"), ("y", "<i4")]), (1, 0)))


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    types()
    verdicts()
    npy()
