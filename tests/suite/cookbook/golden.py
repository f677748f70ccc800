"""Computes tests/suite/cookbook/golden.json: the programs of docs/book/src/cookbook.md in NumPy, in 64-bit floats.

Run: python3 tests/suite/cookbook/golden.py (NumPy 2)
"""

import json
import math
import pathlib

import numpy as np


def batch(seed, shapes):
    """Elements of these shapes, as `batch` in tests/suite/cookbook.rs makes them."""
    count = sum(math.prod(shape) for shape in shapes)
    mask = 2**32 - 1
    values = []
    for i in range(count):
        mixed = ((i + 1) * 2_654_435_761 & mask) ^ (seed * 40_503 & mask)
        mixed = (mixed ^ mixed >> 15) * 2_246_822_519 & mask
        values.append((mixed >> 13) % 129 / 64 - 1)
    ends = np.cumsum([math.prod(shape) for shape in shapes])
    return [part.reshape(shape) for part, shape in zip(np.split(np.array(values), ends[:-1]), shapes)]


def polynomials():
    found = []
    for p, q, guesses in [([-6, 11, -6, 1], [4.5, -1], [0.8, 2.1, 3.2, 4.4]), ([-2, 0, 1], [1], [1, -1.5])]:
        product = np.polynomial.Polynomial(p) * np.polynomial.Polynomial(q)
        roots = product.roots()
        found.append([roots[np.argmin(abs(roots - guess))].real for guess in guesses])
    return {"polynomials": found}


def sensors():
    recordings = batch(1, [(40,), (7,), (129,), (64,), (300,)])
    (filter,) = batch(2, [(9,)])
    bins, spectra = [], []
    for x in recordings:
        z = (x - x.mean()) / x.std()
        spectrum = abs(np.fft.rfft(np.correlate(z, filter, "full")))
        bins.append([int(spectrum.argmax())])
        spectra.append(spectrum)
    return {"sensors.bins": bins, "sensors.spectrum": spectra}


def transformer():
    width, heads, inner = 24, 3, 40
    queries, keys, values = (batch(seed, [(width, width // heads)] * heads) for seed in (11, 12, 13))
    (output,), (up,), (up_bias,) = batch(14, [(width, width)]), batch(15, [(width, inner)]), batch(16, [(inner,)])
    (down,), (down_bias,) = batch(17, [(inner, width)]), batch(18, [(width,)])
    norms = [[batch(seed, [(width,)])[0] for seed in pair] for pair in ((19, 20), (21, 22))]

    def norm(x, scale, shift):
        mean, var = x.mean(axis=1, keepdims=True), x.var(axis=1, keepdims=True)
        return (x - mean) / np.sqrt(var + 1e-5) * scale + shift

    gelu = np.vectorize(lambda v: v * math.erfc(-v / math.sqrt(2)) / 2, otypes=[float])
    encoded = []
    for sentence in batch(10, [(5, width), (1, width), (0, width), (17, width)]):
        x = norm(sentence, *norms[0])
        mixed = []
        for q, k, v in zip(queries, keys, values):
            scores = (x @ q) @ (x @ k).T * math.sqrt(heads / width)
            exps = np.exp(scores - scores.max(axis=1, keepdims=True, initial=-np.inf))
            mixed.append(exps / exps.sum(axis=1, keepdims=True) @ (x @ v))
        x = np.hstack(mixed) @ output + sentence
        encoded.append(gelu(norm(x, *norms[1]) @ up + up_bias) @ down + down_bias + x)
    return {"transformer": encoded}


def sparse_layer():
    blocks = [(0, 0), (0, 2), (1, 1), (2, 0), (2, 2)]
    weights, mask = np.zeros((24, 24)), np.zeros((24, 24))
    for (i, j), block in zip(blocks, batch(31, [(len(blocks) * 64,)])[0].reshape(-1, 8, 8)):
        weights[8 * i : 8 * i + 8, 8 * j : 8 * j + 8] = block
        mask[8 * i : 8 * i + 8, 8 * j : 8 * j + 8] = 1
    (bias,), (x,), (target,) = batch(32, [(24,)]), batch(33, [(30, 24)]), batch(34, [(30, 24)])
    golden = {}
    for step in range(3):
        sums = x @ weights.T + bias
        error = np.maximum(sums, 0) - target
        golden[f"sparse_layer.loss{step}"] = [[(error**2).mean()]]
        gradient = error * (sums > 0) * 2 / error.size
        weights, bias = weights - 0.5 * mask * (gradient.T @ x), bias - 0.5 * gradient.sum(axis=0)
    stored = [weights[8 * i : 8 * i + 8, 8 * j : 8 * j + 8].ravel() for i, j in blocks]
    return golden | {"sparse_layer.weights": [np.concatenate(stored)], "sparse_layer.bias": [bias]}


def images():
    filters = batch(42, [(3, 3, 3), (3, 3, 3), (3, 2, 5), (3, 1, 1)])
    rows = []
    for image in batch(41, [(3, 12, 9), (3, 5, 6), (3, 20, 31)]):
        row = []
        for filter in filters:
            places = np.lib.stride_tricks.sliding_window_view(image, filter.shape)
            maps = np.maximum(np.einsum("abcijk,ijk->abc", places, filter)[0], 0)
            height, width = maps.shape[0] // 2, maps.shape[1] // 2
            pooled = maps[: 2 * height, : 2 * width].reshape(height, 2, width, 2).max(axis=(1, 3))
            row.append(pooled.mean())
        rows.append(row)
    return {"images": rows}


golden = polynomials() | sensors() | transformer() | sparse_layer() | images()
rounded = {
    name: [[float(f"{v:.9g}") for v in np.ravel(row)] for row in rows] for name, rows in golden.items()
}
path = pathlib.Path(__file__).parent / "golden.json"
path.write_text("{\n" + ",\n".join(f'"{name}": {json.dumps(rows)}' for name, rows in rounded.items()) + "\n}\n")
