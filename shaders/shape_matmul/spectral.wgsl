// At every frequency, the product of two matrices whose entries are spectra: y_ik = Σ_j x_ij x_jk.
//
// An invocation computes one frequency of a tile of 4 × 4 results: it loads four values of each factor for sixteen
// products. Neighbouring invocations compute neighbouring frequencies, and continue with the next tile of the same
// matrices.
//
// `list` holds, for each workgroup, (frequencies, inner extent, offset of the tiles, first item) and (items, 0, 0, 0),
// where an item is a frequency of a tile; then, from p.tables on, the tables, and offsets in `list` count from there. A
// tile is (offset of four rows, offset of four columns, 0, 0) and the offsets of its results, one entry per row. Four
// rows, and four columns, are the offsets of their spectra for each j.
//
// p.add: the product is added to the values of y.

#params
@group(0) @binding(1) var<storage, read> x: array<vec2<f32>>;
@group(0) @binding(2) var<storage, read_write> y: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read> list: array<vec4<u32>>;

// Instead of the offset of a spectrum, marks that there is none: for an empty entry, or outside the matrix.

// A missing spectrum reads the first one, whose values are ignored.
fn spectrum(at: u32, f: u32) -> vec2<f32> {
    return x[select(at, 0u, at == NONE) + f];
}

fn real(sum: vec4<f32>, a: vec2<f32>, re: vec4<f32>, im: vec4<f32>) -> vec4<f32> {
    return fma(vec4(-a.y), im, fma(vec4(a.x), re, sum));
}

fn imaginary(sum: vec4<f32>, a: vec2<f32>, re: vec4<f32>, im: vec4<f32>) -> vec4<f32> {
    return fma(vec4(a.y), re, fma(vec4(a.x), im, sum));
}

fn value_out(at: u32, f: u32, value: vec2<f32>) {
    if at != NONE {
        y[at + f] = value;
    }
}

fn row_out(at: vec4<u32>, f: u32, re: vec4<f32>, im: vec4<f32>) {
    value_out(at.x, f, vec2(re.x, im.x));
    value_out(at.y, f, vec2(re.y, im.y));
    value_out(at.z, f, vec2(re.z, im.z));
    value_out(at.w, f, vec2(re.w, im.w));
}

// Real and imaginary parts of a row of results.
struct Row {
    re: vec4<f32>,
    im: vec4<f32>,
}

fn row_in(at: vec4<u32>, f: u32) -> Row {
    var row = Row(vec4<f32>(), vec4<f32>());
    if p.add != 0u {
        for (var k = 0u; k < 4u; k += 1u) {
            if at[k] != NONE {
                let value = y[at[k] + f];
                row.re[k] = value.x;
                row.im[k] = value.y;
            }
        }
    }
    return row;
}

#main {
    let work = list[2u * group];
    let item = work.w + lid;
    if item >= list[2u * group + 1u].x {
        return;
    }
    let tile = item / work.x;
    let f = item - tile * work.x;
    let record = p.tables + work.z + 5u * tile;
    let rows = p.tables + list[record].x;
    let columns = p.tables + list[record].y;
    var s0 = row_in(list[record + 1u], f);
    var s1 = row_in(list[record + 2u], f);
    var s2 = row_in(list[record + 3u], f);
    var s3 = row_in(list[record + 4u], f);
    for (var j = 0u; j < work.y; j += 1u) {
        let a_at = list[rows + j];
        let b_at = list[columns + j];
        let a0 = spectrum(a_at.x, f);
        let a1 = spectrum(a_at.y, f);
        let a2 = spectrum(a_at.z, f);
        let a3 = spectrum(a_at.w, f);
        let b0 = spectrum(b_at.x, f);
        let b1 = spectrum(b_at.y, f);
        let b2 = spectrum(b_at.z, f);
        let b3 = spectrum(b_at.w, f);
        let re = vec4(b0.x, b1.x, b2.x, b3.x);
        let im = vec4(b0.y, b1.y, b2.y, b3.y);
        // Selected, not multiplied by zero: ignored values may be NaN.
        let there = b_at != vec4(NONE);
        let in0 = there & vec4(a_at.x != NONE);
        let in1 = there & vec4(a_at.y != NONE);
        let in2 = there & vec4(a_at.z != NONE);
        let in3 = there & vec4(a_at.w != NONE);
        s0 = Row(select(s0.re, real(s0.re, a0, re, im), in0), select(s0.im, imaginary(s0.im, a0, re, im), in0));
        s1 = Row(select(s1.re, real(s1.re, a1, re, im), in1), select(s1.im, imaginary(s1.im, a1, re, im), in1));
        s2 = Row(select(s2.re, real(s2.re, a2, re, im), in2), select(s2.im, imaginary(s2.im, a2, re, im), in2));
        s3 = Row(select(s3.re, real(s3.re, a3, re, im), in3), select(s3.im, imaginary(s3.im, a3, re, im), in3));
    }
    row_out(list[record + 1u], f, s0.re, s0.im);
    row_out(list[record + 2u], f, s1.re, s1.im);
    row_out(list[record + 3u], f, s2.re, s2.im);
    row_out(list[record + 4u], f, s3.re, s3.im);
}
