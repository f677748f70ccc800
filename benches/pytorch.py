"""Times what a PyTorch user would run instead of rows of `cargo bench`, on a CUDA device.

    python3 benches/pytorch.py > benches/results/NAME-pytorch.json      needs PyTorch with CUDA

conv/..    `padded`: every element in a transform as long as the longest one needs. `bucketed`: elements grouped by the
           next power of two, a batch and three transforms for each group.
fft/..     `cuFFT`: a batch of one length, nothing to pad; rfft/.. too.
matmul/..  `cuBLAS`: one product of all packed rows, or for groups a loop over them. Results of f16 are f16.
bsr/..     `dense, cuBLAS`: on the same matrix, including its zeros. `sparse, PyTorch`: its product of a `sparse_bsr`
           tensor, where it has one. Results have the operands' type, so those of f16 are compared with our results in
           f32 and in f16 (`-half`).
program/.. `vowels-step`: the training step of examples/vowels, padded and masked, with `torch.optim.Adam`: called as
           Python does, and as one CUDA graph. `conv-layer`: a convolution and its gradients by autograd, padded and
           bucketed; `conv-stack`: two convolutions, relu, pooling, a mean over each recording's own values, and the
           gradients of both filters. `maps-5`: five maps, called one by one.
attention/.. `varlen`: PyTorch's kernel for packed sequences, where it has one. `padded`: scaled dot products of
           sequences as long as the longest one, without a mask, so that padding takes part; `masked`: with one.
           `minilm`: a sentence encoder on the sentences of benches/sentences.txt: `sorted, padded`: in batches of 256,
           sorted by length, padded and masked; `varlen`: all tokens as one matrix.
map/..     Maps and functions of two operands (functions/..) of a dense tensor of as many values.
lines/..   `dense`: functions along the last axis of a matrix, or of a flat array. Of elements of different lengths,
           `padded`: masked, as long as the longest one; `packed`: `torch.segment_reduce`, or for sorts one flat array
           of as many values. histogram/one: `torch.histc`.

`python3 benches/pytorch.py program` times only the rows whose names begin with the given word.

Microseconds of device time, from a CUDA graph of ten calls where that can be captured, and of a call as Python makes
it: the median of ten runs with its 95 % confidence interval, the mean and the standard deviation. `peak_bytes`: the
most memory that a call's tensors and workspaces take at one time, beside its inputs, of what PyTorch's allocator hands
out.
`cargo bench -- --table NAME.json --beside NAME-pytorch.json` puts our results beside them.
"""

import json
import math
import pathlib
import random
import statistics
import sys

import torch

DEVICE = "cuda"
HERE = pathlib.Path(__file__).parent
DATA = HERE.parent / "examples" / "data"


def counted(name):
    """The numbers in each line of a file, the last of which says how often the others occur."""
    numbers = []
    for line in (HERE / name).read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            *first, count = map(int, line.split())
            numbers += [first if len(first) > 1 else first[0]] * count
    return numbers


def recordings(name):
    """The number of samples of each series."""
    lengths = []
    for part in ("TRAIN", "TEST"):
        text = (DATA / f"{name}_{part}.ts").read_text(encoding="utf-8")
        series = text.split("@data", 1)[1].split("\n")[1:]
        lengths += [line.split(":")[0].count(",") + 1 for line in series if line]
    return lengths


def words():
    """The number of words of each sentence."""
    lines = (DATA / "alice.txt").read_text(encoding="utf-8").splitlines()
    return [len(line.split()) for line in lines if not line.startswith("#")]


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
    return times


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
    return [time / calls for time in timed(graph.replay, 10)]


def summary(times):
    """The median and its 95 % confidence interval, from the order of the times, as benches/harness/stats.rs has it."""
    times, runs = sorted(times), len(times)
    row = {"us": statistics.median(times), "mean_us": statistics.mean(times), "sd_us": statistics.stdev(times)}
    below, rank = 0, None
    for k in range(runs // 2):
        below += math.comb(runs, k)
        if 40 * below > 2**runs:
            break
        rank = k
    if rank is not None:
        row |= {"low_us": times[rank], "high_us": times[-1 - rank]}
    return {key: round(us, 2) for key, us in row.items()} | {"runs": runs}


def measured(f):
    call = timed(f, 10)
    try:
        us = in_graph(f)
    except RuntimeError:  # What cannot be captured is timed as it is called.
        torch.cuda.synchronize()
        us = call
    return summary(us) | {"call_us": round(statistics.median(call), 2)}


def peak_bytes(f):
    f()  # Makes what stays: plans, workspaces, gradients' buffers.
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    f()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before


def with_memory(f):
    # Measured before timing, because a captured graph keeps the memory of its calls.
    peak = peak_bytes(f)
    row = measured(f) | {"peak_bytes": peak}
    torch.cuda.empty_cache()
    return row


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


def transforms():
    rows = {}
    names = {1 << 20: "2^20", 1 << 24: "2^24"}
    for n in (256, 1024, 2048, 4096, 8192, 1000, 1009, 1 << 14, 1 << 16, 1 << 20, 1 << 24):
        x = torch.randn((1 << 26) // n, n, device=DEVICE, dtype=torch.complex64)
        rows[f"fft/{names.get(n, n)}"] = {"cuFFT": measured(lambda: torch.fft.fft(x))}
    for n in (1024, 4096, 1 << 16):
        x = torch.randn((1 << 26) // n, n, device=DEVICE)
        rows[f"rfft/{n}"] = {"cuFFT": measured(lambda: torch.fft.rfft(x))}
    return rows


def products():
    rows = {}
    for dtype, name in ((torch.float32, ""), (torch.float16, "f16-")):
        new = lambda *shape: torch.randn(*shape, device=DEVICE, dtype=dtype)
        for n in (512, 1024, 2048, 4096) + ((8192,) if name else ()):
            a, b = new(n, n), new(n, n)
            rows[f"matmul/{name}{n}"] = {"cuBLAS": measured(lambda: a @ b)}
        a, b = new(sum([32, 64, 128, 256, 512]), 768), new(768, 768)
        rows[f"matmul/{name}ragged-rows"] = {"cuBLAS": measured(lambda: a @ b)}
        generator = random.Random(71)
        groups = [new(generator.randint(16, 511), 128) for _ in range(256)]
        weights = [new(128, 128) for _ in groups]
        loop = lambda: [x @ w for x, w in zip(groups, weights)]
        rows[f"matmul/{name}groups"] = {"cuBLAS": measured(loop)}
    cells = counted("lengths/cells.txt") * 50
    x = torch.randn(len(cells), max(cells), 3, device=DEVICE)
    rows["matmul/cells"] = {"padded": with_memory(lambda: torch.bmm(x, x.mT))}
    return rows


def block_sparse():
    rows = {}
    half = torch.float16
    for name, n, high, wide, density, dtype in (
        ("bsr/f16-128x64-8192", 8192, 128, 64, 0.125, half),
        ("bsr/f16-64x64-8192", 8192, 64, 64, 0.125, half),
        ("bsr/f16-64x64", 4096, 64, 64, 0.1, half),
        ("bsr/f16-32x32", 4096, 32, 32, 0.1, half),
        ("bsr/f16-16x16", 4096, 16, 16, 0.1, half),
        ("bsr/64x64", 4096, 64, 64, 0.125, torch.float32),
    ):
        stored = torch.zeros(n // high, n // wide, device=DEVICE, dtype=dtype)
        for row in stored:
            row[torch.randperm(n // wide, device=DEVICE)[: round(density * (n // wide))]] = 1
        mask = stored.repeat_interleave(high, 0).repeat_interleave(wide, 1)
        a, b = (torch.randn(n, n, device=DEVICE, dtype=dtype) for _ in range(2))
        a *= mask
        rows[name] = {"dense, cuBLAS": measured(lambda: a @ b)}
        try:
            s = a.to_sparse_bsr((high, wide))
            rows[name]["sparse, PyTorch"] = measured(lambda: s @ b)
        except Exception as error:
            rows[name]["sparse, PyTorch"] = {"error": str(error)[:100]}
        rows[f"{name}-half"] = rows[name]
    return rows


class Vowels(torch.nn.Module):
    """The network of examples/vowels on padded recordings, as its users would write it."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv1d(12, 128, 3, padding=1)
        self.second = torch.nn.Conv1d(128, 64, 3, padding=1)
        self.dense = torch.nn.Linear(128, 9)

    def forward(self, x, mask):
        x = torch.relu(self.first(x)) * mask
        x = torch.relu(self.second(x)) * mask
        mean = x.sum(2) / mask.sum(2)
        most = x.masked_fill(mask == 0, -torch.inf).amax(2)
        return self.dense(torch.cat([mean, most], 1))


def vowels_step():
    generator = random.Random(61)
    lengths = torch.tensor([generator.randint(7, 29) for _ in range(30)], device=DEVICE)
    mask = (torch.arange(29, device=DEVICE)[None] < lengths[:, None])[:, None].float()
    x = torch.randn(30, 12, 29, device=DEVICE) * mask
    classes = torch.randint(0, 9, (30,), device=DEVICE)

    def of(graph):
        net = Vowels().to(DEVICE)
        adam = torch.optim.Adam(net.parameters(), lr=1e-3, capturable=graph)

        def step():
            adam.zero_grad(set_to_none=not graph)
            loss = torch.nn.functional.cross_entropy(net(x, mask), classes)
            loss.backward()
            adam.step()

        return step

    call = timed(of(False), 50)
    graph = in_graph(of(True), 1)
    row = lambda times: summary(times) | {"call_us": round(statistics.median(times), 2)}
    return {"eager": row(call), "CUDA graph": row(graph)}


def learned(batches):
    """A convolution of each batch and the gradients of both operands, for cotangents equal to the results."""
    batches = [(x.requires_grad_(), y.requires_grad_(), length) for x, y, length in batches]

    def both():
        for x, y, length in batches:
            z = convolved(x, y, length)
            torch.autograd.grad(z, (x, y), z.detach())

    return both


def stacked(groups):
    """The network of `program/conv-stack`: groups of recordings of one padded length, each with its own lengths."""
    functional = torch.nn.functional
    first, second = (torch.randn(1, 1, 33, device=DEVICE, requires_grad=True) for _ in range(2))

    def masked(lengths, width):
        return (torch.arange(width, device=DEVICE)[None] < lengths[:, None])[:, None].float()

    batches = []
    for width, lengths in groups:
        lengths = torch.tensor(lengths, device=DEVICE)
        mask = masked(lengths, width)
        x = torch.randn(len(lengths), 1, width, device=DEVICE) * mask
        batches.append((x, mask, masked(lengths // 2, width // 2)))

    def step():
        sums = [torch.zeros_like(first), torch.zeros_like(second)]
        for x, mask, half in batches:
            y = torch.relu(functional.conv1d(x, first, padding=16)) * mask
            y = functional.max_pool1d(y, 2)
            # Incomplete windows are dropped: without the mask, a last value would be pooled with padding.
            y = torch.relu(functional.conv1d(y * half, second, padding=16)) * half
            mean = y.sum(2) / half.sum(2)
            slopes = torch.autograd.grad(mean.square().sum(), (first, second))
            sums = [total + slope for total, slope in zip(sums, slopes)]
        return sums

    return step


def programs():
    generator = random.Random(51)
    lengths = [int(4 * 1024 ** generator.random()) for _ in range(10_000)]
    new = lambda count, width: torch.randn(count, width, device=DEVICE)
    width = 1 << (max(lengths) - 1).bit_length()
    buckets = {}
    for n in lengths:
        width_of = 1 << (n - 1).bit_length()
        buckets[width_of] = buckets.get(width_of, 0) + 1
    pad = [(new(len(lengths), width), new(len(lengths), width), 2 * width)]
    bucket = [(new(count, w), new(count, w), 2 * w) for w, count in buckets.items()]
    rows = {"program/vowels-step": vowels_step()}
    rows["program/conv-layer"] = {"bucketed": with_memory(learned(bucket)), "padded": with_memory(learned(pad))}
    del pad, bucket
    generator = random.Random(71)
    lengths = [int(4 * 1024 ** generator.random()) for _ in range(10_000)]
    of_width = {}
    for n in lengths:
        of_width.setdefault(1 << (n - 1).bit_length(), []).append(n)
    ways = {"bucketed": list(of_width.items()), "padded": [(max(lengths) + max(lengths) % 2, lengths)]}
    rows["program/conv-stack"] = {}
    for way, groups in ways.items():
        rows["program/conv-stack"][way] = with_memory(stacked(groups))
        torch.cuda.empty_cache()
    x = new(1, 1 << 26)
    five = lambda: 1.0 - torch.relu(x * 1.5 + 0.25) ** 2
    rows["program/maps-5"] = {"called one by one": measured(five)}
    return rows


def with_gradients(forward, operands):
    """An attention and the gradients of its operands, for cotangents equal to the results."""

    def both():
        for x in operands:
            x.requires_grad_()
        o = forward()
        torch.autograd.grad(o, operands, o.detach())
        for x in operands:
            x.requires_grad_(False)

    return both


class EncoderLayer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.attended = torch.nn.Linear(384, 3 * 384), torch.nn.Linear(384, 384)
        self.wide, self.narrow = torch.nn.Linear(384, 1536), torch.nn.Linear(1536, 384)
        self.attended_norm, self.norm = torch.nn.LayerNorm(384), torch.nn.LayerNorm(384)

    def forward(self, x, attention):
        q, k, v = self.qkv(x).unflatten(-1, (3, 12, 32)).unbind(-3)
        x = self.attended_norm(x + self.attended(attention(q, k, v).flatten(-2)))
        return self.norm(x + self.narrow(torch.nn.functional.gelu(self.wide(x))))


class Encoder(torch.nn.Module):
    """The encoder of examples/sentences, of the size of all-MiniLM-L6-v2."""

    def __init__(self):
        super().__init__()
        self.words, self.positions = torch.nn.Embedding(30522, 384), torch.nn.Embedding(512, 384)
        self.norm = torch.nn.LayerNorm(384)
        self.layers = torch.nn.ModuleList([EncoderLayer() for _ in range(6)])

    def forward(self, tokens, places, attention):
        x = self.norm(self.words(tokens) + self.positions(places))
        for layer in self.layers:
            x = layer(x, attention)
        return x


def encoders(varlen_attn):
    functional = torch.nn.functional
    lengths = counted("sentences.txt")
    rows = {}
    for dtype, suffix in ((torch.float16, "-f16"), (torch.float32, "")):
        encoder = Encoder().to(DEVICE, dtype).eval()
        batches = []
        for begin in range(0, len(lengths), 256):
            some = torch.tensor(lengths[begin : begin + 256], device=DEVICE)
            places = torch.arange(int(some.max()), device=DEVICE)
            inside = places < some[:, None]
            tokens = torch.randint(0, 30522, inside.shape, device=DEVICE)
            batches.append((tokens, places, inside[:, None, None, :], inside[:, :, None].to(dtype), some[:, None]))

        def padded():
            for tokens, places, mask, real, counts in batches:

                def attention(q, k, v, mask=mask):
                    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
                    return functional.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2)

                x = encoder(tokens, places, attention) * real
                functional.normalize(x.sum(1, dtype=torch.float32) / counts, dim=-1)

        row = {"sorted, padded": measured(padded)}
        if varlen_attn and dtype == torch.float16:
            of = torch.tensor(lengths, device=DEVICE)
            ends = torch.cat([of.new_zeros(1), of.cumsum(0)]).to(torch.int32)
            tokens = torch.randint(0, 30522, (sum(lengths),), device=DEVICE)
            places = torch.cat([torch.arange(n) for n in lengths]).to(DEVICE)
            sentence = torch.repeat_interleave(torch.arange(len(lengths), device=DEVICE), of)

            def varlen():
                longest = max(lengths)
                x = encoder(tokens, places, lambda q, k, v: varlen_attn(q, k, v, ends, ends, longest, longest))
                sums = torch.zeros(len(lengths), 384, device=DEVICE).index_add_(0, sentence, x.float())
                functional.normalize(sums / of[:, None], dim=-1)

            row["varlen"] = measured(varlen)
        rows[f"attention/minilm{suffix}"] = row
        torch.cuda.empty_cache()
    return rows


def attention():
    functional = torch.nn.functional
    try:
        from torch.nn.attention.varlen import varlen_attn
    except ImportError:
        varlen_attn = None
    generator = random.Random(81)
    some = [32, 64, 128, 256, 512]
    jobs = {
        "set": (some, 8, 64, False),
        "set-causal": (some, 8, 64, True),
        "sets": (some * 13, 8, 64, False),
        "sentences": ([generator.randint(2, 64) for _ in range(4096)], 12, 32, False),
        "alice": (words() * 16, 12, 32, False),
        "one-long": ([8192] + [32] * 255, 8, 64, False),
        "512": ([512], 8, 64, False),
        "2048": ([2048] * 4, 16, 64, False),
        "2048-causal": ([2048] * 4, 16, 64, True),
        "8192-causal": ([8192] * 2, 16, 128, True),
    }
    rows = {}
    for name, (lengths, heads, width, causal) in jobs.items():
        new = lambda *shape, dtype: torch.randn(*shape, width, device=DEVICE, dtype=dtype)
        longest = max(lengths)
        for dtype, suffix in ((torch.float16, "-f16"), (torch.float32, "")):
            if dtype == torch.float32 and name != "2048":
                continue
            row = {}
            q, k, v = (new(sum(lengths), heads, dtype=dtype) for _ in range(3))
            ends = [sum(lengths[:i]) for i in range(len(lengths) + 1)]
            offsets = torch.tensor(ends, device=DEVICE, dtype=torch.int32)
            of_varlen = dict(window_size=(-1, 0)) if causal else {}
            varlen = lambda: varlen_attn(q, k, v, offsets, offsets, longest, longest, **of_varlen)
            if varlen_attn and dtype == torch.float16:
                row["varlen"] = measured(varlen)
            a, b, c = (new(len(lengths), heads, longest, dtype=dtype) for _ in range(3))
            padded = lambda: functional.scaled_dot_product_attention(a, b, c, is_causal=causal)
            row["padded"] = measured(padded)
            if min(lengths) < longest and not causal:
                inside = torch.arange(longest, device=DEVICE) < torch.tensor(lengths, device=DEVICE)[:, None]
                mask = inside[:, None, None, :]
                row["masked"] = measured(lambda: functional.scaled_dot_product_attention(a, b, c, attn_mask=mask))
            rows[f"attention/{name}{suffix}"] = row
            if name in ("sets", "sentences", "2048") and dtype == torch.float16:
                rows[f"attention/{name}-gradients{suffix}"] = {
                    kind: measured(with_gradients(of, operands))
                    for kind, of, operands in (("varlen", varlen, (q, k, v)), ("padded", padded, (a, b, c)))
                    if varlen_attn or kind == "padded"
                }
            del q, k, v, a, b, c
            torch.cuda.empty_cache()
    for name, count, keys in (("decode-64", 64, 2048), ("decode-1", 1, 16_384)):
        for dtype, suffix in ((torch.float16, "-f16"), (torch.float32, "")):
            q = torch.randn(count, 16, 1, 128, device=DEVICE, dtype=dtype)
            k, v = (torch.randn(count, 16, keys, 128, device=DEVICE, dtype=dtype) for _ in range(2))
            of = lambda: functional.scaled_dot_product_attention(q, k, v)
            rows[f"attention/{name}{suffix}"] = {"padded": measured(of)}
    with torch.no_grad():
        return rows | encoders(varlen_attn)


def maps():
    n = 1 << 26
    rows = {}
    for dtype, name in ((torch.float32, ""), (torch.float16, "-f16")):
        x, y = (torch.rand(n, device=DEVICE).mul(3.875).add(0.125).to(dtype) for _ in range(2))
        of_one = {
            "relu": torch.relu,
            "exp": torch.exp,
            "gelu": torch.nn.functional.gelu,
            "powf": lambda x: torch.pow(x, 1.7),
            "sin": torch.sin,
        }
        for function, f in of_one.items():
            rows[f"map/{function}{name}"] = {"dense": measured(lambda: f(x))}
        of_two = {"maximum": torch.maximum, "div": torch.div, "pow": torch.pow, "atan2": torch.atan2}
        for function, f in of_two.items():
            rows[f"functions/{function}{name}"] = {"dense": measured(lambda: f(x, y))}
    x = torch.randn(n // 384, 384, device=DEVICE)
    columns, of_rows = torch.randn(384, device=DEVICE), torch.randn(n // 384, 1, device=DEVICE)
    rows["functions/columns"] = {"dense": measured(lambda: x * columns)}
    rows["functions/rows"] = {"dense": measured(lambda: x * of_rows)}
    return rows


def uniform_lengths(total, longest, shortest=1):
    generator = random.Random(12)
    lengths = []
    while total > 0:
        lengths.append(generator.randint(shortest, longest))
        total -= lengths[-1]
    return lengths


def lines():
    functional = torch.nn.functional
    n = 1 << 26
    rows = {}
    for dtype, name in ((torch.float32, ""), (torch.float16, "-f16")):
        for width in (384, 1024):
            x = torch.randn(n // width, width, device=DEVICE, dtype=dtype)
            rows[f"lines/softmax-{width}{name}"] = {"dense": measured(lambda: functional.softmax(x, -1))}
            norm = lambda: functional.layer_norm(x, (width,), eps=1e-5)
            rows[f"lines/layer-norm-{width}{name}"] = {"dense": measured(norm)}
        flat = torch.randn(n // 4, device=DEVICE, dtype=dtype)
        rows[f"lines/sort-ragged{name}"] = {"packed": measured(lambda: torch.sort(flat))}
        del flat
    x = torch.randn(n // 384, 384, device=DEVICE)
    rows["lines/max-384"] = {"dense": measured(lambda: x.amax(1))}
    rows["lines/argmax-384"] = {"dense": measured(lambda: x.argmax(1))}
    rows["lines/sum-rows"] = {"dense": measured(lambda: x.sum(1))}
    x = torch.randn(n >> 19, 512, 1024, device=DEVICE)
    rows["lines/mean-columns"] = {"dense": measured(lambda: x.mean(1))}
    rows["lines/sum-columns"] = {"dense": measured(lambda: x.sum(1))}
    x = torch.randn(n >> 19, 16, 256, 128, device=DEVICE)
    rows["lines/sum-middle"] = {"dense": measured(lambda: x.sum(2))}
    x = torch.randn(n, device=DEVICE)
    rows["lines/softmax-one"] = {"dense": measured(lambda: functional.softmax(x, 0))}
    rows["lines/cumsum-one"] = {"dense": measured(lambda: x.cumsum(0))}
    rows["lines/mean-one"] = {"dense": measured(x.mean)}
    rows["lines/var-one"] = {"dense": measured(lambda: x.var(correction=0))}
    rows["histogram/one"] = {"dense": measured(lambda: torch.histc(x, 256))}
    del x
    for name, lengths in (("ragged", uniform_lengths(n // 2, 2048)), ("small", uniform_lengths(n, 24, 8))):
        longest = max(lengths)
        of = torch.tensor(lengths, device=DEVICE)
        outside = torch.arange(longest, device=DEVICE)[None] >= of[:, None]
        x = torch.randn(len(lengths), longest, device=DEVICE)
        offsets = torch.cat([of.new_zeros(1), of.cumsum(0)])
        packed = torch.randn(int(offsets[-1]), device=DEVICE)
        softmax = lambda: functional.softmax(x.masked_fill(outside, -torch.inf), -1)
        rows[f"lines/softmax-{name}"] = {"padded": measured(softmax)}
        mean = lambda: torch.segment_reduce(packed, "mean", offsets=offsets)
        rows[f"lines/mean-{name}"] = {"packed": measured(mean)}
        if name == "ragged":

            def var():
                mean = x.masked_fill(outside, 0).sum(1) / of
                return (x - mean[:, None]).masked_fill(outside, 0).square().sum(1) / of

            rows["lines/var-ragged"] = {"padded": measured(var)}
            rows["lines/cumsum-ragged"] = {"padded": measured(lambda: x.cumsum(1))}
    return rows


def main():
    square = torch.randn(4096, 4096, device=DEVICE)
    # An idle GPU clocks down.
    timed(lambda: [square @ square for _ in range(10)], 20)
    groups = {
        "conv": convolutions,
        "fft": transforms,
        "matmul": products,
        "bsr": block_sparse,
        "program": programs,
        "attention": attention,
        "map": maps,
        "lines": lines,
    }
    rows = {}
    for name, group in groups.items():
        if len(sys.argv) < 2 or name.startswith(sys.argv[1]):
            rows |= group()
            torch.cuda.empty_cache()
    print(json.dumps({"device": torch.cuda.get_device_name(), "torch": torch.__version__, "rows": rows}, indent=1))


def convolutions():
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
        "conv/gestures": recordings("PickupGestureWiimoteZ") * 500,
        "conv/vowels": recordings("JapaneseVowels") * 500,
    }
    rows = {}
    for name, lengths in batches.items():
        rows[name] = {"padded": with_memory(padded(lengths)), "bucketed": with_memory(bucketed(lengths))}
        torch.cuda.empty_cache()
    images = counted("lengths/images.txt")
    x = torch.randn(len(images), 1, *(max(side) for side in zip(*images)), device=DEVICE)
    filters = torch.randn(1, 1, 3, 3, device=DEVICE)
    rows["conv/photographs"] = {"padded": with_memory(lambda: torch.nn.functional.conv2d(x, filters, padding=1))}
    del x
    torch.cuda.empty_cache()
    for length in (1024, 4096, 16384):
        rows[f"conv/causal-{length}"] = {"padded": measured(causal(length))}
        torch.cuda.empty_cache()
    return rows


main()
