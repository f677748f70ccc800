"""Times SciPy's ndimage.label, looped over images like those of the row `label/images` of `cargo bench -- --device cpu
label`: sides of 20 to 200, 60 % foreground.

    python3 benches/label.py      needs NumPy and SciPy

Prints one JSON object for 4 and one for 8 neighbours: the nanoseconds for each cell, at the best of five loops on one
core. Divide our wall time on one core (RAYON_NUM_THREADS=1) by the number of cells to compare.
"""

import json
import time

import numpy as np
from scipy import ndimage

IMAGES = 300


def main():
    random = np.random.default_rng(91)
    sides = random.integers(20, 201, size=(IMAGES, 2))
    images = [(random.random(side) < 0.6).astype(np.uint32) for side in sides]
    cells = sum(image.size for image in images)
    for neighbours, reach in [(4, 1), (8, 2)]:
        structure = ndimage.generate_binary_structure(2, reach)
        best = float("inf")
        for _ in range(5):
            began = time.perf_counter()
            for image in images:
                ndimage.label(image, structure)
            best = min(best, time.perf_counter() - began)
        print(json.dumps({"row": "label/images", "neighbours": neighbours, "ns_per_cell": round(best / cells * 1e9, 2)}))


if __name__ == "__main__":
    main()
