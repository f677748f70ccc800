"""Times operations on images as users of SciPy, NumPy, scikit-image and PyTorch run them: in a Python loop over images
of different sizes, on one core.

    taskset -c 0 python3 benches/images.py [--ours RESULTS.json] [WORD]      needs NumPy, SciPy and scikit-image

WORD chooses rows whose names contain it. Images have the sides and colours of the rows of `cargo bench` with the same
names: 1 to 30 rows and columns (`-small`) or 32 to 512, of ten colours, and for components 20 to 200 or 8 to 32
(`-small`), 60 % foreground.

Prints one JSON object a line, with the nanoseconds for each cell of an image, at the best of five loops. Cells of
padding do not count. Where PyTorch is there, `torch, cpu` and `torch, cuda` loop over images as well, and

`padded`            pads all images of a device to the size of the largest one, and runs one operation on all of them;
`padding`           only pads them;
`after padding`     only runs the operation.

With a file that `RAYON_NUM_THREADS=1 taskset -c 0 cargo bench -- images --device cpu --json RESULTS.json` wrote on the
same machine (and `label` for components), lines of `vsla` follow.
"""

import argparse
import json
import time

import numpy as np
from scipy import ndimage
from skimage import measure

try:
    import torch
except ImportError:
    torch = None

COLOURS = 10
TEMPLATE = np.array([[1, 2], [3, 4]], dtype=np.int32)


def images(count, sides, cell):
    random = np.random.default_rng(91)
    return [cell(random, shape) for shape in random.integers(sides[0], sides[1] + 1, size=(count, 2))]


def colours(count, *sides):
    return images(count, sides, lambda random, shape: random.integers(0, COLOURS, size=shape, dtype=np.int32))


def noise(count, *sides):
    return images(count, sides, lambda random, shape: (random.random(shape) < 0.6).astype(np.int32))


BATCHES = {
    "small": colours(2000, 1, 30),
    "large": colours(50, 32, 512),
    "components": noise(100, 20, 200),
    "small components": noise(1000, 8, 32),
}


def label(reach):
    structure = ndimage.generate_binary_structure(2, reach)
    return lambda x: ndimage.label(x, structure)[0]


def fill_holes(x):
    return ndimage.binary_fill_holes(x)


def regions(labels):
    return measure.regionprops_table(labels, properties=("area", "bbox", "centroid"))


def rot90(x):
    return np.ascontiguousarray(np.rot90(x))


def upscale(x):
    return np.repeat(np.repeat(x, 2, axis=0), 2, axis=1)


def dilate(x):
    return ndimage.grey_dilation(x, footprint=np.ones((3, 3), dtype=bool))


def match_template(x):
    if x.shape[0] < TEMPLATE.shape[0] or x.shape[1] < TEMPLATE.shape[1]:
        return np.zeros((0, 0), dtype=bool)
    windows = np.lib.stride_tricks.sliding_window_view(x, TEMPLATE.shape)
    return (windows == TEMPLATE).all(axis=(2, 3))


def bincount(x):
    return np.bincount(x.ravel(), minlength=COLOURS)


# The row, its images, the library, and the function of one image.
LOOPS = [
    ("label/images", "components", "scipy", label(1)),
    ("label/images-8", "components", "scipy", label(2)),
    ("label/small", "small components", "scipy", label(1)),
    ("images/fill-holes", "components", "scipy", fill_holes),
    ("images/fill-holes-small", "small components", "scipy", fill_holes),
    ("images/regions", "components", "scikit-image", regions),
    ("images/regions-small", "small components", "scikit-image", regions),
    ("images/rot90", "large", "numpy", rot90),
    ("images/rot90-small", "small", "numpy", rot90),
    ("images/upscale", "large", "numpy", upscale),
    ("images/upscale-small", "small", "numpy", upscale),
    ("images/dilate", "large", "scipy", dilate),
    ("images/dilate-small", "small", "scipy", dilate),
    ("images/match-template", "large", "numpy", match_template),
    ("images/match-template-small", "small", "numpy", match_template),
    ("images/bincount", "large", "numpy", bincount),
    ("images/bincount-small", "small", "numpy", bincount),
]


def torch_upscale(x):
    return x.repeat_interleave(2, -2).repeat_interleave(2, -1)


def torch_dilate(x):
    # PyTorch pools floats only, and pads with −∞. Values stay below 2²⁴.
    pooled = torch.nn.functional.max_pool2d(x.float().unsqueeze(-3), 3, 1, 1)
    return pooled.squeeze(-3).int()


def torch_bincount(x):
    return torch.bincount(x.flatten(), minlength=COLOURS)


def torch_bincounts(x):
    """Of a batch: each image has bins of its own. Zeros of the padding are counted, too."""
    first = COLOURS * torch.arange(len(x), device=x.device, dtype=x.dtype)
    return torch.bincount((x + first[:, None, None]).flatten(), minlength=COLOURS * len(x))


# The row's name without `-small`, the function of one image and of a padded batch, and what it must equal.
TORCH = [
    ("images/rot90", lambda x: x.rot90(1, (-2, -1)).contiguous(), None, rot90),
    ("images/upscale", torch_upscale, None, upscale),
    ("images/dilate", torch_dilate, None, dilate),
    ("images/bincount", torch_bincount, torch_bincounts, bincount),
]


def pad(all_images):
    rows, columns = (max(x.shape[axis] for x in all_images) for axis in (0, 1))
    batch = all_images[0].new_zeros((len(all_images), rows, columns))
    for to, x in zip(batch, all_images):
        to[: x.shape[0], : x.shape[1]] = x
    return batch


def best(run, synchronize=lambda: None):
    """The seconds of the fastest of five runs, after one that is not counted."""
    run()
    synchronize()
    times = []
    for _ in range(5):
        began = time.perf_counter()
        run()
        synchronize()
        times.append(time.perf_counter() - began)
    return min(times)


def loop(function, all_images):
    for image in all_images:
        function(image)


def report(row, library, seconds, cells):
    print(json.dumps({"row": row, "library": library, "ns_per_cell": round(seconds / cells * 1e9, 2)}), flush=True)


def by_torch(name, device, one, many, reference):
    synchronize = torch.cuda.synchronize if device == "cuda" else lambda: None
    for row, kind in [(name, "large"), (f"{name}-small", "small")]:
        on_host = BATCHES[kind]
        cells = sum(image.size for image in on_host)
        all_images = [torch.from_numpy(image).to(device) for image in on_host]
        for image, x in zip(on_host[:20], all_images):
            assert np.array_equal(one(x).cpu().numpy(), reference(image)), row
        many = many or one
        padded = pad(all_images)
        for what, run in [
            ("", lambda: loop(one, all_images)),
            (", padded", lambda: many(pad(all_images))),
            (", padding", lambda: pad(all_images)),
            (", after padding", lambda: many(padded)),
        ]:
            report(row, f"torch, {device}{what}", best(run, synchronize), cells)


def ours(path):
    with open(path) as file:
        reports = json.load(file)["devices"]
    for row in (row for report in reports for row in report["rows"] if row["device"] == "cpu"):
        if row["name"].startswith(("images/", "label/")) and "program" not in row["name"]:
            # The description begins with the number of cells.
            yield row["name"], row["wall_us"] * 1e-6, int(row["data"].split()[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("word", nargs="?", default="", metavar="WORD")
    parser.add_argument("--ours", metavar="RESULTS.json")
    args = parser.parse_args()
    for row, kind, library, function in LOOPS:
        if args.word not in row:
            continue
        batch = BATCHES[kind]
        if function is regions:
            batch = [ndimage.label(image)[0] for image in batch]
        report(row, library, best(lambda: loop(function, batch)), sum(image.size for image in batch))
    if torch is not None:
        torch.set_num_threads(1)
        devices = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
        for name, one, many, reference in TORCH:
            for device in devices:
                if args.word in name:
                    by_torch(name, device, one, many, reference)
    for row, seconds, cells in ours(args.ours) if args.ours else ():
        if args.word in row:
            report(row, "vsla", seconds, cells)


main()
