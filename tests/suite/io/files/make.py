"""Writes the files in this folder, from the documentation of vsla::io and with nothing of the library.

    python3 make.py
"""

import itertools
import math
import struct
import zlib


def version_1(name, order, dtype, shape, capacity, value):
    size = struct.calcsize(dtype)
    strides = [size * math.prod(capacity[axis + 1 :]) for axis in range(len(shape))]
    out = b"VSLAv01\0" + struct.pack("4B", order == ">", len(shape), 0, "df".index(dtype))
    out += struct.pack(order + "I", 0)
    for part in shape, capacity, strides:
        out += struct.pack(f"{order}{len(shape)}Q", *part)
    at = 0
    for index in itertools.product(*map(range, capacity)):
        inside = all(i < extent for i, extent in zip(index, shape))
        out += struct.pack(order + dtype, value(at) if inside else -77)
        at += inside
    open(name, "wb").write(out)


def version_2(name, contents, dtype, rank, elements, shapes, code, values, topology=()):
    out = b"VSLAv02\0" + bytes([contents, dtype, rank, 0, 0, 0, 0, 0])
    count = len(values) // 2 if dtype == 5 else len(values)
    out += struct.pack("<QQ", elements, count)
    out += struct.pack(f"<{len(shapes) + len(topology)}I", *shapes, *topology)
    out += struct.pack(f"<{len(values)}{code}", *values)
    open(name, "wb").write(out + struct.pack("<I", zlib.crc32(out)))


def halves(n):
    return [i / 2 - 3 for i in range(n)]


NAN = 0x7FC0_1234, 0xFF80_0001, 0x7F80_0000, 0x8000_0000

version_1("v1-f64-3.vsla", "<", "d", [3], [4], lambda i: i / 2 - 3)
version_1("v1-f64-5x7.vsla", "<", "d", [5, 7], [8, 8], lambda i: i / 2 - 3)
version_1("v1-f32-big-2x3x1.vsla", ">", "f", [2, 3, 1], [2, 4, 3], lambda i: i / 2 - 3)
version_1("v1-f32-0x3.vsla", "<", "f", [0, 3], [0, 4], lambda i: 0)

version_2("f64.vsla", 0, 0, 1, 3, [2, 0, 1], "d", halves(3))
version_2("f32.vsla", 0, 1, 2, 3, [2, 3, 3, 0, 1, 1], "f", halves(7))
version_2("f32-nan.vsla", 0, 1, 1, 2, [1, 3], "I", NAN)
version_2("f16.vsla", 0, 2, 3, 1, [1, 2, 3], "e", halves(6))
version_2("u32.vsla", 0, 3, 8, 1, [1, 1, 1, 2, 1, 1, 1, 1], "I", [1, 2**32 - 1])
version_2("i32.vsla", 0, 4, 1, 1, [2], "i", [-1, -(2**31)])
version_2("c32.vsla", 0, 5, 1, 2, [1, 2], "f", halves(6))
version_2("u8.vsla", 0, 6, 2, 2, [1, 3, 0, 2], "B", [0, 128, 255])
version_2("none.vsla", 0, 1, 3, 0, [], "f", [])
version_2("empty.vsla", 0, 4, 1, 4, [0, 0, 0, 0], "i", [])
# 20 x 17 in blocks of 8 x 16, at (0, 1), (2, 0) and (2, 1).
topology = [20, 17, 8, 16, 3, 1, 0, 2, 1, 2, 1, 0, 1]
version_2("bsr-f32.vsla", 1, 1, 3, 1, [3, 8, 16], "f", halves(3 * 128), topology)
version_2("bsr-f16-2.vsla", 1, 2, 3, 2, 2 * [3, 8, 16], "e", halves(2 * 3 * 128), topology)
version_2("bsr-none.vsla", 1, 1, 3, 1, [0, 8, 8], "f", [], [16, 8, 8, 8, 0, 0, 0, 0])
