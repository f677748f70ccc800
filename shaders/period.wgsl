// out[e] = the smallest p such that slice i + p of element e equals slice i, for all i, along axis p.axis; the whole
// element is one line if p.rank is 0. Values are compared by their bits.
//
// A workgroup finds the longest border of each prefix (the longest part at its beginning that is also at its end) from
// those of shorter prefixes, as the algorithm of Knuth, Morris and Pratt does. That takes at most two comparisons of
// slices for each slice. `borders` has the borders of element e from x_meta[e] + e on, at the lengths of prefixes; only
// the first invocation uses it.

#params
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read> x_meta: array<u32>;
@group(0) @binding(3) var<storage, read_write> out: array<u32>;
@group(0) @binding(4) var<storage, read_write> borders: array<u32>;

const WG = 256u;

// How slices lie in an element: they have `size` values, in runs of `inner`.
struct Slices {
    begin: u32,
    number: u32,
    inner: u32,
    size: u32,
}

var<workgroup> sh_differs: atomic<u32>;
var<workgroup> sh_equal: u32;
var<workgroup> sh_border: u32;

// Whether slices i and k are equal. Requires workgroup-uniform control flow.
fn are_equal(of_element: Slices, i: u32, k: u32, lid: u32) -> bool {
    if lid == 0u {
        atomicStore(&sh_differs, 0u);
    }
    workgroupBarrier();
    for (var v = lid; v < of_element.size; v += WG) {
        let outer = v / of_element.inner;
        let at = of_element.begin + outer * (of_element.number - 1u) * of_element.inner + v;
        if x[at + i * of_element.inner] != x[at + k * of_element.inner] {
            atomicStore(&sh_differs, 1u);
        }
    }
    workgroupBarrier();
    if lid == 0u {
        sh_equal = u32(atomicLoad(&sh_differs) == 0u);
    }
    return workgroupUniformLoad(&sh_equal) != 0u;
}

#main {
    let begin = x_meta[group];
    let length = x_meta[group + 1u] - begin;
    var number = length;
    var inner = 1u;
    if p.rank != 0u {
        let extents = p.elements + 1u + group * p.rank;
        number = x_meta[extents + p.axis];
        for (var axis = p.axis + 1u; axis < p.rank; axis += 1u) {
            inner *= x_meta[extents + axis];
        }
    }
    if length == 0u {
        // Slices without values are equal.
        if lid == 0u {
            out[group] = min(number, 1u);
        }
        return;
    }
    let slices = Slices(p.x_base + begin, number, inner, length / number);
    let first = begin + group;
    var border = 0u;
    if lid == 0u {
        borders[first + 1u] = 0u;
    }
    for (var i = 1u; i < number; i += 1u) {
        var equal = are_equal(slices, i, border, lid);
        while !equal && border > 0u {
            if lid == 0u {
                sh_border = borders[first + border];
            }
            border = workgroupUniformLoad(&sh_border);
            equal = are_equal(slices, i, border, lid);
        }
        border += u32(equal);
        if lid == 0u {
            borders[first + i + 1u] = border;
        }
    }
    if lid == 0u {
        out[group] = number - border;
    }
}
