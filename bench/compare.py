#!/usr/bin/env python3
"""Runs `qkv bench` and the same work in PyTorch in turn, and prints the ratios.

  python3 bench/compare.py QKV TORCH_PYTHON [NAME…] [--pairs N] [--seconds S]
                           [--compile] [--markdown]

Each pair is one run of each, one after the other on the same machine; the ratio
is PyTorch's median time of a step over qkv's. Printed are the median of each
side, the median ratio and its spread over the pairs, beside what the ratio or
the share of the machine's peak is meant to reach: what falls short is marked.
"""
import argparse
import datetime
import json
import statistics
import subprocess
import sys

# name: ratio to reach against eager, against compiled, % of peak, peak MB
GOALS = {
    "makemore": (4.2, 2.9, None, None),
    "makemore-mlp": (4, None, None, None),
    "makemore-bow": (3, None, None, None),
    "makemore-rnn": (3, None, None, None),
    "makemore-gru": (3, None, None, None),
    "makemore-bigram": (3, None, None, None),
    "nanogpt-cpu": (2.1, 1.9, 76, None),
    "shakespeare-char": (1.9, None, 80, 2048),
    "gpt2-b4-t64": (1.3, None, 70, 2662),
    "gpt2-b1-t1024": (1.2, None, 80, 3072),
    "attention-b32-h4-t16-d16": (6, None, None, None),
    "attention-b12-h4-t64-d32": (5, None, None, None),
    "attention-b64-h6-t256-d64": (3, None, 72, None),
    "attention-b64-h6-t256-d64-dropout": (8, None, None, None),
    "attention-b1-h25-t1024-d64": (2, None, 85, None),
    "attention-b4-h12-t1024-d64": (2, None, 85, None),
    "attention-b1-h2-t4096-d64": (1.5, None, 90, None),
    "attention-b1-h1-t8192-d64": (1.5, None, 90, None),
}


def output(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("qkv")
    parser.add_argument("python")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--markdown", action="store_true")
    args = parser.parse_intermixed_args()

    info = json.loads(output([args.qkv, "info", "--json"]))
    threads = info["threads"]
    torch = output([args.python, "-c", "import torch; print(torch.__version__)"]).strip()
    side = "compiled" if args.compile else "eager"
    print(
        f"{datetime.date.today()}; {info['processor']}, {info['instruction_set']}, "
        f"{threads} threads; qkv {info['version']}, PyTorch {torch} {side}\n"
    )
    columns = ("case", "qkv, ms", "PyTorch, ms", "ratio", "over pairs", "% of peak", "MB", "PyTorch, MB", "to reach")
    form = "| {} | {} | {} | {} | {} | {} | {} | {} | {} |" if args.markdown else \
        "{:<36}{:>10}{:>13}{:>7}{:>14}{:>11}{:>7}{:>13}  {}"
    print(form.format(*columns))
    if args.markdown:
        print("|---" * len(columns) + "|")
    for name in args.names or GOALS:
        ours, theirs = [], []
        for _ in range(args.pairs):
            ours.append(json.loads(output(
                [args.qkv, "bench", name, "--json", "--seconds", f"{args.seconds}s", "--threads", str(threads)])))
            theirs.append(json.loads(output(
                [args.python, f"{sys.path[0]}/torch_case.py", name, "--seconds", str(args.seconds),
                 "--threads", str(threads)] + (["--compile"] if args.compile else []))))
        ratios = sorted(t["ms"] / q["ms"] for q, t in zip(ours, theirs))
        ratio = statistics.median(ratios)
        peak = statistics.median(q["percent_of_peak"] for q in ours)
        memory = max(q["peak_rss_mb"] for q in ours)
        eager, compiled, least_peak, most_memory = GOALS.get(name, (None,) * 4)
        least = compiled if args.compile else eager
        goals = []
        for goal, reached, text in (
            (least, least and ratio >= least, f"{least}x"),
            (least_peak, least_peak and peak >= least_peak, f"{least_peak} %"),
            (most_memory, most_memory and memory <= most_memory, f"{most_memory} MB"),
        ):
            if goal:
                goals.append(text + (" ok" if reached else " SHORT"))
        print(form.format(
            name,
            f"{statistics.median(q['ms'] for q in ours):.3f}",
            f"{statistics.median(t['ms'] for t in theirs):.3f}",
            f"{ratio:.2f}", f"{ratios[0]:.2f}-{ratios[-1]:.2f}",
            f"{peak:.1f}", f"{memory:.0f}",
            f"{max(t['peak_rss_mb'] for t in theirs):.0f}", ", ".join(goals)), flush=True)


main()
