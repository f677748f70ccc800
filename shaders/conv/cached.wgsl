// c = a * kernel for the items of a work list, with cached spectra of the kernels; or, with p.spectra, these spectra.
//
// An item is a stretch of one convolution: (offset in a, values of a to use, offset of the spectrum, parts of the
// kernel), then (offset in c, results to skip, results to write, first value of the window). Items come in runs of
// `rounds` that share a spectrum, which stays in registers. With p.spectra an item is a part of a kernel, and its
// spectrum is written to c, where the offset in c counts complex values.
//
// PARTS: the kernel is longer than a transform. Each part is multiplied with its own window of a, one transform's
// length of results before that of the previous part, and the products are summed as spectra.

#params
@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read> spectra: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read_write> c: array<f32>;
@group(0) @binding(4) var<storage, read> items: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read> twiddles: array<vec2<f32>>;

struct Item {
    a_at: u32,
    values: u32,
    spectrum: u32,
    parts: u32,
    c_at: u32,
    skip: u32,
    write: u32,
    start: u32, // of the window; PARTS only
}

#include "complex"

// Item i, or an empty item beyond the last.
fn item_of(i: u32) -> Item {
    if i >= p.items {
        return Item(0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u);
    }
    let x = items[2u * i];
    let y = items[2u * i + 1u];
    return Item(p.a_base + x.x, x.y, x.z, x.w, y.x, y.y, y.z, y.w);
}

// Stores result `at`, if that many are to be written.
fn store(item: Item, at: u32, value: f32) {
    if at < item.write {
        c[item.c_at + at] = value;
    }
}

var<workgroup> sh_exchange: array<f32, WORDS * (WG / THREADS)>;

#generate "conv_cached"

// A right-angle transform holds value n + LENGTH, times -i, at place n. The second half of the results is in negated
// imaginary parts.
#if PARTS
fn convolve(group: u32, lid: u32) {
    let j = lid;
    let item = item_of(group);
    var sum: array<vec2<f32>, HELD>;
    for (var part = 0u; part < item.parts; part += 1u) {
        var v: array<vec2<f32>, HELD>;
        // Windows begin at multiples of the transform's length, the first one of an element a transform's length before
        // it.
        let start = i32(item.start) - i32(part * LENGTH);
        if start >= 0 {
            let begin = u32(start) + j;
#for s HELD
            if begin + $(s * THREADS)u < item.values { v[$(s)].x = a[item.a_at + begin + $(s * THREADS)u]; }
#endfor
        }
        if start + $(LENGTH) >= 0 {
            let begin = u32(start + $(LENGTH)) + j;
#for s HELD
            if begin + $(s * THREADS)u < item.values { v[$(s)].y = -a[item.a_at + begin + $(s * THREADS)u]; }
#endfor
        }
        forward(&v, j, 0u);
        let h_at = item.spectrum + part * LENGTH + j;
#for s HELD
        sum[$(s)] = c_add(sum[$(s)], v[$(s)], spectra[h_at + $(s * THREADS)u]);
#endfor
    }
    inverse(&sum, j, 0u);
    let at = j - item.skip;
    if item.skip < LENGTH {
#for s HELD
        store(item, at + $(s * THREADS)u, sum[$(s)].x);
#endfor
    }
    if item.skip + item.write > LENGTH {
#for s HELD
        store(item, at + $(LENGTH + s * THREADS)u, -sum[$(s)].y);
#endfor
    }
}
#else
fn convolve(group: u32, lid: u32) {
    let j = lid % THREADS;
    let slot = lid / THREADS;
    let first = (group * (WG / THREADS) + slot) * p.rounds;
    let exchange = slot * WORDS;
    var v: array<vec2<f32>, HELD>;
    var h: array<vec2<f32>, HELD>;
    for (var round = 0u; round < p.rounds; round += 1u) {
        let item = item_of(first + round);
        let a_at = item.a_at + j;
        let a_left = i32(item.values) - i32(j);
#for s HELD
        v[$(s)] = vec2(0.0);
#endfor
        if a_left > 0 {
#for s HELD
            if a_left > $(s * THREADS) { v[$(s)].x = a[a_at + $(s * THREADS)u]; }
#endfor
        }
        // Most signals end before the second half; one branch then skips all of it.
        if a_left > $(LENGTH) {
#for s HELD
            if a_left > $(LENGTH + s * THREADS) { v[$(s)].y = -a[a_at + $(LENGTH + s * THREADS)u]; }
#endfor
        }
        if p.spectra == 0u && round == 0u {
#for s HELD
            h[$(s)] = spectra[item.spectrum + j + $(s * THREADS)u];
#endfor
        }
        forward(&v, j, exchange);
        if p.spectra != 0u {
            if item.write != 0u {
                let at = 2u * (item.c_at + j);
#for s HELD
                c[at + $(2 * s * THREADS)u] = v[$(s)].x;
                c[at + $(2 * s * THREADS + 1)u] = v[$(s)].y;
#endfor
            }
            continue;
        }
        inverse(&v, &h, j, exchange);
        let at = j - item.skip;
        if item.skip < LENGTH {
#for s HELD
            store(item, at + $(s * THREADS)u, v[$(s)].x);
#endfor
        }
        if item.skip + item.write > LENGTH {
#for s HELD
            store(item, at + $(LENGTH + s * THREADS)u, -v[$(s)].y);
#endfor
        }
    }
}
#endif

#main {
    convolve(group, lid);
}
