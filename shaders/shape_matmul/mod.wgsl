// c_ik = Σ_j a_ij ∘ b_jk for entries of matrices of vectors, by the definition. Plain: ∘ is convolution. KRON: ∘ is the
// Kronecker product.
//
// Tiles and tables as in ambient/mod.wgsl; c_meta holds the offsets that the entries computed here would have if there
// were no others. An invocation makes one value at a time. The terms of one j are summed first, then those sums.

#params
@group(0) @binding(1) var<storage, read> a: array<E>;
@group(0) @binding(2) var<storage, read> a_meta: array<u32>;
@group(0) @binding(3) var<storage, read> b: array<E>;
@group(0) @binding(4) var<storage, read> b_meta: array<u32>;
@group(0) @binding(5) var<storage, read_write> c: array<E>;
@group(0) @binding(6) var<storage, read> c_meta: array<u32>;
// Per entry: its offset in c, the first entry of its row of a, the first of its column of b, inner extent; columns of
// b, 0, 0, 0.
@group(0) @binding(7) var<storage, read> entries: array<vec4<u32>>;

const WG = 256u;
// Elements that fit in the tables.
const SPAN = 256u;

struct Entry {
    c: u32,
    a: u32,
    b: u32,
    inner: u32,
    columns: u32,
}

#include "search"

fn entry_of(e: u32) -> Entry {
    let first = entries[2u * e];
    return Entry(first.x, first.y, first.z, first.w, entries[2u * e + 1u].x);
}

#include "tables"

// Value q of the product of m values from a_at on and n values from b_at on; 0 if there is none.
fn term(q: u32, a_at: u32, m: u32, b_at: u32, n: u32) -> E {
    var sum = E(0);
#if KRON
    if m > 0u && n > 0u {
        let i = q / n;
        if i < m {
            sum = a[a_at + i] * b[b_at + q - i * n];
        }
    }
#else
    let end = min(n, q + 1u);
    for (var j = select(0u, q + 1u - m, q + 1u > m); j < end; j += 1u) {
        sum += a[a_at + q - j] * b[b_at + j];
    }
#endif
    return sum;
}

#main {
    let tile = tile_of(group * TILE, min((group + 1u) * TILE, p.total), lid);
    for (var v = tile.start + lid; v < tile.end; v += WG) {
        let e = place_in_tile(v, tile);
        let entry = entry_in_tile(e, tile);
        let q = v - start_in_tile(e, tile);
        var sum = E(0);
        for (var j = 0u; j < entry.inner; j += 1u) {
            let x = entry.a + j;
            let y = entry.b + j * entry.columns;
            let a_at = a_meta[x];
            let b_at = b_meta[y];
            sum += term(q, p.a_base + a_at, a_meta[x + 1u] - a_at, p.b_base + b_at, b_meta[y + 1u] - b_at);
        }
        c[entry.c + q] = sum;
    }
}
