#!/usr/bin/python3
"""Runs Planaria's benchmarks beside PyTorch DDP's with gloo, in turns on one machine, and prints the ratios.

usage: compare.py --bench build/release/apps/bench/planaria-bench --ddp DDP_PEER [--rounds 3]

DDP_PEER is a script that takes --world and --only and prints a line of JSON a figure (what, world, seconds, …), with the models and
batch sizes of `planaria-bench mesh`. A ratio is PyTorch's seconds over ours: the median over the rounds, and the range.
"""

import argparse
import json
import statistics
import subprocess
import sys

WORLDS = (2, 4)
MODELS = ("cnn", "mlp", "wide")


def figures(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def key(figure):
    return figure["what"], figure["world"], figure.get("bytes", 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", required=True)
    parser.add_argument("--ddp", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    ratios, seconds = {}, {}
    for _ in range(arguments.rounds):
        for world in WORLDS:
            for what in ("allreduce", *MODELS):
                ours = ["all-reduce", "--ranks", str(world)] if what == "allreduce" else ["mesh", "--model", what, "--peers", str(world)]
                theirs = {key(f): f for f in figures(["/usr/bin/python3", arguments.ddp, "--world", str(world), "--only", what])}
                for figure in figures([arguments.bench, *ours]):
                    if key(figure) in theirs:
                        ratios.setdefault(key(figure), []).append(theirs[key(figure)]["seconds"] / figure["seconds"])
                        seconds.setdefault(key(figure), []).append((figure["seconds"], theirs[key(figure)]["seconds"]))
    print(f"{'what':<10} {'ranks':>5} {'bytes':>10} {'ours':>12} {'ddp/gloo':>12} {'ratio':>8}  range")
    for (what, world, size), values in sorted(ratios.items()):
        ours, theirs = (statistics.median(column) for column in zip(*seconds[(what, world, size)]))
        print(
            f"{what:<10} {world:>5} {size or '':>10} {ours * 1e3:>9.3f} ms {theirs * 1e3:>9.3f} ms "
            f"{statistics.median(values):>7.2f}x  {min(values):.2f}-{max(values):.2f}"
        )


if __name__ == "__main__":
    main()
