"""Times SciPy's fftconvolve, looped over the elements of batches of the same lengths as rows of `cargo bench --
--device cpu`.

    python3 benches/fftconvolve.py [RESULTS.json]      needs NumPy and SciPy

Prints one JSON object a row: its name, and the microseconds of the loop at its best of five. With a file that
`cargo bench -- --device cpu --json RESULTS.json` wrote on the same machine, ours are beside them.
"""

import json
import math
import sys
import time

import numpy as np
from scipy.signal import fftconvolve

GOLDEN, SILVER = 0.6180339887498949, 0.4142135623730951


def log_uniform(elements, irrational):
    """The lengths of benches/rows/by_hand.rs."""
    return [int(100.0 * (4096.0 / 100.0) ** math.modf(i * irrational)[0]) for i in range(1, elements + 1)]


def alike(lengths, rounds):
    return lengths * rounds, lengths * rounds


ROWS = {
    "conv/mixed-1k": lambda: alike([8, 15, 142, 7, 456], 1000),
    "conv/far-apart-1k": lambda: alike([2, 3, 1000, 5, 2000], 1000),
    "conv/mixed-50k": lambda: alike([8, 15, 142, 7, 456], 50_000),
    "conv/far-apart-50k": lambda: alike([2, 3, 1000, 5, 2000], 50_000),
    "cpu/conv-by-hand": lambda: (log_uniform(4096, GOLDEN), log_uniform(4096, SILVER)),
}


def batch(lengths, rng):
    return [rng.uniform(-1, 1, length).astype(np.float32) for length in lengths]


def measured(lengths):
    rng = np.random.default_rng(1)
    a, b = (batch(side, rng) for side in lengths)
    results = [np.empty(0)]
    best = math.inf
    for _ in range(5):
        begun = time.perf_counter()
        results = [fftconvolve(x, y) for x, y in zip(a, b)]
        best = min(best, time.perf_counter() - begun)
    # It is the same operation.
    for i in range(0, len(a), 1 + len(a) // 20):
        exact = np.convolve(a[i].astype(np.float64), b[i].astype(np.float64))
        assert results[i].dtype == np.float32 and np.allclose(results[i], exact, atol=1e-4)
    return best * 1e6


def ours(path):
    """Wall times by row of the CPU device."""
    with open(path) as file:
        reports = json.load(file)["devices"]
    rows = [row for report in reports for row in report["rows"] if row["device"] == "cpu"]
    return {row["name"]: row["wall_us"] for row in rows}


def main():
    known = ours(sys.argv[1]) if len(sys.argv) > 1 else {}
    for name, lengths in ROWS.items():
        line = {"row": name, "fftconvolve_us": round(measured(lengths()), 1)}
        if name in known:
            line["ours_us"] = known[name]
            line["times_as_fast"] = round(line["fftconvolve_us"] / known[name], 1)
        print(json.dumps(line), flush=True)


main()
