//! Scales every element to unit norm, for the shape-based distance.

use crate::plan::{Dispatch, Interface, Kernel, Param, Slot, params, shader, slots, variants};
use crate::ragged::Layout;

slots! {
    struct Slots { x: Read, x_meta: Read, y: Write }
}

params! {
    struct Params { x_base }
}

pub(super) static KERNEL: Kernel = Kernel {
    shader: shader!("correlate_max/normalize", "normalize"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[],
    variants: variants![F32],
};

/// The dispatch that writes input `input`, scaled, to the scratch buffer `temp`.
pub(super) fn dispatch(x: &Layout, input: usize, temp: usize) -> Dispatch {
    Dispatch::new(
        (&KERNEL, 0),
        Slots {
            x: Slot::Input(input),
            x_meta: Slot::InputMeta(input),
            y: Slot::Scratch(temp),
        },
        Params {
            x_base: Param::InputBase(input),
        },
        x.len() as u32,
        x.total() as u64,
    )
}

/// Values that are summed one after another before their sum is added to the next level.
const BLOCK: usize = 16;
/// Block sums that are added one after another before their sum is added to the total.
const BLOCKS: usize = 64;

/// The twin: x / ‖x‖₂, or zeros if the norm is 0.
pub(super) fn normalize(x: &[f32], out: &mut [f32]) {
    // Magnitudes compare like their bits.
    let largest = x
        .iter()
        .map(|v| v.to_bits() & 0x7fff_ffff)
        .max()
        .unwrap_or(0);
    // 2^-e for the largest exponent e, clamped to normal numbers.
    let scale = f32::from_bits((254 - (largest >> 23).clamp(1, 253)) << 23);
    let norm2 = blocked_sum(x.len(), |i| {
        let v = x[i] * scale;
        v * v
    });
    let inverse = if norm2 == 0.0 {
        0.0
    } else {
        norm2.sqrt().recip()
    };
    for (out, v) in out.iter_mut().zip(x) {
        *out = v * scale * inverse;
    }
}

/// Σ term(i) for i < n, with a summation depth of 16 + 64 + n / 1024.
pub(super) fn blocked_sum(n: usize, term: impl Fn(usize) -> f32) -> f32 {
    let mut all = 0.0;
    for outer in (0..n).step_by(BLOCK * BLOCKS) {
        let mut middle = 0.0;
        for inner in (outer..n.min(outer + BLOCK * BLOCKS)).step_by(BLOCK) {
            let mut block = 0.0;
            for i in inner..n.min(inner + BLOCK) {
                block += term(i);
            }
            middle += block;
        }
        all += middle;
    }
    all
}
