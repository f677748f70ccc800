//! Attention over ragged batches: against f64, and exactly where weights are exact.

mod cache;
mod case;
mod empty;
mod emulated;
mod excluded;
mod gradients;
mod merge;
mod refusals;
mod rescaled;
mod untouched;

use libtest_mimic::Trial;
use vsla::scalar::DType;
use vsla::{Device, Ragged, Topology, f16};

use crate::support::bench::{Bench, DeviceTest, is_hurried, is_long, is_software};
use crate::support::corpus::rng;

use case::{Case, Value};

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
        ("large_keys", large_keys),
        ("one_long_among_short", one_long_among_short),
        ("many_short", many_short),
        ("elements_alone", elements_alone),
        ("nothing_to_attend_to", empty::nothing_to_attend_to),
        ("elements_without_rows", empty::elements_without_rows),
        ("caches_without_rows", empty::caches_without_rows),
        ("not_a_number", not_a_number),
        ("excluded_by_bias", excluded::by_bias),
        ("weights_not_a_number", excluded::weights),
        ("large_scores", excluded::large_scores),
        ("large_sinks", excluded::large_sinks),
        ("windows_of_one_key", excluded::windows_of_one_key),
        ("merged_parts", merge::parts),
        ("random", random),
        ("gradients_with_options", gradients::with_options),
        ("gradients_of_widths", gradients::of_widths),
        ("gradients_of_halves", gradients::of_halves),
        ("gradients_of_sinks", gradients::of_sinks),
        ("gradients_of_gradients", gradients::of_gradients),
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
    trials.extend(emulated::trials(bench));
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
    let some = [(40, 64), (1, 1), (16, 32), (129, 130)];
    let some = if is_hurried(device) {
        &some[1..]
    } else {
        &some[..]
    };
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
const OPTIONS: [Change; 12] = [
    ("causal", |case| case.causal = true),
    ("top_left", |case| case.top_left = true),
    ("window", |case| case.window = Some((9, 4))),
    ("narrow", |case| case.window = Some((0, 1))),
    ("bias", |case| case.bias = Some(false)),
    ("own_bias", |case| case.bias = Some(true)),
    ("alibi", |case| case.alibi = true),
    ("sinks", |case| case.sinks = true),
    ("softcap", |case| case.softcap = Some(1.5)),
    ("scale", |case| case.scale = Some(-0.6)),
    ("blocks", |case| {
        let blocks = (0..9).flat_map(|i| (0..20).map(move |j| (i, j)));
        let some = blocks.filter(|(i, j)| (i * 5 + j * 3) % 4 == 0);
        case.blocks = Some(Topology::from_unsorted([144, 160], [16, 8], some).unwrap());
    }),
    // The first eight queries attend to nothing.
    ("no_first_blocks", |case| {
        let blocks = (1..18).flat_map(|i| (0..20).map(move |j| (i, j)));
        let some = blocks.filter(|(i, j)| (i * 7 + j * 3) % 4 == 0);
        case.blocks = Some(Topology::from_unsorted([144, 160], [8, 8], some).unwrap());
    }),
];

fn options_alone_and_in_pairs(device: &Device) {
    for (i, (_, first)) in OPTIONS.iter().enumerate() {
        for (j, (_, second)) in OPTIONS.iter().enumerate().skip(i) {
            if !is_thorough(device) && i != j && (i + j) % 3 != 0 {
                continue;
            }
            let mut case = Case {
                sizes: vec![
                    (5, 7),
                    (16, 16),
                    (20, 12),
                    (10, 40),
                    (33, 30),
                    (70, 75),
                    (40, 0),
                ],
                heads: 4,
                key_heads: 2,
                ..Case::default()
            };
            first(&mut case);
            second(&mut case);
            case.check::<f32>(device, i as u64);
            if i % 3 == 0 {
                case.check::<f16>(device, i as u64);
                // Short elements have a kernel of their own on matrices, unless heads share keys.
                case.key_heads = case.heads;
                case.check::<f16>(device, i as u64);
            }
        }
    }
}

/// Values are unit vectors, so that results show which keys are attended to.
fn masks_exclude_exactly(device: &Device) {
    masks_exclude_exactly_in::<f32>(device);
    masks_exclude_exactly_in::<f16>(device);
}

fn masks_exclude_exactly_in<T: Value>(device: &Device) {
    for (name, option) in OPTIONS {
        // Slopes make the weights of far keys too small for f16.
        if name == "alibi" && T::DTYPE == DType::F16 {
            continue;
        }
        let mut case = Case {
            sizes: vec![(5, 7), (9, 60), (60, 60), (100, 50), (33, 33)],
            dv: 64,
            ..Case::default()
        };
        option(&mut case);
        let mut of = case.operands::<T>(3);
        let one = |i: usize| T::rounded(f32::from(i / 64 == i % 64));
        of.v = Ragged::from_fn(of.v.layout(), |_, i| one(i)).unwrap();
        let (o, _) = case.run(device, &of).unwrap();
        for (element, &(n, m)) in case.sizes.iter().enumerate() {
            for (query, row) in o.row(element).chunks(64).enumerate() {
                for (key, &weight) in row.iter().enumerate() {
                    let seen = key < m && case.sees((n, m), query, key);
                    assert_eq!(
                        Into::<f32>::into(weight) > 0.0,
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
    // The values of heads are those of slopes, then those of sinks.
    let case = Case {
        sizes: vec![(3, 90), (8, 100)],
        heads: 6,
        key_heads: 2,
        alibi: true,
        sinks: true,
        ..Case::default()
    };
    case.check::<f32>(device, 20);
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

/// In each element, another key has almost all of the weight. Relative to any other score, its weight is beyond f16.
fn large_keys(device: &Device) {
    large_keys_in::<f32>(device);
    large_keys_in::<f16>(device);
}

fn large_keys_in<T: Value>(device: &Device) {
    for keys in [8, 32, 40] {
        let case = Case {
            sizes: vec![(20, keys); keys],
            amplitude: 10.0,
            ..Case::default()
        };
        let mut of = case.growing::<T>(8);
        let large = |element, i| T::rounded(f32::from(i / case.d == element));
        of.k = Ragged::from_fn(of.k.layout(), large).unwrap();
        case.check_queries(device, &of, |_, _| true);
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

/// More short elements than workgroups at a time on matrices: a workgroup computes several, of different lengths.
fn many_short(device: &Device) {
    let mut rng = rng("many short");
    let case = Case {
        sizes: (0..800)
            .map(|_| (rng.usize(5..=40), rng.usize(1..=40)))
            .collect(),
        heads: 4,
        key_heads: 4,
        ..Case::default()
    };
    let is_checked = |element: usize, query: usize| (element + query).is_multiple_of(7);
    case.check_queries(device, &case.operands::<f16>(11), is_checked);
    case.check_queries(device, &case.growing::<f16>(12), is_checked);
}

/// An element's bits do not depend on its neighbours, even if those are not numbers.
fn elements_alone(device: &Device) {
    for plain in [false, true] {
        elements_alone_in::<f32>(device, plain);
        elements_alone_in::<f16>(device, plain);
    }
}

fn elements_alone_in<T: Value>(device: &Device, plain: bool) {
    let case = Case {
        sizes: vec![
            (3, 3),
            (20, 31),
            (12, 12),
            (65, 70),
            (1, 1100),
            (33, 50),
            (1, 0),
            (2, 16),
        ],
        heads: 4,
        key_heads: if plain { 4 } else { 2 },
        causal: true,
        alibi: !plain,
        ..Case::default()
    };
    let of = case.operands::<T>(4);
    let (whole, whole_lse) = case.run(device, &of).unwrap();
    let among_nans = [0, 1].map(|parity| {
        let some = |x: &Ragged<T>| {
            let nan = T::rounded(f32::NAN);
            let value = |e: usize, i: usize| if e % 2 == parity { x.row(e)[i] } else { nan };
            Ragged::from_fn(x.layout(), value).unwrap()
        };
        let of = case::Operands {
            q: some(&of.q),
            k: some(&of.k),
            v: some(&of.v),
            ..of.clone()
        };
        case.run(device, &of).unwrap()
    });
    for element in 0..case.sizes.len() {
        let one = |x: &Ragged<T>| {
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
        let bits = |x: &Ragged<T>, e: usize| {
            let wide = x.row(e).iter().map(|&x| -> f32 { x.into() });
            wide.map(f32::to_bits).collect::<Vec<_>>()
        };
        let lse_bits = |x: &Ragged<f32>, e: usize| {
            let all = x.row(e).iter().map(|x| x.to_bits());
            all.collect::<Vec<_>>()
        };
        let (among, among_lse) = &among_nans[element % 2];
        for (o, lse, e) in [(&own, &own_lse, 0), (among, among_lse, element)] {
            assert_eq!(bits(o, e), bits(&whole, element), "element {element}");
            assert_eq!(
                lse_bits(lse, e),
                lse_bits(&whole_lse, element),
                "element {element}"
            );
        }
    }
}

fn not_a_number(device: &Device) {
    for keys in [25, 40, 100] {
        not_a_number_in::<f32>(device, keys, false);
        // On matrices, kernels differ by the number of keys and by whether there are slopes.
        not_a_number_in::<f16>(device, keys, false);
        not_a_number_in::<f16>(device, keys, true);
    }
    excluded_values_in::<f32>(device);
    excluded_values_in::<f16>(device);
}

/// Values of keys that the mask excludes for the only query have no effect.
fn excluded_values_in<T: Value>(device: &Device) {
    let case = Case {
        sizes: vec![(1, 100), (1, 600)],
        window: Some((5, 0)),
        ..Case::default()
    };
    let mut of = case.operands::<T>(7);
    let clean = case.run(device, &of).unwrap();
    of.v = Ragged::from_fn(of.v.layout(), |element, i| {
        match i / 16 + 6 < case.sizes[element].1 {
            true => T::rounded(f32::NAN),
            false => of.v.row(element)[i],
        }
    })
    .unwrap();
    assert_eq!(case.run(device, &of).unwrap(), clean);
}

fn not_a_number_in<T: Value>(device: &Device, keys: usize, alibi: bool) {
    let case = Case {
        sizes: vec![(4, 4), (keys, keys), (10, 10)],
        causal: true,
        alibi,
        ..Case::default()
    };
    let of = case.operands::<T>(6);
    let (clean, _) = case.run(device, &of).unwrap();
    let wide = |x: T| -> f32 { x.into() };
    let bits = |x: &[T]| x.iter().map(|&x| wide(x).to_bits()).collect::<Vec<_>>();
    // In a query: its row alone. In a key: the queries from its own on.
    for in_key in [false, true] {
        let mut of = of.clone();
        let x = if in_key { &mut of.k } else { &mut of.q };
        *x = Ragged::from_fn(x.layout(), |e, i| match (e, i / 16) {
            (1, 20) => T::rounded(f32::NAN),
            _ => x.row(e)[i],
        })
        .unwrap();
        let (o, lse) = case.run(device, &of).unwrap();
        for element in 0..3 {
            for (row, values) in o.row(element).chunks(16).enumerate() {
                let hit = element == 1 && (row == 20 || (in_key && row > 20));
                match hit {
                    true => {
                        assert!(values.iter().all(|&x| wide(x).is_nan()), "row {row}");
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
