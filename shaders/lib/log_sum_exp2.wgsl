// Logarithms in units of ln 2 and in units of 1, in two parts each.
//
// Uses: "ends".

const LOG2_E = 1.44269504;
const LN_2 = 0.693147181;
// What rounding these to f32 has left.
const LOG2_E_REST = 1.92596299e-8;
const LN_2_REST = -1.90465430e-9;

// x times a factor and its rest, in two parts.
fn in_parts(x: vec2<f32>, factor: f32, rest: f32) -> vec2<f32> {
    let high = opaque(x.x * factor);
    return vec2(high, fma(x.x, factor, -high) + fma(x.x, rest, x.y * factor));
}
