// Counts of the values of each element by bins: bin i has those from edge i to before edge i + 1, and the last bin also
// those that equal the last edge. Other values, and NaN, are in no bin.
//
// Where bins are equally wide, the place of a value among them is computed in floats, with an error below p.margin. The
// bin of a value that is farther than that from every edge is certain. All other values (all values, if the margin is
// 1) are compared with edges by integer keys of the same order, so that no rounding, flushing or assumption about NaN
// can change a count. `edges` has the keys of the least value of each bin.
//
// An item is [first element, number of elements, first value, end of the values], for a workgroup. The values of these
// elements are consecutive. With CUT they are a part of one element, whose counts begin with zeros.
//
// Bins that fit are counted in workgroup memory, in as many copies as fit: invocations that meet the same bin at the
// same time would wait for each other. More bins are counted in storage, and begin with zeros. BYTES: values are bytes.

#params
@group(0) @binding(1) var<storage, read_write> counts: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read> items: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> edges: array<u32>;
@group(0) @binding(4) var<storage, read> x: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read> x_meta: array<u32>;

const WG = 256u;
// The logarithm of the most copies of a counter.
const MOST_COPIES = 5u;
#if F16
const PER_WORD = 2u;
#else
#if BYTES
const PER_WORD = 4u;
#else
const PER_WORD = 1u;
#endif
#endif
// No bin.
const NONE = 0xffffffffu;
// 1.5 · 2²³: added to a float, it leaves the nearest integer in the low bits.
const SHIFT = 12582912.0;

var<workgroup> sh_counts: array<atomic<u32>, COUNTERS>;

#if BYTES
#include "bytes"
#endif

// The bits of four consecutive values of a quad of words: the only ones, or a half or a quarter of them.
fn four_of(quad: vec4<u32>, part: u32) -> vec4<u32> {
#if F16
    let words = select(quad.xy, quad.zw, part == 1u);
    return vec4(words.x & 0xffffu, words.x >> 16u, words.y & 0xffffu, words.y >> 16u);
#else
#if BYTES
    let two = select(quad.xy, quad.zw, part >= 2u);
    let word = select(two.x, two.y, (part & 1u) == 1u);
    return bytes_of(word);
#else
    return quad;
#endif
#endif
}

// The order of keys is that of values; −0 is just below 0.
fn key_of(bits: u32) -> u32 {
#if U32
    return bits;
#else
#if I32
    return bits ^ 0x80000000u;
#else
#if F16
    let signed = bitcast<i32>(bits << 16u) >> 16u;
    return bitcast<u32>(signed ^ ((signed >> 31u) & 0x7fff)) ^ 0x80000000u;
#else
    let signed = bitcast<i32>(bits);
    return bitcast<u32>(signed ^ ((signed >> 31u) & 0x7fffffff)) ^ 0x80000000u;
#endif
#endif
#endif
}

// How far a value is above the first edge.
fn distance_of(bits: u32) -> f32 {
#if F32
    return bitcast<f32>(bits) - bitcast<f32>(p.first_edge);
#else
#if F16
    return unpack2x16float(bits).x - bitcast<f32>(p.first_edge);
#else
    return f32(key_of(bits) - p.lowest);
#endif
#endif
}

// The bin of a value that is between `near` − 1 and `near` + 1 unless the margin is 1.
fn bin_of(bits: u32, near: u32) -> u32 {
    let key = key_of(bits);
    var bin = NONE;
    if key - p.lowest <= p.span {
        if bitcast<f32>(p.margin) < 1.0 {
            let last = min(near, p.bins - 1u);
            bin = last - select(0u, 1u, key < edges[last]);
        } else {
            // The last bin whose values begin at or below this one.
            bin = 0u;
            var high = p.bins;
            while high - bin > 1u {
                let middle = (bin + high) / 2u;
                if edges[middle] <= key {
                    bin = middle;
                } else {
                    high = middle;
                }
            }
        }
    }
    return bin;
}

// The bins of four values; p.bins or more if a value is in none.
fn bins_of(four: vec4<u32>) -> vec4<u32> {
    let distances = vec4(distance_of(four.x), distance_of(four.y), distance_of(four.z), distance_of(four.w));
    let places = distances * bitcast<f32>(p.per_unit);
    let shifted = places + SHIFT;
    let near = bitcast<vec4<u32>>(shifted) - bitcast<u32>(SHIFT);
    // Negative if a value is below the edge that it is nearest to. The mask hides the sum from compilers, some of which
    // would otherwise cancel SHIFT, and then no bin would be certain.
    let rest = places - (bitcast<vec4<f32>>(bitcast<vec4<u32>>(shifted) & vec4(p.ones)) - SHIFT);
    var bins = near - select(vec4(0u), vec4(1u), rest < vec4(0.0));
    let certain = abs(rest) > vec4(bitcast<f32>(p.margin));
    if !all(certain) {
## Components have names, because drivers keep vectors with variable indices in memory.
#for k in x, y, z, w
        if !certain.$(k) {
            bins.$(k) = bin_of(four.$(k), near.$(k));
        }
#endfor
    }
    return bins;
}

// The last of the item's elements that begins at or before value v.
fn place_of(item: vec4<u32>, elements: u32, v: u32) -> u32 {
    var e = 0u;
    var high = elements;
    while high - e > 1u {
        let middle = (e + high) / 2u;
        if x_meta[item.x + middle] <= v {
            e = middle;
        } else {
            high = middle;
        }
    }
    return e;
}

#main {
    let item = items[group];
    let elements = item.y & ~CUT;
    let counters = elements * p.bins;
    let first_counter = item.x * p.bins;
    let held = p.bins <= COUNTERS;
    var log = 0u;
    if held {
        log = min(MOST_COPIES, firstLeadingBit(COUNTERS / counters));
        for (var i = lid; i < (counters << log); i += WG) {
            atomicStore(&sh_counts[i], 0u);
        }
    }
    workgroupBarrier();

    let copies = (1u << log) - 1u;
    // Where the counter of bin 0 of the item's first element is.
    let base = select(first_counter, lid & copies, held);
    // A counter in storage, and how often to increment it: equal values often follow each other.
    var counter = base;
    var times = 0u;
    // All places are counted from the beginning of the buffer, in values.
    let begin = p.x_base + item.z;
    let end = p.x_base + item.w;
    // Of the element that has the last value: where its counters and the values of the next element begin.
    var e = 0u;
    var its = base;
    var next = select(end, begin, elements > 1u);
    // Without values, the loop must not run, because it compares with edges, which a batch without values does not
    // have.
    let quads = select(0u, (end + 4u * PER_WORD - 1u) / (4u * PER_WORD), begin < end);
    let last_quad = max(quads, 1u) - 1u;
    let first_quad = begin / (4u * PER_WORD) + lid;
    // Two later quads are on their way while one is counted.
    var quad_next = x[min(first_quad, last_quad)];
    var quad_later = x[min(first_quad + WG, last_quad)];
    for (var q = first_quad; q < quads; q += WG) {
        let quad = quad_next;
        quad_next = quad_later;
        quad_later = x[min(q + 2u * WG, last_quad)];
        for (var part = 0u; part < PER_WORD; part += 1u) {
            let first = 4u * (q * PER_WORD + part);
            if max(first, begin) >= next && first < end {
                e = place_of(item, elements, max(first, begin) - p.x_base);
                its = base + ((e * p.bins) << log);
                next = p.x_base + x_meta[item.x + e + 1u];
            }
            let inside = first >= begin && first + 4u <= min(next, end);
            let bins = bins_of(four_of(quad, part));
            if inside && held {
#for k in x, y, z, w
                if bins.$(k) < p.bins {
                    atomicAdd(&sh_counts[its + (bins.$(k) << log)], 1u);
                }
#endfor
                continue;
            }
#for component k in x 0, y 1, z 2, w 3
            if bins.$(component) < p.bins {
                let v = first + $(k)u;
                var counted = true;
                if !inside {
                    counted = v >= begin && v < end;
                    while counted && v >= next {
                        e += 1u;
                        its = base + ((e * p.bins) << log);
                        next = p.x_base + x_meta[item.x + e + 1u];
                    }
                }
                let slot = its + (bins.$(component) << log);
                if counted && held {
                    atomicAdd(&sh_counts[slot], 1u);
                } else if counted {
                    if slot != counter {
                        if times > 0u {
                            atomicAdd(&counts[counter], times);
                        }
                        counter = slot;
                        times = 0u;
                    }
                    times += 1u;
                }
            }
#endfor
        }
    }
    if times > 0u {
        atomicAdd(&counts[counter], times);
    }
    workgroupBarrier();

    if held {
        for (var i = lid; i < counters; i += WG) {
            var sum = 0u;
            for (var copy = 0u; copy <= copies; copy += 1u) {
                // Each invocation begins with another copy, so that they read different banks.
                sum += atomicLoad(&sh_counts[(i << log) + ((copy + lid) & copies)]);
            }
            if (item.y & CUT) == 0u {
                atomicStore(&counts[first_counter + i], sum);
            } else if sum > 0u {
                atomicAdd(&counts[first_counter + i], sum);
            }
        }
    }
}
