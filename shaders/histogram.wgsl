// Counts of the values of each element by bins: bin i has those from edge i to before edge i + 1, and the last bin also
// those that equal the last edge. Other values, and NaN, are in no bin.
//
// Values and edges are compared by integer keys of the same order, so that no compiler's rounding, flushing or
// assumptions about NaN can change a count. `edges` has the keys of the least value of each bin. If bins are equally
// wide (p.margin is below 1), the place of a value among them, computed in floats, is wrong by less than p.margin, and only
// a value that is nearer than that to an edge is compared with it. Otherwise its bin is searched.
//
// An item is [first element, number of elements, first value, end of the values], for a workgroup. The values of these
// elements are consecutive. With CUT they are a part of one element, whose counts begin with zeros.
//
// Bins that fit are counted in workgroup memory, in as many copies as fit: invocations that meet the same bin at the
// same time would wait for each other. More bins are counted in storage, and begin with zeros.

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
const PER_WORD = 1u;
#endif
// Values of a quad of words.
const PER = 4u * PER_WORD;

var<workgroup> sh_counts: array<atomic<u32>, COUNTERS>;

// The bits of value k of a quad.
fn bits_of(quad: vec4<u32>, k: u32) -> u32 {
#if F16
    return (quad[k / 2u] >> (16u * (k % 2u))) & 0xffffu;
#else
    return quad[k];
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
fn distance_of(bits: u32, key: u32) -> f32 {
#if F32
    return bitcast<f32>(bits) - bitcast<f32>(p.first_edge);
#else
#if F16
    return unpack2x16float(bits).x - bitcast<f32>(p.first_edge);
#else
    return f32(key - p.lowest);
#endif
#endif
}

// The last bin whose values begin at or below this one.
fn searched(key: u32) -> u32 {
    var bin = 0u;
    var high = p.bins;
    while high - bin > 1u {
        let middle = (bin + high) / 2u;
        if edges[middle] <= key {
            bin = middle;
        } else {
            high = middle;
        }
    }
    return bin;
}

fn bin_of(bits: u32, key: u32) -> u32 {
    let margin = bitcast<f32>(p.margin);
    var bin = 0u;
    if margin < 1.0 {
        let place = distance_of(bits, key) * bitcast<f32>(p.per_unit);
        let near = min(u32(place + 0.5), p.bins - 1u);
        bin = min(u32(place), p.bins - 1u);
        if abs(place - f32(near)) <= margin {
            bin = near - select(0u, 1u, key < edges[near]);
        }
    } else {
        bin = searched(key);
    }
    return bin;
}

// Adds `times` to a counter, which is one of its copies in workgroup memory.
fn add(counter: u32, times: u32, held: bool) {
    if times > 0u {
        if held {
            atomicAdd(&sh_counts[counter], times);
        } else {
            atomicAdd(&counts[counter], times);
        }
    }
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
    // Equal values often follow each other: they are added at once.
    var counter = base;
    var times = 0u;
    // All places are counted from the beginning of the buffer, in values.
    let begin = p.x_base + item.z;
    let end = p.x_base + item.w;
    for (var q = begin / PER + lid; q < (end + PER - 1u) / PER; q += WG) {
        let quad = x[q];
        var e = 0u;
        var next = end;
        if elements > 1u {
            e = place_of(item, elements, max(q * PER, begin) - p.x_base);
            next = p.x_base + x_meta[item.x + e + 1u];
        }
        for (var k = 0u; k < PER; k += 1u) {
            let v = q * PER + k;
            let bits = bits_of(quad, k);
            let key = key_of(bits);
            if v >= begin && v < end {
                while v >= next {
                    e += 1u;
                    next = p.x_base + x_meta[item.x + e + 1u];
                }
                if key - p.lowest <= p.span {
                    let its = base + ((e * p.bins + bin_of(bits, key)) << log);
                    if its != counter {
                        add(counter, times, held);
                        counter = its;
                        times = 0u;
                    }
                    times += 1u;
                }
            }
        }
    }
    add(counter, times, held);
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
