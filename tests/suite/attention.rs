//! Attention over ragged batches: against f64, and exactly where weights are exact.

mod case;
mod gradients;

use libtest_mimic::Trial;
use vsla::{Device, Error, Layout, Ragged, Shape, Tensor, Topology, attention, f16};

use crate::support::bench::{Bench, DeviceTest};
use crate::support::corpus::rng;
use crate::support::operation::upload;

use case::{Case, Value};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let tests: &[DeviceTest] = &[
        ("lengths", lengths),
        ("widths", widths),
        ("heads", heads),
        ("options_alone_and_in_pairs", options_alone_and_in_pairs),
        ("masks_exclude_exactly", masks_exclude_exactly),
        ("one_hot_scores_are_exact", one_hot_scores_are_exact),
        ("pieces_of_keys", pieces_of_keys),
        ("growing_keys", growing_keys),
        ("elements_alone", elements_alone),
        ("nothing_to_attend_to", nothing_to_attend_to),
        ("not_a_number", not_a_number),
        ("merged_parts", merged_parts),
        ("random", random),
        ("gradients_with_options", gradients::with_options),
        ("gradients_of_widths", gradients::of_widths),
        ("gradients_of_sinks", gradients::of_sinks),
        ("refusals", refusals),
    ];
    bench.all_on_each_device(tests)
}

/// Queries and keys around the ends of tiles, with a long element among short ones.
fn lengths(device: &Device) {
    let ends = [0, 1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65];
    let mut sizes: Vec<(usize, usize)> = ends.iter().map(|&n| (n, n)).collect();
    sizes.extend([
        (1, 33),
        (33, 1),
        (16, 17),
        (17, 16),
        (0, 5),
        (5, 0),
        (70, 130),
        (2, 300),
    ]);
    let case = Case {
        sizes,
        heads: 2,
        key_heads: 2,
        ..Case::default()
    };
    case.check::<f32>(device, 1);
    case.check::<f16>(device, 2);
    for causal in [false, true] {
        let sizes = vec![(3, 3), (150, 150), (20, 20)];
        let case = Case {
            sizes,
            causal,
            ..Case::default()
        };
        case.check::<f32>(device, 3);
    }
}

/// Values of a head, of one kind of tile each: short elements, few rows, some rows, many rows.
fn widths(device: &Device) {
    let sizes = vec![(7, 9), (5, 40), (20, 40), (70, 40)];
    for (d, dv) in [
        (1, 1),
        (3, 5),
        (16, 32),
        (32, 33),
        (40, 64),
        (64, 64),
        (64, 96),
        (96, 128),
        (129, 130),
        (256, 256),
    ] {
        let case = Case {
            sizes: sizes.clone(),
            d,
            dv,
            ..Case::default()
        };
        case.check::<f32>(device, d as u64);
        if dv % 2 == 0 {
            case.check::<f16>(device, d as u64);
        }
    }
}

/// Heads that share key heads, as an axis and side by side.
fn heads(device: &Device) {
    for (heads, key_heads) in [(1, 1), (4, 4), (4, 2), (6, 1), (12, 4)] {
        for axis in [false, true] {
            let case = Case {
                sizes: vec![(3, 3), (11, 20), (0, 2), (40, 35)],
                heads,
                key_heads,
                axis,
                causal: true,
                ..Case::default()
            };
            case.check::<f32>(device, heads as u64);
            case.check::<f16>(device, heads as u64);
        }
    }
}

type Change = (&'static str, fn(&mut Case));

/// Every option.
const OPTIONS: [Change; 11] = [
    ("causal", |case| case.causal = true),
    ("top_left", |case| case.top_left = true),
    ("window", |case| case.window = Some((9, 4))),
    ("narrow", |case| case.window = Some((0, 1))),
    ("bias", |case| case.bias = Some(false)),
    ("own_bias", |case| case.bias = Some(true)),
    ("alibi", |case| case.alibi = true),
    ("sinks", |case| case.sinks = true),
    ("softcap", |case| case.softcap = Some(1.5)),
    ("scale", |case| case.scale = Some(-0.7)),
    ("blocks", |case| {
        let blocks = (0..9).flat_map(|i| (0..20).map(move |j| (i, j)));
        let some = blocks.filter(|(i, j)| (i * 5 + j * 3) % 4 == 0);
        case.blocks = Some(Topology::from_unsorted([144, 160], [16, 8], some).unwrap());
    }),
];

fn options_alone_and_in_pairs(device: &Device) {
    for (i, (_, first)) in OPTIONS.iter().enumerate() {
        for (_, second) in &OPTIONS[i..] {
            let mut case = Case {
                sizes: vec![(5, 7), (16, 16), (10, 40), (33, 30), (70, 75), (40, 0)],
                heads: 4,
                key_heads: 2,
                ..Case::default()
            };
            first(&mut case);
            second(&mut case);
            case.check::<f32>(device, i as u64);
            if i % 3 == 0 {
                case.check::<f16>(device, i as u64);
            }
        }
    }
}

/// Values are unit vectors, so that results show which keys count.
fn masks_exclude_exactly(device: &Device) {
    for (name, option) in OPTIONS {
        let mut case = Case {
            sizes: vec![(5, 7), (9, 60), (60, 60), (100, 50), (33, 64)],
            dv: 64,
            ..Case::default()
        };
        option(&mut case);
        let mut of = case.operands::<f32>(3);
        of.v = Ragged::from_fn(of.v.layout(), |_, i| f32::from(i / 64 == i % 64)).unwrap();
        let (o, _) = case.run(device, &of).unwrap();
        for (element, &(n, m)) in case.sizes.iter().enumerate() {
            for (query, row) in o.row(element).chunks(64).enumerate() {
                for (key, weight) in row.iter().enumerate() {
                    let seen = key < m && case.sees((n, m), query, key);
                    assert_eq!(
                        *weight > 0.0,
                        seen,
                        "{name}: query {query}, key {key} of {n} x {m}"
                    );
                }
            }
        }
    }
}

/// Each query is like one key and far from all others, so that its result is that key's value.
fn one_hot_scores_are_exact(device: &Device) {
    let case = Case {
        sizes: vec![(16, 16), (64, 64), (3, 40), (60, 50), (64, 10)],
        d: 64,
        dv: 20,
        scale: Some(1.0),
        ..Case::default()
    };
    let mut of = case.operands::<f32>(1);
    of.k = Ragged::from_fn(of.k.layout(), |_, i| f32::from(i / 64 == i % 64)).unwrap();
    let key = |element: usize, query: usize| query * 7 % case.sizes[element].1;
    of.q = Ragged::from_fn(of.q.layout(), |e, i| match i % 64 == key(e, i / 64) {
        true => 200.0,
        false => 0.0,
    })
    .unwrap();
    of.v = Ragged::from_fn(of.v.layout(), |e, i| {
        ((e * 31 + i * 17) % 1000) as f32 - 500.0
    })
    .unwrap();
    let (o, lse) = case.run(device, &of).unwrap();
    for element in 0..case.sizes.len() {
        for (query, row) in o.row(element).chunks(20).enumerate() {
            let expected = &of.v.row(element)[key(element, query) * 20..][..20];
            assert_eq!(row, expected, "query {query} of element {element}");
        }
        assert!(lse.row(element).iter().all(|lse| *lse == 200.0));
    }
}

/// Few queries over long keys, with elements that are just short of being cut.
fn pieces_of_keys(device: &Device) {
    for (_, option) in [
        ("", (|_| ()) as fn(&mut Case)),
        OPTIONS[0],
        OPTIONS[2],
        OPTIONS[6],
        OPTIONS[7],
    ] {
        let mut case = Case {
            sizes: vec![
                (1, 1023),
                (1, 1024),
                (4, 1025),
                (5, 1536),
                (0, 2000),
                (2, 2100),
            ],
            heads: 4,
            key_heads: 2,
            dv: 20,
            ..Case::default()
        };
        option(&mut case);
        case.check::<f32>(device, 8);
        case.check::<f16>(device, 8);
    }
}

/// Later keys have larger scores, so that earlier sums are scaled down again and again.
fn growing_keys(device: &Device) {
    for amplitude in [1.0f32, 6.0, 10.0] {
        let case = Case {
            sizes: vec![(3, 200), (40, 170), (70, 300), (2, 1200)],
            d: 32,
            dv: 8,
            amplitude,
            ..Case::default()
        };
        let mut of = case.operands::<f32>(5);
        of.q = Ragged::from_fn(of.q.layout(), |e, i| of.q.row(e)[i].abs()).unwrap();
        of.k = Ragged::from_fn(of.k.layout(), |e, i| {
            of.k.row(e)[i].abs() * (i / 32) as f32 / 64.0
        })
        .unwrap();
        let (o, _) = case.run(device, &of).unwrap();
        for (element, expected) in case.expected(&of).o.iter().enumerate() {
            for (got, (value, bound)) in o.row(element).iter().zip(expected) {
                let off = (f64::from(*got) - value).abs();
                assert!(off <= *bound, "{got}, expected {value} within {bound}");
            }
        }
    }
}

/// An element's bits do not depend on its neighbours.
fn elements_alone(device: &Device) {
    let case = Case {
        sizes: vec![
            (3, 3),
            (20, 31),
            (12, 12),
            (65, 70),
            (1, 1100),
            (1, 0),
            (2, 16),
        ],
        heads: 4,
        key_heads: 2,
        causal: true,
        alibi: true,
        ..Case::default()
    };
    let of = case.operands::<f32>(4);
    let (o, lse) = case.run(device, &of).unwrap();
    for element in 0..case.sizes.len() {
        let one = |x: &Ragged<f32>| {
            let layout = x.layout().range(element..element + 1).unwrap();
            Ragged::from_parts(layout, x.row(element).to_vec()).unwrap()
        };
        let alone = case::Operands {
            q: one(&of.q),
            k: one(&of.k),
            v: one(&of.v),
            ..of.clone()
        };
        let (own, own_lse) = case.run(device, &alone).unwrap();
        let bits = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(own.row(0)), bits(o.row(element)), "element {element}");
        assert_eq!(
            bits(own_lse.row(0)),
            bits(lse.row(element)),
            "element {element}"
        );
    }
}

fn nothing_to_attend_to(device: &Device) {
    for dv in [16, 200] {
        let case = Case {
            sizes: vec![(3, 0), (0, 3), (40, 0), (20, 10), (100, 20), (3, 2000)],
            dv,
            window: Some((1, 0)),
            top_left: true,
            ..Case::default()
        };
        let of = case.operands::<f32>(4);
        let (o, lse) = case.run(device, &of).unwrap();
        // Queries from 12 on are beyond all keys of element 3.
        for (element, first) in [(0, 0), (2, 0), (3, 11), (4, 21)] {
            let rows = &o.row(element)[first * dv..];
            assert!(rows.iter().all(|x| x.to_bits() == 0), "element {element}");
            assert!(
                lse.row(element)[first..]
                    .iter()
                    .all(|x| *x == f32::NEG_INFINITY)
            );
        }
    }
    let none = Case {
        sizes: vec![],
        ..Case::default()
    };
    let of = none.operands::<f32>(1);
    assert_eq!(none.run(device, &of).unwrap().0.len(), 0);
    // A bias of −∞ masks.
    let case = Case {
        sizes: vec![(2, 3)],
        bias: Some(false),
        ..Case::default()
    };
    let mut of = case.operands::<f32>(1);
    let least = f32::NEG_INFINITY;
    let bias = vec![least, least, least, least, 0.0, least];
    of.bias = Some(Ragged::from_shapes(bias, 2, [Shape::new(&[2, 3]).unwrap()]).unwrap());
    let (o, lse) = case.run(device, &of).unwrap();
    assert_eq!(o.row(0)[..16], [0.0; 16]);
    assert_eq!(o.row(0)[16..], of.v.row(0)[16..32]);
    assert_eq!(lse.row(0)[0], least);
}

fn not_a_number(device: &Device) {
    let case = Case {
        sizes: vec![(4, 4), (40, 40), (10, 10)],
        causal: true,
        ..Case::default()
    };
    let of = case.operands::<f32>(6);
    let (clean, _) = case.run(device, &of).unwrap();
    let bits = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    // In a query: its row alone. In a key: the queries from its own on.
    for in_key in [false, true] {
        let mut of = of.clone();
        let x = if in_key { &mut of.k } else { &mut of.q };
        *x = Ragged::from_fn(x.layout(), |e, i| match (e, i / 16) {
            (1, 20) => f32::NAN,
            _ => x.row(e)[i],
        })
        .unwrap();
        let (o, lse) = case.run(device, &of).unwrap();
        for element in 0..3 {
            for (row, values) in o.row(element).chunks(16).enumerate() {
                let hit = element == 1 && (row == 20 || (in_key && row > 20));
                match hit {
                    true => {
                        assert!(values.iter().all(|x| x.is_nan()), "row {row}");
                        assert!(lse.row(element)[row].is_nan(), "row {row}");
                    }
                    false => {
                        let expected = &clean.row(element)[row * 16..][..16];
                        assert_eq!(bits(values), bits(expected), "row {row} of {element}");
                    }
                }
            }
        }
    }
}

/// Attention over parts of the keys, some of them empty, merged into that over all keys.
fn merged_parts(device: &Device) {
    fn of_type<T: Value>(device: &Device) {
        let case = Case {
            sizes: vec![(3, 9), (20, 70), (0, 5), (2, 0), (5, 1)],
            heads: 4,
            key_heads: 2,
            dv: 6,
            ..Case::default()
        };
        let of = case.operands::<T>(9);
        let expected = case.expected(&of);
        for cuts in [vec![1usize], vec![0, 4, 30]] {
            let [q, k, v] = [&of.q, &of.k, &of.v].map(|x| upload(device, x));
            let ends = cuts.iter().map(|&cut| cut as i64).chain([1000]);
            let begins = [0].into_iter().chain(cuts.iter().map(|&cut| cut as i64));
            let parts: Vec<_> = begins
                .zip(ends)
                .map(|(begin, end)| {
                    let ranges = [(Some(begin), Some(end), 1), (None, None, 1)];
                    let part = |x: &Tensor<T>| x.strided_slice(&ranges).unwrap();
                    let (k, v) = (part(&k), part(&v));
                    let attention = q.attention(&k, &v).heads(4).key_heads(2);
                    attention.run_with_lse().unwrap()
                })
                .collect();
            let parts: Vec<_> = parts.iter().map(|(o, lse)| (o, lse)).collect();
            let (o, lse) = attention::merge(&parts).unwrap();
            let (o, lse) = (
                o.download_blocking().unwrap(),
                lse.download_blocking().unwrap(),
            );
            for element in 0..case.sizes.len() {
                for (got, (value, bound)) in o.row(element).iter().zip(&expected.o[element]) {
                    let got = f64::from((*got).into());
                    // Each part and the result are rounded.
                    let bound = 2.0 * bound + T::half_ulp(1.0) + 40.0 * 2f64.powi(-24);
                    assert!((got - value).abs() <= bound, "{got}, expected {value}");
                }
                for (got, (value, bound)) in lse.row(element).iter().zip(&expected.lse[element]) {
                    let got = f64::from(*got);
                    let bound = 2.0 * bound + 40.0 * 2f64.powi(-24);
                    assert!(
                        got == *value || (got - value).abs() <= bound,
                        "{got}, expected {value}"
                    );
                }
            }
        }
    }
    of_type::<f32>(device);
    of_type::<f16>(device);
    let (q, other) = (rows_of(device, 3), rows_of(device, 4));
    let part = q.attention(&q, &q).run_with_lse().unwrap();
    let longer = other.attention(&q, &q).run_with_lse().unwrap();
    let error = attention::merge(&[(&part.0, &part.1), (&longer.0, &longer.1)]).unwrap_err();
    assert_eq!(error.kind(), "shape");
    assert_eq!(attention::merge::<f32>(&[]).unwrap_err().kind(), "argument");
}

fn rows_of(device: &Device, rows: usize) -> Tensor<f32> {
    let layout = Layout::uniform(1, Shape::new(&[rows, 2]).unwrap()).unwrap();
    upload(device, &Ragged::zeros(&layout).unwrap())
}

/// Random shapes and options.
fn random(device: &Device) {
    let mut rng = rng("attention");
    for seed in 0..60 {
        let key_heads = 1 + rng.usize(..3);
        let sizes = (0..rng.usize(1..6)).map(|_| {
            let short = if rng.bool() { 20 } else { 90 };
            (rng.usize(..short), rng.usize(..short))
        });
        let mut case = Case {
            sizes: sizes.collect(),
            heads: key_heads * (1 + rng.usize(..3)),
            key_heads,
            d: 1 + rng.usize(..70),
            dv: 2 * (1 + rng.usize(..40)),
            axis: rng.bool(),
            ..Case::default()
        };
        for (_, option) in OPTIONS {
            if rng.usize(..4) == 0 {
                option(&mut case);
            }
        }
        case.check::<f32>(device, seed);
        if seed % 4 == 0 {
            case.check::<f16>(device, seed);
        }
    }
}

fn refusals(device: &Device) {
    let of = |shapes: &[&[usize]]| {
        let all = shapes.iter().map(|shape| Shape::new(shape).unwrap());
        let layout = Layout::from_shapes(shapes[0].len(), all).unwrap();
        upload(device, &Ragged::<f32>::zeros(&layout).unwrap())
    };
    let q = of(&[&[3, 12], &[5, 12]]);
    let argument = |result: vsla::Result<_>, text: &str| {
        let error: Error = result.map(|_: vsla::Tensor<f32>| ()).unwrap_err();
        assert!(error.to_string().contains(text), "{error}");
    };
    argument(q.attention(&q, &q).heads(5).run(), "divides 12");
    argument(q.attention(&q, &q).heads(0).run(), "divides 12");
    argument(
        q.attention(&q, &q).heads(4).key_heads(6).run(),
        "3 values in a head of the keys",
    );
    argument(
        q.attention(&q, &q).heads(3).key_heads(2).run(),
        "4 values in a head of the keys",
    );
    let k = of(&[&[3, 8], &[5, 8]]);
    argument(
        q.attention(&k, &k).heads(3).key_heads(2).run(),
        "multiple of 2",
    );
    argument(q.attention(&q, &q).window(0, 0).run(), "more than one key");
    argument(
        q.attention(&q, &q).softcap(-1.0).run(),
        "positive, finite cap",
    );
    argument(
        q.attention(&q, &q).softcap(f32::NAN).run(),
        "positive, finite cap",
    );
    argument(
        q.attention(&q, &q).scale(f32::INFINITY).run(),
        "finite scale",
    );
    let wide = of(&[&[1, 257]]);
    argument(
        wide.attention(&wide, &wide).run(),
        "1 to 256 values in a head of the queries",
    );
    let fewer = of(&[&[3, 12]]);
    argument(q.attention(&fewer, &fewer).run(), "2");
    let longer = of(&[&[3, 12], &[6, 12]]);
    argument(q.attention(&longer, &q).run(), "element 1");
    let other = of(&[&[3, 12], &[5, 13]]);
    argument(q.attention(&other, &other).run(), "element 1");
    let vectors = of(&[&[3], &[5]]);
    argument(q.attention(&vectors, &vectors).run(), "rank");
    let bias = of(&[&[3, 3], &[5, 4]]);
    argument(q.attention(&q, &q).bias(&bias).run(), "a bias of (5, 5)");
    let slopes = of(&[&[2]]);
    argument(
        q.attention(&q, &q).heads(3).alibi(&slopes).run(),
        "3 values",
    );
    argument(q.attention(&q, &q).heads(3).sinks(&q).run(), "one vector");
    let small = Topology::block_diagonal([4, 8], [8, 8]).unwrap();
    argument(
        q.attention(&q, &q).blocks(&small).run(),
        "at most 4 queries and 8 keys",
    );
    let odd = upload(
        device,
        &Ragged::<f16>::zeros(&Layout::uniform(1, Shape::new(&[2, 3]).unwrap()).unwrap()).unwrap(),
    );
    let error = odd.attention(&odd, &odd).run().unwrap_err();
    assert_eq!(error.kind(), "unsupported");
    let cpu = Device::cpu();
    if device.is_gpu() {
        let elsewhere = upload(&cpu, &Ragged::<f32>::zeros(q.layout()).unwrap());
        argument(q.attention(&elsewhere, &q).run(), "device");
    }
}
