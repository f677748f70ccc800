"""Times what a PyTorch user would run instead of the rows conv/.. of `cargo bench`, on a CUDA device.

    python3 benches/pytorch.py > benches/results/NAME-pytorch.json      needs PyTorch with CUDA

`padded`: every element in a transform as long as the longest one needs. `bucketed`: elements grouped by the next power of two, a batch
and three transforms for each group. Microseconds of device time, from a CUDA graph of ten calls, and of a call as Python makes
it. `cargo bench -- --table NAME.json --beside NAME-pytorch.json` puts ours beside them.
"""

import json
import random
import statistics

import torch

DEVICE = "cuda"


def timed(f, runs, warm=3):
    for _ in range(warm):
        f()
    torch.cuda.synchronize()
    times = []
    for _ in range(runs):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        f()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1e3)
    return statistics.median(times)


def in_graph(f, calls=10):
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            f()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(calls):
            f()
    return timed(graph.replay, 10) / calls


def measured(f):
    return {"us": round(in_graph(f), 1), "call_us": round(timed(f, 10), 1)}


def convolved(x, y, length):
    rfft, irfft = torch.fft.rfft, torch.fft.irfft
    return irfft(rfft(x, n=length) * rfft(y, n=length), n=length)


def padded(lengths):
    longest = max(lengths)
    length = 1 << (2 * longest - 2).bit_length()
    x, y = (torch.randn(len(lengths), longest, device=DEVICE) for _ in range(2))
    return lambda: convolved(x, y, length)


def bucketed(lengths):
    buckets = {}
    for n in lengths:
        buckets.setdefault(1 << (n - 1).bit_length(), []).append(n)
    batches = [
        [torch.randn(len(group), width, device=DEVICE) for _ in range(2)] + [2 * width]
        for width, group in buckets.items()
    ]
    return lambda: [convolved(x, y, length) for x, y, length in batches]


def causal(length):
    x = torch.randn(64, 768, length, device=DEVICE)
    y = torch.randn(768, length, device=DEVICE)
    return lambda: convolved(x, y, 2 * length)[..., :length]


def main():
    generator = random.Random(7)
    mixed, far_apart = [8, 15, 142, 7, 456], [2, 3, 1000, 5, 2000]
    batches = {
        "conv/mixed-1k": mixed * 1000,
        "conv/far-apart-1k": far_apart * 1000,
        "conv/mixed-50k": mixed * 50_000,
        "conv/far-apart-50k": far_apart * 50_000,
        "conv/attention-50k": [32, 64, 128, 256, 512] * 50_000,
        "conv/sensors-50k": [8, 16, 32, 128, 256] * 50_000,
        "conv/log-uniform": [int(4 * 1024 ** generator.random()) for _ in range(100_000)],
    }
    square = torch.randn(4096, 4096, device=DEVICE)
    # An idle GPU clocks down.
    timed(lambda: [square @ square for _ in range(10)], 20)
    rows = {}
    for name, lengths in batches.items():
        rows[name] = {"padded": measured(padded(lengths)), "bucketed": measured(bucketed(lengths))}
        torch.cuda.empty_cache()
    for length in (1024, 4096, 16384):
        rows[f"conv/causal-{length}"] = {"padded": measured(causal(length))}
        torch.cuda.empty_cache()
    print(json.dumps({"device": torch.cuda.get_device_name(), "torch": torch.__version__, "rows": rows}, indent=1))


main()
