// Transforms of lengths that are products of 2, 3, 5 and 7, in stages whose radices are given by the task.
//
// A workgroup processes one task, two entries of the work list: (first item, items, n, radices minus one in 4 bits
// each, the first one lowest), and (offset of the twiddles of n, offset of the points of the half circle). The latter
// is 0 unless the transform is of 2 n real values as n complex ones; see `fft/real.wgsl`. p.length is the length of all
// items, or 0 if it differs.
//
// p.per_group, p.radices, p.twiddles and p.halves are used if all items are alike.

#params
@group(0) @binding(1) var<storage, read> x: array<vec2<f32>>;
@group(0) @binding(2) var<storage, read_write> y: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read> items: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> twiddles: array<vec2<f32>>;

struct Task {
    first: u32,
    count: u32,
    n: u32,
    halves: u32,
}

struct Stage {
    radix: u32,
    m: u32, // butterflies per element
    done: u32, // the product of the previous radices
    twiddles: u32,
    from_operand: bool,
    to_result: bool,
}

#include "complex"
#include "fft_items"
#include "fft_values"
#include "fft_halves"

// a / b for small numbers, given 1 / b: adding half a unit outweighs the rounding error.
fn quotient(a: u32, part: f32) -> u32 {
    return u32((f32(a) + 0.5) * part);
}

// Item f of a task.
fn item_of(t: Task, f: u32) -> vec4<u32> {
    return item_at(t.first + f);
}

// Value k of the workgroup is value i of its item, which begins at x in the operand and at y in the result.
struct Spot {
    k: u32,
    i: u32,
    x: u32,
    y: u32,
}

// Beyond the last value, returns the last.
fn spot(value: u32, t: Task) -> Spot {
    let k = min(value, t.count * t.n - 1u);
    let f = quotient(k, 1.0 / f32(t.n));
    let item = item_of(t, f);
    return Spot(k, k - f * t.n, item.x, item.y);
}

fn store_result(s: Spot, t: Task, value: vec2<f32>, z: vec2<f32>) {
    y[s.y + s.i] = value;
    if s.i == 0u {
        y[s.y + t.n] = vec2(z.x - z.y, 0.0);
    }
}

var<workgroup> sh_exchange: array<vec2<f32>, WG * HELD>;

// A stage of one radix. It reads the operand or workgroup memory, and writes workgroup memory or the result. Butterfly
// q of an invocation is number b of element f; `live` tells whether it exists.
#for radix butterflies in $(RADICES)
fn stage_$(radix)(lid: u32, t: Task, s: Stage) {
    let part = 1.0 / f32(s.m);
#for q butterflies
    let i$(q) = lid + $(q * WG)u;
    let f$(q) = quotient(i$(q), part);
    let b$(q) = i$(q) - f$(q) * s.m;
    let live$(q) = i$(q) < t.count * s.m;
#for k radix
    var x$(q)_$(k) = vec2(0.0);
#endfor
#endfor
    if s.from_operand {
#for q butterflies
        if live$(q) {
            let begin = (p.x_base >> 1u) + item_of(t, f$(q)).x + b$(q);
#for k radix
            x$(q)_$(k) = x[begin + $(k)u * s.m];
#endfor
        }
#endfor
        if (p.load & EXCHANGED) != 0u {
#for q butterflies; k radix
            x$(q)_$(k) = x$(q)_$(k).yx;
#endfor
        }
    } else {
#for q butterflies
        if live$(q) {
            let begin = f$(q) * t.n + b$(q);
#for k radix
            x$(q)_$(k) = sh_exchange[begin + $(k)u * s.m];
#endfor
        }
#endfor
        if !s.to_result { workgroupBarrier(); }
    }
    let each = 1.0 / f32(s.done);
#for q butterflies
    let block$(q) = quotient(b$(q), each);
    if s.done > 1u {
        let w = s.twiddles + b$(q) - block$(q) * s.done;
#for k radix - 1
        x$(q)_$(k + 1) = c_mul(x$(q)_$(k + 1), twiddles[w + $(k)u * s.done]);
#endfor
    }
    #generate "butterfly_$(radix)_$(q)"
#endfor
    if s.to_result {
        let exchanged = (p.store & EXCHANGED) != 0u;
#for q butterflies
        if live$(q) {
            let item = item_of(t, f$(q));
            let factor = bitcast<f32>(item.w);
            let to = item.y + b$(q);
#for k value in $(RESULTS_$(radix)_$(q))
            y[to + $(k)u * s.m] = factor * select($(value), $(value).yx, exchanged);
#endfor
        }
#endfor
    } else {
#for q butterflies
        if live$(q) {
            let to = f$(q) * t.n + b$(q) + block$(q) * s.done * $(radix - 1)u;
#for k value in $(RESULTS_$(radix)_$(q))
            sh_exchange[to + $(k)u * s.done] = $(value);
#endfor
        }
#endfor
        workgroupBarrier();
    }
}
#endfor

fn stage(lid: u32, t: Task, s: Stage) {
    switch s.radix {
#for radix butterflies in $(RADICES)
        case $(radix)u: { stage_$(radix)(lid, t, s); }
#endfor
        default: {}
    }
}

// All loads of the following are issued before the first value is used.

fn load_pairs(lid: u32, t: Task) {
#for s HELD
    let s$(s) = spot(lid + $(s)u * WG, t);
    let at$(s) = p.x_base + s$(s).x + 2u * s$(s).i;
    let a$(s) = x[at$(s) >> 1u];
    let b$(s) = x[(at$(s) + 1u) >> 1u];
#endfor
#for s HELD
    sh_exchange[s$(s).k] = select(a$(s), vec2(a$(s).y, b$(s).x), (at$(s) & 1u) != 0u);
#endfor
}

fn load_spectrum(lid: u32, t: Task) {
#for s HELD
    let s$(s) = spot(lid + $(s)u * WG, t);
    let at$(s) = (p.x_base >> 1u) + s$(s).x;
    let a$(s) = x[at$(s) + s$(s).i];
    let b$(s) = x[at$(s) + t.n - s$(s).i];
    let w$(s) = twiddles[t.halves + s$(s).i];
#endfor
#for s HELD
    sh_exchange[s$(s).k] = folded(s$(s).i, w$(s), a$(s), b$(s));
#endfor
}

fn store_spectrum(lid: u32, t: Task) {
#for s HELD
    let s$(s) = spot(lid + $(s)u * WG, t);
    let w$(s) = twiddles[t.halves + s$(s).i];
    let a$(s) = sh_exchange[s$(s).k];
    let b$(s) = sh_exchange[s$(s).k - s$(s).i + select(t.n - s$(s).i, 0u, s$(s).i == 0u)];
#endfor
#for s HELD
    store_result(s$(s), t, unfolded(w$(s), a$(s), b$(s)), a$(s));
#endfor
}

// Real values, or parts of a spectrum, of odd length.
fn load_odd(lid: u32, t: Task) {
    for (var k = lid; k < t.count * t.n; k += WG) {
        let f = quotient(k, 1.0 / f32(t.n));
        sh_exchange[k] = value_in(item_of(t, f), k - f * t.n);
    }
}

fn store_odd(lid: u32, t: Task) {
    for (var k = lid; k < t.count * t.n; k += WG) {
        let f = quotient(k, 1.0 / f32(t.n));
        value_out(item_of(t, f), k - f * t.n, sh_exchange[k]);
    }
}

fn store_pairs(lid: u32, t: Task) {
    for (var k = lid; k < t.count * t.n; k += WG) {
        let f = quotient(k, 1.0 / f32(t.n));
        let item = item_of(t, f);
        pair_out(item.y + 2u * (k - f * t.n), bitcast<f32>(item.w) * sh_exchange[k].yx);
    }
}

fn load_real(lid: u32, t: Task) {
    if t.halves == 0u {
        load_odd(lid, t);
    } else if (p.load & (REAL | HALF)) == REAL {
        load_pairs(lid, t);
    } else {
        load_spectrum(lid, t);
    }
}

fn store_real(lid: u32, t: Task) {
    if t.halves == 0u {
        store_odd(lid, t);
    } else if (p.store & (REAL | HALF)) == REAL {
        store_pairs(lid, t);
    } else {
        store_spectrum(lid, t);
    }
}

#main {
    var t: Task;
    var radices: u32;
    var s: Stage;
    if p.length > 0u {
        let first = group * p.per_group;
        t = Task(first, min(p.per_group, p.items - first), p.length >> u32(p.halves > 0u), p.halves);
        radices = p.radices;
        s.twiddles = p.twiddles;
    } else {
        let task = items[p.first_task + 2u * group];
        let places = items[p.first_task + 2u * group + 1u];
        t = Task(task.x - p.first_item, task.y, task.z, places.y);
        radices = task.w;
        s.twiddles = places.x;
    }
    let complex = ((p.load | p.store) & (REAL | HALF)) == 0u;
    if !complex {
        load_real(lid, t);
        workgroupBarrier();
    }
    s.done = 1u;
    s.from_operand = complex;
    loop {
        s.radix = (radices & 15u) + 1u;
        s.m = t.n / s.radix;
        radices >>= 4u;
        s.to_result = complex && radices == 0u;
        stage(lid, t, s);
        if radices == 0u {
            break;
        }
        if s.done > 1u {
            s.twiddles += (s.radix - 1u) * s.done;
        }
        s.done *= s.radix;
        s.from_operand = false;
    }
    if !complex {
        store_real(lid, t);
    }
}
