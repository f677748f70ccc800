// One tile of a convolution: TILE consecutive values of (x * y)_q = Σ_j x_{q-j} y_j, R per invocation.
//
// x is the longer operand. Reading an operand backwards turns the convolution into a correlation. A chunk of CHUNK taps
// and the stretch of x that it is multiplied with are staged in workgroup memory, taps last to first, so that both are
// read in ascending order; the stretch slides through seven registers. R is odd, so that no two lanes of a warp access
// the same bank.
//
// Sums are blocked: 28 taps, then a chunk, then all, a depth of 28 + 9 + ⌈n / 252⌉ for n taps.
const BLOCK = 28u; // 4 * R
const CHUNK = 252u; // 9 * BLOCK

var<workgroup> sh_x: array<E, TILE + CHUNK>;
var<workgroup> sh_y: array<E, CHUNK>;

struct Meeting {
    a_at: u32,
    b_at: u32,
    m: u32, // values of the longer operand
    n: u32, // values of the shorter one
    swapped: bool, // the longer one is b
    reversed: bool, // b is read backwards
}

fn x_value(w: Meeting, i: i32) -> E {
    if i < 0 || i >= i32(w.m) {
        return E(0);
    }
    let k = u32(i);
    if w.swapped {
        return b[w.b_at + select(k, w.m - 1u - k, w.reversed)];
    }
    return a[w.a_at + k];
}

fn y_value(w: Meeting, j: u32) -> E {
    if w.swapped {
        return a[w.a_at + j];
    }
    return b[w.b_at + select(j, w.n - 1u - j, w.reversed)];
}

// Values q0 + R * lid ... of the tile that begins at q0. Neither operand may be empty.
fn convolve_tile(w: Meeting, q0: u32, lid: u32) -> array<E, R> {
    var all = array<E, R>();
    let tile = min(TILE, w.m + w.n - 1u - q0);
    // The taps that overlap x anywhere in the tile.
    let first = select(0u, q0 + 1u - w.m, q0 + 1u > w.m);
    let end = min(w.n, q0 + tile);
    for (var j0 = first; j0 < end; j0 += CHUNK) {
        workgroupBarrier();
        let x_from = i32(q0) - i32(j0) - i32(CHUNK - 1u);
        for (var i = lid; i < TILE + CHUNK; i += WG) {
            sh_x[i] = x_value(w, x_from + i32(i));
        }
        for (var s = lid; s < CHUNK; s += WG) {
            let j = j0 + CHUNK - 1u - s;
            var tap = E(0);
            if j < end {
                tap = y_value(w, j);
            }
            sh_y[s] = tap;
        }
        workgroupBarrier();
        if R * lid < tile {
            var chunk = array<E, R>();
            // Chunks with fewer taps have zeros at their beginning.
            let skipped = CHUNK - min(CHUNK, end - j0);
            for (var s0 = skipped / BLOCK * BLOCK; s0 < CHUNK; s0 += BLOCK) {
#for r R
                var c$(r) = E(0);
#endfor
                var x = R * lid + s0;
                var w0 = sh_x[x];
#for i R - 2
                var w$(i + 1) = sh_x[x + $(i + 1)u];
#endfor
                var w$(R - 1) = E(0);
                for (var s = s0; s < s0 + BLOCK; s += R) {
                    w$(R - 1) = sh_x[x + $(R - 1)u];
                    var t = sh_y[s];
#for r R
                    c$(r) += w$(r) * t;
#endfor
#for k R - 1
                    w$(k) = sh_x[x + $(k + R)u];
                    t = sh_y[s + $(k + 1)u];
#for r R
                    c$(r) += w$($(k + r + 1) % R) * t;
#endfor
#endfor
                    x += R;
                }
#for r R
                chunk[$(r)] += c$(r);
#endfor
            }
#for r R
            all[$(r)] += chunk[$(r)];
#endfor
        }
    }
    return all;
}

// The operands of pair i of the plan, located by p.a_base and p.b_base, reversed if p.reversed is set.
fn meeting_of(i: u32) -> Meeting {
    let pair = pair_of(i);
    let a_start = a_meta[pair.x];
    let b_start = b_meta[pair.y];
    let a_len = a_meta[pair.x + 1u] - a_start;
    let b_len = b_meta[pair.y + 1u] - b_start;
    return Meeting(
        p.a_base + a_start,
        p.b_base + b_start,
        max(a_len, b_len),
        min(a_len, b_len),
        b_len > a_len,
        p.reversed != 0u,
    );
}
