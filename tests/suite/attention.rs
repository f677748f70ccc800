//! Attention over ragged batches: against f64, and exactly where weights are exact.

mod cache;
mod case;
mod empty;
mod gradients;
mod merge;
mod refusals;
mod rescaled;
mod untouched;

use libtest_mimic::Trial;
use vsla::{Device, Ragged, Topology, f16};

use crate::support::bench::{Bench, DeviceTest, is_long, is_software};
use crate::support::corpus::rng;

use case::Case;

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let tests: &[DeviceTest] = &[
        ("lengths", lengths),
        ("widths", widths),
        ("heads", heads),
        ("options_alone_and_in_pairs", options_alone_and_in_pairs),
        ("masks_exclude_exactly", masks_exclude_exactly),
        ("one_hot_scores_are_exact", one_hot_scores_are_exact),
        ("few_rows", few_rows),
        ("pieces_of_keys", pieces_of_keys),
        ("growing_keys", growing_keys),
        ("one_long_among_short", one_long_among_short),
        ("elements_alone", elements_alone),
        ("nothing_to_attend_to", empty::nothing_to_attend_to),
        ("elements_without_rows", empty::elements_without_rows),
        ("not_a_number", not_a_number),
        ("merged_parts", merge::parts),
        ("random", random),
        ("gradients_with_options", gradients::with_options),
        ("gradients_of_widths", gradients::of_widths),
        ("gradients_of_halves", gradients::of_halves),
        ("gradients_of_sinks", gradients::of_sinks),
        ("cache_as_tensors", cache::as_tensors),
        ("cache_of_pieces", cache::of_pieces),
        ("cache_is_changed_alone", cache::is_changed_alone),
        ("cache_allocates_lengths", cache::allocates_lengths),
        ("cache_recorded", cache::recorded),
        ("cache_refusals", cache::refusals),
        ("refusals", refusals::all),
        ("refusals_change_nothing", untouched::attention),
        ("refusals_of_halves_change_nothing", untouched::halves),
        ("refusals_of_caches_change_nothing", untouched::caches),
    ];
    let mut trials = bench.all_on_each_device(tests);
    trials.push(rescaled::trial(bench));
    trials
}

/// Whether all cases run. A software GPU takes a second to compile each kind of tile, and CPUs are slow; the trials of
/// `bounds` run every kind on request.
fn is_thorough(device: &Device) -> bool {
    is_long() || (device.is_gpu() && !is_software(device))
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
    let some = [(1, 1), (16, 32), (40, 64), (129, 130)];
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
        if !is_thorough(device) && !some.contains(&(d, dv)) {
            continue;
        }
        let case = Case {
            sizes: sizes.clone(),
            d,
            dv,
            ..Case::default()
        };
        case.check::<f32>(device, d as u64);
        if (d % 2, dv % 2) == (0, 0) && (is_thorough(device) || dv == 32) {
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
        for (j, (_, second)) in OPTIONS.iter().enumerate().skip(i) {
            if !is_thorough(device) && i != j && (i + j) % 3 != 0 {
                continue;
            }
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

/// Values are unit vectors, so that results show which keys are attended to.
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

/// Each number of few rows, over keys around the ends of pieces, with heads of one unit of 16 bytes, of numbers of
/// units that do not divide a workgroup, and of the most.
fn few_rows(device: &Device) {
    let widths = [(8, 8), (24, 40), (64, 128), (256, 256), (16, 248)];
    for (d, dv) in widths {
        if !is_thorough(device) && d > 24 {
            continue;
        }
        let sizes = [
            (1, 17),
            (2, 511),
            (3, 512),
            (4, 513),
            (5, 100),
            (7, 700),
            (16, 40),
            (2, 1025),
        ];
        // The largest number of rows of a batch chooses the kernel.
        for few in [1, sizes.len()] {
            let case = Case {
                sizes: sizes[..few].to_vec(),
                causal: few > 1,
                d,
                dv,
                ..Case::default()
            };
            case.check::<f32>(device, d as u64);
            case.check::<f16>(device, d as u64);
        }
    }
    for (i, (_, option)) in OPTIONS.iter().enumerate() {
        if !is_thorough(device) && i % 2 == 0 {
            continue;
        }
        let mut case = Case {
            sizes: vec![(3, 90), (1, 144), (8, 100), (1, 20)],
            heads: 6,
            key_heads: 2,
            ..Case::default()
        };
        option(&mut case);
        case.check::<f32>(device, i as u64);
        case.check::<f16>(device, i as u64);
    }
}

/// Few queries over long keys, with elements that are just short of being cut.
fn pieces_of_keys(device: &Device) {
    for (name, option) in [
        ("", (|_| ()) as fn(&mut Case)),
        OPTIONS[0],
        OPTIONS[2],
        OPTIONS[6],
        OPTIONS[7],
    ] {
        let mut case = Case {
            sizes: vec![
                (1, 512),
                (1, 513),
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
        // More results of a row than a workgroup merges at a time.
        case.dv = 130;
        case.sizes.truncate(3);
        if name.is_empty() {
            case.check::<f32>(device, 9);
            case.check::<f16>(device, 9);
        }
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
        case.check_queries(device, &case.growing::<f32>(5), |_, _| true);
        case.check_queries(device, &case.growing::<f16>(5), |_, _| true);
    }
}

/// A long element, of which some queries are compared, among many short ones.
fn one_long_among_short(device: &Device) {
    let is_large = std::env::var("VSLA_LARGE").is_ok_and(|value| value == "1");
    let (long, short) = if is_large { (8192, 255) } else { (2048, 63) };
    let mut sizes = vec![(32, 32); short];
    sizes.insert(short / 3, (long, long));
    for causal in [false, true] {
        let case = Case {
            sizes: sizes.clone(),
            causal,
            ..Case::default()
        };
        let is_checked =
            |element: usize, query: usize| case.sizes[element].0 == 32 || query.is_multiple_of(61);
        case.check_queries(device, &case.operands::<f32>(10), is_checked);
        case.check_queries(device, &case.operands::<f16>(10), is_checked);
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

/// Random shapes and options.
fn random(device: &Device) {
    let mut rng = rng("attention");
    let (seeds, widest) = if is_thorough(device) {
        (60, 40)
    } else {
        (20, 16)
    };
    for seed in 0..seeds {
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
            dv: 2 * (1 + rng.usize(..widest)),
            axis: rng.bool(),
            ..Case::default()
        };
        for (_, option) in OPTIONS {
            if rng.usize(..4) == 0 {
                option(&mut case);
            }
        }
        case.check::<f32>(device, seed);
        if seed % 4 == 0 && case.d.is_multiple_of(2) {
            case.check::<f16>(device, seed);
        }
    }
}
