"""Times the job of the example sentences in ONNX Runtime on the CPU, in f32.

    python3 benches/sentences.py MODEL --write LINES.txt     makes the 4,096 lines that docs/performance.md speaks of
    python3 benches/sentences.py MODEL LINES.txt [-j N]      times them

Needs NumPy, onnx, onnxruntime and tokenizers. MODEL is the folder of all-MiniLM-L6-v2 as published, which
`sentences --model` takes, too. Afterwards, on the same cores:

    RAYON_NUM_THREADS=N cargo run --release -p sentences -- --device cpu --model MODEL LINES.txt

The graph is what ONNX Runtime's own optimizer makes of the exported model: packed products for queries, keys and
values, fused attention with a mask, layer norms with their residuals, gelu with its bias. As its users do, lines are
sorted by their numbers of tokens, and batches of as many lines are padded to the longest one. Tokens are counted, and
times taken, without tokenizing, as `sentences` does. Each size of batch runs once to warm up and three times; the best
counts, and the least time of processors, which a busy machine changes less.
"""

import argparse
import json
import os
import random
import time

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer

# Each is one token.
WORDS = "time year people way day man thing woman life child world school state family student group country problem \
hand part place case week company system program question work government number night point home water room mother \
area money story fact month lot right study book eye job word business issue side kind head house service friend \
father power hour game line end member law car city community name president team minute idea kid body information \
back parent face others level office door health person art war history party result change morning reason".split()
BATCHES = (16, 32, 64, 256)
LIMIT = 256


def written(path):
    """Lines of 4 to 256 tokens with both markers, most of them short."""
    random.seed(0)
    lengths = [max(4, min(LIMIT, int(random.lognormvariate(3.1, 0.6)))) for _ in range(4096)]
    with open(path, "w", encoding="utf-8") as out:
        for n in lengths:
            print(*random.choices(WORDS, k=n - 2), file=out)


def weights(folder):
    with open(os.path.join(folder, "model.safetensors"), "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    header.pop("__metadata__", None)
    types = {"F32": numpy.float32, "I64": numpy.int64}
    return {
        name: numpy.frombuffer(data[slice(*of["data_offsets"])], types[of["dtype"]]).reshape(of["shape"])
        for name, of in header.items()
    }


def model(folder):
    """The encoder, from `ids` and `mask` (lines × tokens) to `vectors` of length 1."""
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    tensors = weights(folder)
    nodes, constants = [], []

    def constant(name, value):
        constants.append(numpy_helper.from_array(numpy.ascontiguousarray(value), name))
        return name

    def node(op, inputs, outputs=1, domain="com.microsoft", **attributes):
        names = [f"{op}_{len(nodes)}"] + [""] * (outputs - 1)
        nodes.append(helper.make_node(op, inputs, names, domain=domain, **attributes))
        return names[0]

    def standard(op, *inputs, **attributes):
        return node(op, inputs, domain="", **attributes)

    def given(name, transposed=False):
        value = tensors[name]
        return constant(name, value.T if transposed else value)

    epsilon = config["layer_norm_eps"]
    places = standard("Shape", "ids", start=1, end=2)
    begin, axes = constant("begin", numpy.array([0])), constant("axes", numpy.array([0]))
    kind = tensors["embeddings.token_type_embeddings.weight"][0]
    positions = constant("positions", tensors["embeddings.position_embeddings.weight"] + kind)
    positions = standard("Slice", positions, begin, places, axes)
    x = standard("Add", standard("Gather", given("embeddings.word_embeddings.weight"), "ids"), positions)
    norm = [given(f"embeddings.LayerNorm.{part}") for part in ("weight", "bias")]
    x = standard("LayerNormalization", x, *norm, epsilon=epsilon)
    for i in range(config["num_hidden_layers"]):
        of = f"encoder.layer.{i}."

        def linear(x, name, of=of):
            return standard("MatMul", x, given(f"{of}{name}.weight", True)), given(f"{of}{name}.bias")

        def normed(skip, name, x, bias, of=of):
            scale = [given(f"{of}{name}.LayerNorm.{part}") for part in ("weight", "bias")]
            return node("SkipLayerNormalization", [x, skip, *scale, bias], epsilon=epsilon)

        parts = [f"{of}attention.self.{part}" for part in ("query", "key", "value")]
        packed = constant(f"{of}qkv", numpy.concatenate([tensors[f"{part}.weight"].T for part in parts], axis=1))
        bias = constant(f"{of}qkv_bias", numpy.concatenate([tensors[f"{part}.bias"] for part in parts]))
        attended = node("Attention", [x, packed, bias, "mask"], num_heads=config["num_attention_heads"])
        x = normed(x, "attention.output", *linear(attended, "attention.output.dense"))
        wide = node("BiasGelu", linear(x, "intermediate.dense"))
        x = normed(x, "output", *linear(wide, "output.dense"))
    real = standard("Unsqueeze", standard("Cast", "mask", to=TensorProto.FLOAT), constant("last", numpy.array([2])))
    tokens = constant("tokens", numpy.array([1]))
    sums = standard("ReduceSum", standard("Mul", x, real), tokens, keepdims=0)
    means = standard("Div", sums, standard("ReduceSum", real, tokens, keepdims=0))
    nodes.append(helper.make_node("LpNormalization", [means], ["vectors"], axis=1, p=2))
    graph = helper.make_graph(
        nodes,
        "sentences",
        [
            helper.make_tensor_value_info("ids", TensorProto.INT64, ["lines", "longest"]),
            helper.make_tensor_value_info("mask", TensorProto.INT32, ["lines", "longest"]),
        ],
        [helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["lines", config["hidden_size"]])],
        constants,
    )
    versions = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=versions, ir_version=9)


def batches(lines, size):
    """Sorted and padded: ids, mask, and the numbers of the lines."""
    order = sorted(range(len(lines)), key=lambda i: len(lines[i]))
    for some in (order[i : i + size] for i in range(0, len(order), size)):
        longest = max(len(lines[i]) for i in some)
        ids = numpy.zeros((len(some), longest), numpy.int64)
        mask = numpy.zeros((len(some), longest), numpy.int32)
        for row, i in enumerate(some):
            ids[row, : len(lines[i])] = lines[i]
            mask[row, : len(lines[i])] = 1
        yield some, {"ids": ids, "mask": mask}


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("model")
    arguments.add_argument("lines", nargs="?")
    arguments.add_argument("--write", metavar="LINES.txt")
    arguments.add_argument("--batch", type=int, nargs="*", default=BATCHES, help="lines of a batch")
    arguments.add_argument("-j", type=int, default=os.cpu_count(), help="threads")
    of = arguments.parse_args()
    if of.write:
        written(of.write)
    if not of.lines:
        return
    with open(of.lines, encoding="utf-8") as file:
        texts = file.read().splitlines()
    tokenizer = Tokenizer.from_file(os.path.join(of.model, "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(LIMIT)
    lines = [line.ids for line in tokenizer.encode_batch(texts)]
    tokens = sum(map(len, lines))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = of.j
    encoder = model(of.model).SerializeToString()
    session = onnxruntime.InferenceSession(encoder, options, providers=["CPUExecutionProvider"])
    print(f"ONNX Runtime {onnxruntime.__version__}, onnx {onnx.__version__}, {of.j} threads")
    print(f"{len(lines)} lines, {tokens} tokens")
    for size in of.batch:
        all_batches = list(batches(lines, size))
        padded = sum(given["ids"].size for _, given in all_batches)
        times, busy = [], []
        for _ in range(4):
            begun = time.perf_counter(), time.process_time()
            found = [session.run(None, given)[0] for _, given in all_batches]
            times.append(time.perf_counter() - begun[0])
            busy.append(time.process_time() - begun[1])
        best = min(times)
        first = next(vectors[some.index(0)] for (some, _), vectors in zip(all_batches, found) if 0 in some)
        rate = tokens / best
        print(f"batches of {size:3}: {best:.2f} s, {min(busy):.2f} of processors, {rate:.0f} tokens a second")
        print(f"    {padded} tokens with padding; first vector {first[:3]}")


if __name__ == "__main__":
    main()
