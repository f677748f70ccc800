//! Programs of attention and its gradients: every kind of tile, pieces of keys, and every option.

use vsla::attention::{Attention, Cache};
use vsla::program::Program;
use vsla::{
    Device, Layout, Shape, Tensor, Topology,
    scalar::{DType, Float},
};

use super::{Draw, Value};
use crate::support::bench::assert_within;
use crate::support::corpus::rng;

/// For each kind of tile, numbers of rows and of keys that take it.
const KINDS: [[&[usize]; 2]; 5] = [
    // Keys that are cut into pieces.
    [&[1, 2, 3, 15], &[513, 1024, 1500, 2049]],
    // All keys in one stage, several tiles in a workgroup.
    [&[0, 1, 16, 17, 40], &[1, 3, 15, 16]],
    // More than 32 rows.
    [&[33, 64, 65, 129], &[0, 17, 32, 33, 70, 130]],
    // At most 16 rows.
    [&[1, 2, 7, 15], &[0, 17, 31, 32, 33, 100, 512]],
    // At most 32 rows.
    [&[18, 24, 30], &[0, 17, 32, 33, 70]],
];

/// Values of a row of the results: 1 to 8 chunks of 32, or 2 to 8 of 16.
const WIDTHS: [usize; 5] = [32, 64, 96, 128, 256];

/// Every kind of tile of every width.
pub fn every_variant<T: Value + Float>(device: &Device) {
    let d = &mut Draw::new(device, rng("bounds of attention"));
    for kind in 0..KINDS.len() {
        for width in WIDTHS {
            for less in [0, 2, 30] {
                attend::<T>(d, kind, width - less);
            }
            assert_within(device);
        }
    }
}

/// Attention over elements of one kind and its gradients, with options at random.
fn attend<T: Value + Float>(d: &mut Draw<'_>, kind: usize, dv: usize) {
    let width = d.of(&[1, 3, 16, 33, 70, 200, dv]);
    attend_in::<T>(d, kind, [width, dv]);
}

/// The same with heads of these widths in queries and keys, and in values.
fn attend_in<T: Value + Float>(d: &mut Draw<'_>, kind: usize, [width, dv]: [usize; 2]) {
    let (key_heads, group) = (d.of(&[1, 2]), d.of(&[1, 1, 3]));
    let heads = key_heads * group;
    // Halves are read in pairs.
    let width = match T::DTYPE {
        DType::F16 => width.next_multiple_of(2),
        _ => width,
    };
    let [rows, keys] = KINDS[kind];
    let sizes: Vec<[usize; 2]> = (0..d.of(&[1, 3, 6]))
        .map(|_| [d.of(rows).div_ceil(group), d.of(keys)])
        .collect();
    let axis = d.rng.bool();
    let layout = |side: usize, heads: usize, width: usize| {
        let shapes = sizes.iter().map(|size| match axis {
            true => Shape::new(&[size[side], heads, width]).unwrap(),
            false => Shape::new(&[size[side], heads * width]).unwrap(),
        });
        Layout::from_shapes(if axis { 3 } else { 2 }, shapes).unwrap()
    };
    let q = d.tensor::<T>(&layout(0, heads, width));
    let k = d.tensor::<T>(&layout(1, key_heads, width));
    let v = d.tensor::<T>(&layout(1, key_heads, dv));
    let own = d.rng.bool();
    let shapes = sizes.iter().map(|&[n, m]| match own {
        true => Shape::new(&[heads, n, m]).unwrap(),
        false => Shape::new(&[n, m]).unwrap(),
    });
    let bias = Layout::from_shapes(if own { 3 } else { 2 }, shapes).unwrap();
    let bias = d.tensor::<T>(&bias);
    let each = Layout::from_lengths([heads]).unwrap();
    let (slopes, sinks) = (d.tensor::<f32>(&each), d.tensor::<f32>(&each));
    let blocks = Topology::strided([144, 2080], [16, 8], 3).unwrap();
    let mut yes = || d.rng.bool();
    let [causal, top_left, windowed, biased, alibi, sunk] = std::array::from_fn(|_| yes());
    let (capped, blocked) = (d.rng.usize(..3) == 0, d.rng.usize(..3) == 0);
    let window = (d.of(&[0, 5, 40]), d.of(&[1, 20]));
    let lengths: Vec<usize> = sizes.iter().map(|size| d.rng.usize(..=size[1])).collect();
    let rest = |width: usize| {
        let shapes = sizes.iter().zip(&lengths).map(|(size, length)| match axis {
            true => Shape::new(&[size[1] - length, key_heads, width]).unwrap(),
            false => Shape::new(&[size[1] - length, key_heads * width]).unwrap(),
        });
        Layout::from_shapes(if axis { 3 } else { 2 }, shapes).unwrap()
    };
    let (new_k, new_v) = (d.tensor::<T>(&rest(width)), d.tensor::<T>(&rest(dv)));
    let mut cache = Cache::with_lengths(k.clone(), v.clone(), &lengths).unwrap();
    let run = move |attention: Attention<'_, T>, bias: Option<&Tensor<T>>| {
        let mut attention = attention.heads(heads).key_heads(key_heads);
        if causal {
            attention = attention.causal();
        }
        if top_left {
            attention = attention.top_left();
        }
        if windowed {
            attention = attention.window(window.0, window.1);
        }
        if capped {
            attention = attention.softcap(2.0);
        }
        if let (true, Some(bias)) = (biased, bias) {
            attention = attention.bias(bias);
        }
        if alibi {
            attention = attention.alibi(&slopes);
        }
        if sunk {
            attention = attention.sinks(&sinks);
        }
        if blocked {
            attention = attention.blocks(&blocks);
        }
        attention.run()
    };
    d.ran("rotary", q.rotary().heads(heads).run());
    d.ran("attention", run(q.attention(&k, &v), Some(&bias)));
    let appended = cache.append(&new_k, &new_v);
    d.ran("append", appended);
    d.ran("attention_over", run(q.attention_over(&cache), None));
    let program = Program::new(d.device, move |r| {
        let [q, k, v, bias]: [Tensor<T>; 4] = [r.input()?, r.input()?, r.input()?, r.input()?];
        let o = run(q.attention(&k, &v), Some(&bias))?.to::<f32>()?;
        for slopes in r.gradients(&o, [&q, &k, &v])? {
            r.output(&slopes)?;
        }
        if biased {
            let [slopes] = r.gradients(&o, [&bias])?;
            r.output(&slopes)?;
        }
        Ok(())
    });
    let layouts = [&q, &k, &v, &bias].map(Tensor::layout);
    let ran = program
        .plan(&layouts)
        .and_then(|plan| plan.run(&[&q, &k, &v, &bias]));
    d.ran("gradients of attention", ran);
}
