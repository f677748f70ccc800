// c = a * b for the items of a work list: transforms, product and inverse in one kernel, or direct sums if short.
//
// A workgroup does items of one class. Classes follow each other in `items` and over workgroups, and `ends` says where
// each ends: (workgroup, item), two classes in a vec4. An item is (a begin, b begin, c begin, lengths): the length of a
// in 14 bits, of b in 14 bits, then REVERSED and WINDOWED. A windowed item has in the place of `c begin` the index of
// its window, (c begin, results to skip, results to write); others write all results.
//
// MAX: only the largest result of an item and its index are written, as two words from word 2 · (offset in c) on.

#params ends: array<vec4<u32>, 6>
@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read> b: array<f32>;
#if MAX
@group(0) @binding(3) var<storage, read_write> c: array<u32>;
#else
@group(0) @binding(3) var<storage, read_write> c: array<f32>;
#endif
@group(0) @binding(4) var<storage, read> items: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read> twiddles: array<vec2<f32>>;

struct Item {
    a_at: u32,
    b_at: u32, // of the value that counts as the first
    b_step: u32, // 1, or -1 where b is read backwards
    m: u32,
    n: u32,
    c_at: u32,
    skip: u32,
    write: u32,
}

#include "complex"
#if MAX
#include "nan"
#include "best"
#endif

// Item i, or an empty item beyond the end of its class.
fn item_of(i: u32, end: u32) -> Item {
    if i >= end {
        return Item(0u, 0u, 1u, 0u, 0u, 0u, 0u, 0u);
    }
    let item = items[i];
    let m = item.w & ((1u << LENGTH_BITS) - 1u);
    let n = (item.w >> LENGTH_BITS) & ((1u << LENGTH_BITS) - 1u);
    var window = vec4(item.z, 0u, m + n - 1u, 0u);
    if (item.w & WINDOWED) != 0u {
        window = items[item.z];
    }
    let b_at = p.b_base + item.y;
    if (item.w & REVERSED) != 0u {
        return Item(p.a_base + item.x, b_at + n - 1u, 0xffffffffu, m, n, window.x, window.y, window.z);
    }
    return Item(p.a_base + item.x, b_at, 1u, m, n, window.x, window.y, window.z);
}

#if MAX
// The better one, where NOWHERE marks no value.
fn better_of(x: Best, y: Best) -> Best {
    if x.index == NOWHERE {
        return y;
    }
    if y.index == NOWHERE {
        return x;
    }
    return better(x, y);
}

// The best so far, including result `at`, if that many are to be written.
fn seen(item: Item, best: Best, at: u32, value: f32) -> Best {
    if at < item.write {
        return better_of(best, Best(value, at));
    }
    return best;
}

// Loads the value at `at` of the exchange. Indices are small enough to be exact as floats; -1 means none.
fn kept(at: u32) -> Best {
    let index = sh_exchange[at + 1u];
    return Best(sh_exchange[at], select(u32(index), NOWHERE, index < 0.0));
}

// Stores the best value of all invocations of an item.
fn keep(item: Item, mine: Best, j: u32, exchange: u32, threads: u32) {
    var best = mine;
    let at = exchange + 2u * j;
    for (var half = threads / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if j < 2u * half {
            sh_exchange[at] = best.value;
            sh_exchange[at + 1u] = select(f32(best.index), -1.0, best.index == NOWHERE);
        }
        workgroupBarrier();
        if j < half {
            best = better_of(best, kept(at + 2u * half));
        }
    }
    if j == 0u && item.write != 0u {
        c[2u * item.c_at] = bitcast<u32>(best.value);
        c[2u * item.c_at + 1u] = best.index;
    }
}
#else
// Stores result `at`, if that many are to be written.
fn store(item: Item, at: u32, value: f32) {
    if at < item.write {
#if ADD
        c[item.c_at + at] += value;
#else
        c[item.c_at + at] = value;
#endif
    }
}

// Direct sums of products, LANES results of an item at a time.
fn convolve_directly(group: u32, first: u32, end: u32, lid: u32) {
    let item = item_of(first + group * (WG / LANES) + lid / LANES, end);
    for (var q = item.skip + lid % LANES; q < item.skip + item.write; q += LANES) {
        let begin = select(0u, q + 1u - item.n, q + 1u > item.n);
        let stop = min(item.m, q + 1u);
        var sum = 0.0;
        for (var i = begin; i < stop; i += 1u) {
            sum = fma(a[item.a_at + i], b[item.b_at + (q - i) * item.b_step], sum);
        }
        c[item.c_at + q - item.skip] = sum;
    }
}
#endif

var<workgroup> sh_exchange: array<f32, $(EXCHANGE)>;
#generate "transforms"

#block load side name
// The operand mod z^N + i: value n + N is added to place n, times -i. Most operands end before the second half; one
// branch then skips all of it.
#for s held
$(name)[$(s)] = vec2(0.0);
#endfor
#for first part value in 0 x $(side), $(length) y -$(side)
if $(side)_left > $(first) {
#for s held; i in $(first + s * threads)
#if $(side) == a
    if a_left > $(i) { $(name)[$(s)].$(part) = $(value)[a_at + $(i)u]; }
#else
    if b_left > $(i) { $(name)[$(s)].$(part) = $(value)[b_at + $(i)u * item.b_step]; }
#endif
#endfor
}
#endfor
#endblock

#for length held threads words in $(CLASSES)
// Transforms one operand after the other, so that they share the workgroup's memory.
fn convolve_$(length)(group: u32, first: u32, end: u32, lid: u32) {
    let j = lid % $(threads)u;
    let slot = lid / $(threads)u;
    let item = item_of(first + group * (WG / $(threads)u) + slot, end);
    let a_at = item.a_at + j;
    let a_left = i32(item.m) - i32(j);
    let b_at = item.b_at + j * item.b_step;
    let b_left = i32(item.n) - i32(j);
    let exchange = slot * $(words)u;
    var v: array<vec2<f32>, $(held)>;
    var h: array<vec2<f32>, $(held)>;
#if LARGE
    // With two workgroups per core, nothing else hides the memory latency: load both operands first.
    #use load a, h
    #use load b, v
    forward_$(length)(&h, j, exchange);
    forward_$(length)(&v, j, exchange);
#else
    // The code of a transform is long; a loop needs it only once.
    for (var side = 0u; side < 2u; side += 1u) {
        h = v;
        if side == 0u {
            #use load a, v
        } else {
            #use load b, v
        }
        forward_$(length)(&v, j, exchange);
    }
#endif
    inverse_$(length)(&v, &h, j, exchange);
    let at = j - item.skip;
#if MAX
    var best = Best(0.0, NOWHERE);
#for s held
    best = seen(item, best, at + $(s * threads)u, v[$(s)].x);
#endfor
#for s held
    best = seen(item, best, at + $(length + s * threads)u, -v[$(s)].y);
#endfor
    keep(item, best, j, exchange, $(threads)u);
#else
#for s held
    store(item, at + $(s * threads)u, v[$(s)].x);
#endfor
#for s held
    store(item, at + $(length + s * threads)u, -v[$(s)].y);
#endfor
#endif
}
#endfor

// Finds the class of a workgroup.
fn convolve(group: u32, lid: u32) {
#for name begin first ended end in $(CHOICE)
#if PART
    if $(begin) <= group && group < $(ended) {
#else
    if group < $(ended) {
#endif
        convolve_$(name)(group - $(begin), $(first), $(end), lid);
    } else
#endfor
    {}
}

#main {
    convolve(group, lid);
}
