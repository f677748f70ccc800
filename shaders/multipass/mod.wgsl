// A pass of a transform that is too long for one workgroup: FFTs of R values, one per column.
//
// N values form N / R columns; value k of column b is at b + k N / R. After passes whose radices multiply to Ns, column
// b is multiplied by e^(-2πi k q / (Ns R)), q = b mod Ns, and transformed, and result k goes to (b - q) R + q + k Ns:
// Stockham's algorithm, with radices of hundreds. A workgroup processes C neighbouring columns, so that it reads C
// adjacent values; it writes as many adjacent values, or, in the first pass, where Ns is 1, all of its values.
//
// The input of the first pass and the output of the last may be in another form, as p.load and p.store say. A task is
// (x offset, y offset, first column, log2 N | log2 Ns << 8), (n, bits of the factor, offset of the second factor, 0).
// HALVES, the last pass for 2 n real values, processes each column together with its mirror.

#params
@group(0) @binding(1) var<storage, read> x: array<vec2<f32>>;
@group(0) @binding(2) var<storage, read_write> y: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read> tasks: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> twiddles: array<vec2<f32>>;
@group(0) @binding(5) var<storage, read> roots: array<vec2<f32>>;

const PAIRS = REAL | PAIRED;
const FOLDED = HALF | EXCHANGED | PAIRED;
const PAIRS_BACK = REAL | EXCHANGED | PAIRED;

var<workgroup> sh_exchange: array<f32, HELD * THREADS * C>;

#include "complex"
#include "fft_values"
#include "fft_halves"

// e^(-2πi e / 2²⁴)
fn root(e: u32) -> vec2<f32> {
    return c_mul(roots[e >> 12u], roots[4096u + (e & 4095u)]);
}

// e^(-πi m / n) for m < 2 n <= 2²⁴: a table of 1024ths of a turn, and a series for the remainder.
fn half_turn(m: u32, n: u32) -> vec2<f32> {
    let size = 2u * n;
    let coarse = m * 32u;
    let fine = (coarse % size) * 32u;
    let q = (coarse / size) * 32u + fine / size;
    let angle = f32(fine % size) / f32(size) * 0.006135923151542565;
    let t = roots[4u * q];
    let c = -0.5 * angle * angle;
    let s = fma(angle * c, 0.3333333333, angle);
    return vec2(fma(t.y, s, fma(t.x, c, t.x)), fma(-t.x, s, fma(t.y, c, t.y)));
}

// e^(-πi k² / n) for k < n <= 2²³. k² is reduced byte by byte, to avoid overflow.
fn chirp(k: u32, n: u32) -> vec2<f32> {
    let size = 2u * n;
    var square = 0u;
    for (var shift = 24u; shift > 0u; shift -= 8u) {
        square = (square * 256u) % size;
        square = (square + k * ((k >> (shift - 8u)) & 255u)) % size;
    }
    return half_turn(square, n);
}

// Value s of an invocation is `step` after the previous one.

#if FIRST
// Real value i, or zero from n on. Without a branch, loads do not wait for each other.
fn real_in(item: vec4<u32>, i: u32) -> f32 {
    let inside = min(i, item.z - 1u);
    let at = p.x_base + item.x + select(inside, item.z - 1u - inside, p.load == BACKWARDS);
    let two = x[at >> 1u];
    return select(select(two.x, two.y, (at & 1u) != 0u), 0.0, i >= item.z);
}

// Value i of a spectrum of 2 n real values, folded.
fn folded_in(item: vec4<u32>, i: u32, w: vec2<f32>) -> vec2<f32> {
    let begin = (p.x_base >> 1u) + item.x;
    return folded(i, w, x[begin + i], x[begin + item.z - i]);
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
    var value: vec2<f32>;
    switch p.load & ~CHIRP {
        case PAIRS: {
            value = pair_in(p.x_base + item.x + 2u * i);
        }
        case FOLDED: {
            value = folded_in(item, i, half_turn(i, item.z));
        }
        default: {
            value = value_in(item, i);
        }
    }
    if (p.load & CHIRP) != 0u {
        return c_mul(value, chirp(i, item.z));
    }
    return value;
}
fn load_product(v: ptr<function, array<vec2<f32>, HELD>>, first: u32, second: u32, start: u32, step: u32) {
#for s HELD
    (*v)[$(s)] = c_mul(x[first + start + $(s)u * step], x[second + start + $(s)u * step]).yx;
#endfor
}

fn load_pairs(v: ptr<function, array<vec2<f32>, HELD>>, item: vec4<u32>, start: u32, step: u32) {
    let at = p.x_base + item.x + 2u * start;
    if (at & 1u) == 0u {
#for s HELD
        (*v)[$(s)] = x[(at >> 1u) + $(s)u * step];
#endfor
    } else {
#for s HELD
        (*v)[$(s)] = pair_in(at + $(s)u * 2u * step);
#endfor
    }
}

fn load_first(
    v: ptr<function, array<vec2<f32>, HELD>>,
    item: vec4<u32>,
    log_n: u32,
    start: u32,
    step: u32,
) {
#for s HELD
    (*v)[$(s)] = first_value(item, log_n, start + $(s)u * step);
#endfor
}

fn store(v: ptr<function, array<vec2<f32>, HELD>>, start: u32, step: u32) {
#for s HELD
    y[start + $(s)u * step] = (*v)[$(s)];
#endfor
}

#else
#if HALVES
// The column of an invocation. Its mirror, column n - b modulo the number of columns, is C / 2 invocations away, so
// that values that unfold together are in one workgroup. If n is even, two columns are their own mirrors and take the
// places of a pair.
//
// Columns above the middle begin at a 32-byte sector of y, because a partial write of a sector costs more.
fn column_of(item: vec4<u32>, first: u32, c: u32, log_columns: u32) -> u32 {
    let middle = item.z / 2u;
    let odd = item.z % 2u;
    let aligned = (0u - item.y - middle - odd) % 4u;
    let i = (first + c % (C / 2u) + aligned) & ((1u << (log_columns - 1u)) - 1u);
    let single = i == 0u && odd == 0u;
    let above = middle + select(i + odd, 1u << (log_columns - 1u), single);
    return select(above, middle - i, c < C / 2u) & ((1u << log_columns) - 1u);
}

fn chirp_values(v: ptr<function, array<vec2<f32>, HELD>>, item: vec4<u32>, start: u32, step: u32) {
#for s HELD
    (*v)[$(s)] = c_mul((*v)[$(s)].yx, chirp(min(start + $(s)u * step, item.z - 1u), item.z));
#endfor
}

// Value 0 is its own mirror, and the one extra result is computed from it alone.
fn store_ends(
    v: ptr<function, array<vec2<f32>, HELD>>,
    m: ptr<function, array<vec2<f32>, HELD>>,
    item: vec4<u32>,
    start: u32,
) {
    if start == 0u {
        (*m)[0] = (*v)[0];
        y[item.y + item.z] = vec2((*v)[0].x - (*v)[0].y, 0.0);
    }
}

fn store_some_halves(
    v: ptr<function, array<vec2<f32>, HELD>>,
    m: ptr<function, array<vec2<f32>, HELD>>,
    item: vec4<u32>,
    start: u32,
    step: u32,
) {
    store_ends(v, m, item, start);
    let to = item.y + start;
#for s HELD
    if start + $(s)u * step < item.z {
        y[to + $(s)u * step] = unfolded(half_turn(start + $(s)u * step, item.z), (*v)[$(s)], (*m)[$(s)]);
    }
#endfor
}

// Fetches the mirror of each value of an invocation: the value of column `column` in row `rows` minus the value's own.
fn mirror(
    v: ptr<function, array<vec2<f32>, HELD>>,
    m: ptr<function, array<vec2<f32>, HELD>>,
    j: u32,
    c: u32,
    column: u32,
    rows: u32,
) {
    let put = j * C + c;
    let last = rows - j;
    workgroupBarrier();
#for s HELD
    sh_exchange[put + $(s * THREADS * C)u] = (*v)[$(s)].x;
#endfor
    workgroupBarrier();
#for s HELD
    (*m)[$(s)].x = sh_exchange[((last - $(s * THREADS)u) & ((1u << LOG_R) - 1u)) * C + column];
#endfor
    workgroupBarrier();
#for s HELD
    sh_exchange[put + $(s * THREADS * C)u] = (*v)[$(s)].y;
#endfor
    workgroupBarrier();
#for s HELD
    (*m)[$(s)].y = sh_exchange[((last - $(s * THREADS)u) & ((1u << LOG_R) - 1u)) * C + column];
#endfor
}
#else
// The column of an invocation, rotated so that writes begin at a 32-byte sector of y: a partial write of a sector costs
// as much again. The rotation is within the columns whose results are adjacent.
fn shifted(begin: u32, first: u32, c: u32, log_columns: u32) -> u32 {
    var aligned = (0u - begin) % 4u;
    if (p.store & PAIRED) != 0u {
        aligned = (0u - begin / 2u) % 4u;
    } else if (p.store & REAL) != 0u || p.store == RIGHT_ANGLE {
        aligned = (0u - begin) % 8u;
    }
    let mask = (1u << log_columns) - 1u;
    return (first & ~mask) + ((first + c + aligned) & mask);
}

fn real_out(item: vec4<u32>, i: u32, value: f32) {
    if i < item.z {
        let at = item.y + i;
        y[at >> 1u][at & 1u] = value;
    }
}

// Stores a value of the polynomial modulo x^N = -i, with the twiddle applied at load undone.
fn store_both(item: vec4<u32>, log_n: u32, i: u32, value: vec2<f32>, twiddle: vec2<f32>) {
    let both = c_mul(value.yx, vec2(twiddle.x, -twiddle.y));
    real_out(item, i, both.x);
    real_out(item, i + (1u << log_n), -both.y);
}

fn last_value(item: vec4<u32>, i: u32, value: vec2<f32>) {
    if i >= item.z {
        return;
    }
    var z = value;
    if (p.store & CHIRP) != 0u {
        z = c_mul(value.yx, chirp(i, item.z));
    }
    if (p.store & PAIRED) != 0u {
        pair_out(item.y + 2u * i, z.yx * bitcast<f32>(item.w));
    } else {
        value_out(item, i, z);
    }
}

fn store_pairs(v: ptr<function, array<vec2<f32>, HELD>>, item: vec4<u32>, start: u32, step: u32) {
    let factor = bitcast<f32>(item.w);
#for s HELD
    pair_out(item.y + 2u * (start + $(s)u * step), (*v)[$(s)].yx * factor);
#endfor
}

fn store_last(v: ptr<function, array<vec2<f32>, HELD>>, item: vec4<u32>, start: u32, step: u32) {
#for s HELD
    last_value(item, start + $(s)u * step, (*v)[$(s)]);
#endfor
}

fn store(v: ptr<function, array<vec2<f32>, HELD>>, start: u32, step: u32) {
#for s HELD
    y[start + $(s)u * step] = (*v)[$(s)];
#endfor
}
#endif
#endif

fn load(v: ptr<function, array<vec2<f32>, HELD>>, start: u32, step: u32) {
#for s HELD
    (*v)[$(s)] = x[start + $(s)u * step];
#endfor
}

#generate "transform"

// All values of an invocation, at equal distances, times twiddles. The distance is N / E, so that the twiddles of
// right-angle transforms and of halves are the first value's times constants.
#if FIRST
fn load_right_angle(
    v: ptr<function, array<vec2<f32>, HELD>>, item: vec4<u32>, log_n: u32, start: u32, step: u32,
) {
    let half = 1u << log_n;
#for s HELD
    (*v)[$(s)] = vec2(real_in(item, start + $(s)u * step), 0.0);
#endfor
    if item.z > half {
#for s HELD
        (*v)[$(s)].y = -real_in(item, half + start + $(s)u * step);
#endfor
    }
    let twiddle = root(start << (22u - log_n));
#for s root in $(QUARTER_ROOTS)
    (*v)[$(s)] = c_mul((*v)[$(s)], c_mul(twiddle, $(root)));
#endfor
}

fn load_folded(v: ptr<function, array<vec2<f32>, HELD>>, item: vec4<u32>, log_n: u32, start: u32, step: u32) {
    let twiddle = root(start << (23u - log_n));
#for s root in $(HALF_ROOTS)
    (*v)[$(s)] = folded_in(item, start + $(s)u * step, c_mul(twiddle, $(root)));
#endfor
}
#else
#if HALVES
fn store_halves(
    v: ptr<function, array<vec2<f32>, HELD>>,
    m: ptr<function, array<vec2<f32>, HELD>>,
    item: vec4<u32>,
    log_n: u32,
    start: u32,
    step: u32,
) {
    store_ends(v, m, item, start);
    let to = item.y + start;
    let twiddle = root(start << (23u - log_n));
#for s root in $(HALF_ROOTS)
    y[to + $(s)u * step] = unfolded(c_mul(twiddle, $(root)), (*v)[$(s)], (*m)[$(s)]);
#endfor
}
#else
fn store_right_angle(
    v: ptr<function, array<vec2<f32>, HELD>>, item: vec4<u32>, log_n: u32, start: u32, step: u32,
) {
    let twiddle = root(start << (22u - log_n)) * bitcast<f32>(item.w);
#for s root in $(QUARTER_ROOTS)
    store_both(item, log_n, start + $(s)u * step, (*v)[$(s)], c_mul(twiddle, $(root)));
#endfor
}
#endif

// The twiddles of a pass over columns, a power for each bit of its first stage.
fn weights(unit: u32, j: u32) -> array<vec2<f32>, $(LOG_R - LOG_T + 1)> {
    return array(
        root(unit * j),
#for i LOG_R - LOG_T
        root(unit << $(LOG_T + i)u),
#endfor
    );
}
#endif

#main {
    let task = tasks[2u * group];
    let more = tasks[2u * group + 1u];
    let item = vec4(task.xy, more.xy);
    let log_n = task.w & 0xffu;
    let log_ns = task.w >> 8u;
    let c = lid % C;
    let j = lid / C;
    let log_columns = log_n - LOG_R;
    let stride = 1u << (log_columns + LOG_T);

    var v: array<vec2<f32>, HELD>;
#if FIRST
    let start = task.z + c + (j << log_columns);
    switch p.load {
        case PLAIN: {
            load(&v, (p.x_base >> 1u) + task.x + start, stride);
        }
        case PRODUCT: {
            load_product(&v, task.x, more.z, start, stride);
        }
        case RIGHT_ANGLE, BACKWARDS: {
            load_right_angle(&v, item, log_n, start, stride);
        }
        case PAIRS: {
            load_pairs(&v, item, start, stride);
        }
        case FOLDED: {
            load_folded(&v, item, log_n, start, stride);
        }
        default: {
            load_first(&v, item, log_n, start, stride);
        }
    }
    // Neighbouring invocations write neighbouring values of one column.
    transform(&v, j, c, lid & ((1u << LOG_T) - 1u), lid >> LOG_T);
    store(&v, task.y + (task.z << LOG_R) + ((lid >> LOG_T) << LOG_R) + (lid & ((1u << LOG_T) - 1u)), 1u << LOG_T);
#else
#if HALVES
    let b = column_of(item, task.z / 2u, c, log_ns);
#else
    let b = shifted(task.y, task.z, c, log_ns);
#endif
    load(&v, task.x + b + (j << log_columns), stride);
    let column = b & ((1u << log_ns) - 1u);
    var w = weights(column << (24u - log_ns - LOG_R), j);
    transform(&v, &w, j, c);
    let first = ((b - column) << LOG_R) + column + (j << log_ns);
    let step = 1u << (log_ns + LOG_T);
#if HALVES
    if (p.store & CHIRP) != 0u {
        chirp_values(&v, item, first, step);
    }
    var m: array<vec2<f32>, HELD>;
    let other = (item.z - b) & ((1u << log_ns) - 1u);
    mirror(&v, &m, j, c, select(c ^ (C / 2u), c, other == b), (item.z - b - other) >> log_ns);
    if (p.store & CHIRP) != 0u {
        store_some_halves(&v, &m, item, first, step);
    } else {
        store_halves(&v, &m, item, log_n, first, step);
    }
#else
    switch p.store {
        case PLAIN: {
            store(&v, task.y + first, step);
        }
        case RIGHT_ANGLE: {
            store_right_angle(&v, item, log_n, first, step);
        }
        case PAIRS_BACK: {
            store_pairs(&v, item, first, step);
        }
        default: {
            store_last(&v, item, first, step);
        }
    }
#endif
#endif
}
