// A pass of a transform that is longer than a workgroup holds: FFTs of R values, one a column.
//
// N values are N / R columns, value k of column b at b + k N / R. After passes of radices whose product is Ns, column b is
// multiplied by e^(-2πi k q / (Ns R)), q = b mod Ns, and transformed, and result k goes to (b - q) R + q + k Ns: Stockham's
// algorithm, with radices of hundreds. A workgroup does C neighbouring columns, so that it reads C values side by side; it
// writes as many, or, in the first pass, where Ns is 1, all it has.
//
// What the first pass reads and the last one writes may be made of something else, as p.load and p.store say. A task is
// (x begin, y begin, first column, log2 N | log2 Ns << 8), (n, bits of the factor, begin of the second factor, 0).

struct Params {
    first_group: u32,
    groups: u32,
    x_base: u32,
    load: u32,
    store: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> x: array<vec2<f32>>;
@group(0) @binding(2) var<storage, read_write> y: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read> tasks: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> twiddles: array<vec2<f32>>;
@group(0) @binding(5) var<storage, read> roots: array<vec2<f32>>;

// In the place of the modes of a single element's values:
const PLAIN = 0x100u; // nothing but values, as between passes
const FILTER = 0x200u; // Bluestein's, which is read from nowhere
const PRODUCT = 0x400u; // of two spectra, for an inverse transform
// Beside those:
const CHIRP = 0x800u; // times Bluestein's chirp
// In the place of both:
const RIGHT_ANGLE = 0x1000u; // 2 N real values, of the polynomial modulo x^N = -i
const BACKWARDS = 0x2000u; // the same, from the last value to the first

#include "grid"
#include "complex"
#include "fft_values"

// e^(-2πi e / 2²⁴)
fn root(e: u32) -> vec2<f32> {
    return c_mul(roots[e >> 12u], roots[4096u + (e & 4095u)]);
}

// e^(-πi k² / n) for k < n <= 2²³. k² is reduced byte by byte, lest it overflow.
fn chirp(k: u32, n: u32) -> vec2<f32> {
    let size = 2u * n;
    var square = 0u;
    for (var shift = 24u; shift > 0u; shift -= 8u) {
        square = (square * 256u) % size;
        square = (square + k * ((k >> (shift - 8u)) & 255u)) % size;
    }
    // square / size of a turn, in 1024ths and what is left.
    let coarse = square * 32u;
    let fine = (coarse % size) * 32u;
    let q = (coarse / size) * 32u + fine / size;
    let angle = f32(fine % size) / f32(size) * 0.006135923151542565;
    let t = roots[4u * q];
    let c = -0.5 * angle * angle;
    let s = fma(angle * c, 0.3333333333, angle);
    return vec2(fma(t.y, s, fma(t.x, c, t.x)), fma(-t.x, s, fma(t.y, c, t.y)));
}

// Real value i, zero from n on. Loads do not wait for each other where none is in a branch.
fn real_in(item: vec4<u32>, i: u32) -> f32 {
    let inside = min(i, item.z - 1u);
    let at = p.x_base + item.x + select(inside, item.z - 1u - inside, p.load == BACKWARDS);
    let two = x[at >> 1u];
    return select(select(two.x, two.y, (at & 1u) != 0u), 0.0, i >= item.z);
}

fn real_out(item: vec4<u32>, i: u32, value: f32) {
    if i < item.z {
        let at = item.y + i;
        y[at >> 1u][at & 1u] = value;
    }
}

// Of the polynomial modulo x^N = -i, times the turn that it was loaded with.
fn store_both(item: vec4<u32>, log_n: u32, i: u32, value: vec2<f32>, turn: vec2<f32>) {
    let both = c_mul(value.yx, vec2(turn.x, -turn.y));
    real_out(item, i, both.x);
    real_out(item, i + (1u << log_n), -both.y);
}

fn first_value(item: vec4<u32>, log_n: u32, i: u32) -> vec2<f32> {
    if (p.load & FILTER) != 0u {
        let k = min(i, (1u << log_n) - i);
        if k >= item.z {
            return vec2(0.0);
        }
        return chirp(k, item.z) * vec2(1.0, -1.0) * bitcast<f32>((127u - log_n) << 23u);
    }
    if i >= item.z {
        return vec2(0.0);
    }
    if (p.load & CHIRP) != 0u {
        return c_mul(value_in(item, i), chirp(i, item.z));
    }
    return value_in(item, i);
}

fn last_value(item: vec4<u32>, i: u32, value: vec2<f32>) {
    if i >= item.z {
        return;
    }
    if (p.store & CHIRP) != 0u {
        value_out(item, i, c_mul(value.yx, chirp(i, item.z)));
    } else {
        value_out(item, i, value);
    }
}

#generate "fft_pass"

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) count: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let group = group_index(wid, count);
    if group >= p.groups {
        return;
    }
    let task = tasks[2u * group];
    let more = tasks[2u * group + 1u];
    let item = vec4(task.xy, more.xy);
    let log_n = task.w & 0xffu;
    let log_ns = task.w >> 8u;
    let c = lid % C;
    let j = lid / C;
    let b = task.z + c;
    let log_columns = log_n - LOG_R;

    var v: array<vec2<f32>, HELD>;
    let start = b + (j << log_columns);
    let stride = 1u << (log_columns + LOG_T);
    switch p.load {
        case PLAIN: {
            load(&v, (p.x_base >> 1u) + task.x + start, stride);
        }
        case PRODUCT: {
            load_product(&v, task.x + start, more.z + start, stride);
        }
        case RIGHT_ANGLE, BACKWARDS: {
            load_right_angle(&v, item, log_n, start, stride);
        }
        default: {
            load_first(&v, item, log_n, start, stride);
        }
    }
#if FIRST
    transform(&v, j, c);
    turn_columns(&v, lid, j, c);
    let first = (task.z << LOG_R) + lid;
    let step = WG;
#else
    let column = b & ((1u << log_ns) - 1u);
    var w = weights(column << (24u - log_ns - LOG_R), j);
    transform(&v, &w, j, c);
    let first = ((b - column) << LOG_R) + column + (j << log_ns);
    let step = 1u << (log_ns + LOG_T);
#endif
    switch p.store {
        case PLAIN: {
            store(&v, task.y + first, step);
        }
        case RIGHT_ANGLE: {
            store_right_angle(&v, item, log_n, first, step);
        }
        default: {
            store_last(&v, item, first, step);
        }
    }
}
