//! Topologies and block-sparse matrices on the host.

use libtest_mimic::Trial;
use vsla::{Bsr, Topology};

use super::SIDES;
use crate::support::bench::Bench;
use crate::support::corpus::rng;

pub fn tests(bench: &Bench) -> Vec<Trial> {
    vec![
        bench.host("order", order),
        bench.host("masks", masks),
        bench.host("dense", dense),
        bench.host("duplicates", duplicates),
        bench.host("patterns", patterns),
        bench.host("random_patterns", random_patterns),
        bench.host("drawings", drawings),
        bench.host("sharing", sharing),
        bench.host("refusals", super::refusals::on_host),
    ]
}

fn places(topology: &Topology) -> Vec<(u32, u32)> {
    topology.blocks().collect()
}

fn order() {
    let shuffled = [(2, 1), (0, 3), (2, 0), (0, 3), (1, 1)];
    let sorted = [(0, 3), (1, 1), (2, 0), (2, 1)];
    let topology = Topology::from_unsorted([20, 30], [8, 8], shuffled).unwrap();
    assert_eq!(places(&topology), sorted);
    assert_eq!(topology, Topology::new([20, 30], [8, 8], &sorted).unwrap());
    assert_eq!((topology.len(), topology.is_empty()), (4, false));
    assert_eq!((topology.shape(), topology.block()), ([20, 30], [8, 8]));
    assert_eq!((topology.grid(), topology.density()), ([3, 4], 4.0 / 12.0));
    let other = Topology::new([20, 31], [8, 8], &sorted).unwrap();
    assert_ne!(topology, other, "of another shape");
    let none = Topology::new([0, 31], [8, 8], &[]).unwrap();
    assert_eq!(
        (none.grid(), none.density(), none.is_empty()),
        ([0, 4], 0.0, true)
    );
}

fn masks() {
    let mut rng = rng("masks");
    for high in SIDES {
        for wide in SIDES {
            let shape = [rng.usize(0..300), rng.usize(0..300)];
            let mut mask = vec![false; shape[0] * shape[1]];
            for _ in 0..mask.len().min(5) {
                let at = rng.usize(0..mask.len());
                mask[at] = true;
            }
            let topology = Topology::from_mask(shape, [high, wide], &mask).unwrap();
            let mut expected: Vec<_> = (0..mask.len())
                .filter(|&at| mask[at])
                .map(|at| (at / shape[1] / high, at % shape[1] / wide))
                .map(|(row, column)| (row as u32, column as u32))
                .collect();
            expected.sort_unstable();
            expected.dedup();
            assert_eq!(places(&topology), expected, "{high} x {wide}");
        }
    }
}

fn dense() {
    let mut rng = rng("dense");
    for block in [[8, 8], [16, 48], [128, 32]] {
        let shape = [rng.usize(100..300), rng.usize(100..300)];
        let values: Vec<f32> = (0..shape[0] * shape[1])
            .map(|_| {
                if rng.u32(0..200) == 0 {
                    rng.f32() - 0.5
                } else {
                    0.0
                }
            })
            .collect();
        let all = Bsr::from_dense(shape, block, &values, 0.0).unwrap();
        assert_eq!(all.to_dense().unwrap().row(0), values);
        assert_eq!((all.len(), all.is_empty()), (1, false));
        // Whole blocks are kept: also their small values, if the block has a large one.
        let large = Bsr::from_dense(shape, block, &values, 0.45).unwrap();
        assert!(large.topology().len() < all.topology().len());
        let back = large.to_dense().unwrap();
        for (at, (&kept, &value)) in back.row(0).iter().zip(&values).enumerate() {
            assert!(
                kept == value || (kept == 0.0 && value.abs() <= 0.45),
                "{at}"
            );
        }
        assert_eq!(Bsr::sample(large.topology(), &values).unwrap(), large);
    }
    let mut values = [0.0f32; 64];
    values[3] = f32::NAN;
    let bsr = Bsr::from_dense([8, 8], [8, 8], &values, f64::INFINITY).unwrap();
    assert_eq!(bsr.topology().len(), 1, "NaN exceeds any tolerance");
    let doubles = Bsr::from_dense([8, 8], [8, 8], &[1.0f64; 64], 0.5).unwrap();
    assert_eq!(doubles.set(0), [1.0; 64]);
}

/// Duplicates are added in the given order.
fn duplicates() {
    let blocks = [(1, 0), (0, 1), (1, 0), (1, 0)];
    let values: Vec<f32> = [1e8, 3.0, 1.0, -1e8]
        .iter()
        .flat_map(|&x| [x; 64])
        .collect();
    let bsr = Bsr::from_blocks([16, 16], [8, 8], &blocks, &values).unwrap();
    assert_eq!(places(bsr.topology()), [(0, 1), (1, 0)]);
    assert_eq!(bsr.set(0), [[3.0; 64], [0.0; 64]].concat());
    let one = Bsr::from_blocks([16, 16], [8, 8], &blocks[..1], &[-0.0f32; 64]).unwrap();
    assert!(one.set(0)[0].is_sign_negative(), "one block keeps its bits");
}

/// Compares patterns with their definition for single entries.
fn patterns() {
    let entries = |shape: [usize; 2], block, keep: &dyn Fn(usize, usize) -> bool| {
        let mask: Vec<_> = (0..shape[0] * shape[1])
            .map(|at| keep(at / shape[1], at % shape[1]))
            .collect();
        Topology::from_mask(shape, block, &mask).unwrap()
    };
    for shape in [[100, 100], [70, 200], [200, 70], [0, 9], [9, 0], [1, 1]] {
        for block in [[8, 8], [16, 48], [96, 32], [128, 8]] {
            let causal = Topology::causal(shape, block).unwrap();
            assert_eq!(causal, entries(shape, block, &|i, j| j <= i));
            for reach in [0, 1, 17, usize::MAX] {
                let window = Topology::sliding_window(shape, block, reach).unwrap();
                assert_eq!(
                    window,
                    entries(shape, block, &|i, j| i.abs_diff(j) <= reach)
                );
            }
            let blocks = |keep: &dyn Fn(usize, usize) -> bool| {
                let [high, wide] = block;
                entries(shape, block, &|i, j| keep(i / high, j / wide))
            };
            let diagonal = Topology::block_diagonal(shape, block).unwrap();
            assert_eq!(diagonal, blocks(&|i, j| i == j));
            for stride in [1, 3, 1000] {
                let strided = Topology::strided(shape, block, stride).unwrap();
                assert_eq!(strided, blocks(&|i, j| i.abs_diff(j) % stride == 0));
            }
        }
    }
}

fn random_patterns() {
    let topology = Topology::random([8192, 8192], [128, 64], 16, 1).unwrap();
    assert_eq!((topology.len(), topology.density()), (64 * 16, 0.125));
    let places = places(&topology);
    assert!(places.is_sorted() && places.chunks(16).all(|row| row[0].0 == row[15].0));
    let mut counts = [0; 128];
    for &(_, column) in &places {
        counts[column as usize] += 1;
    }
    assert!(
        counts.iter().all(|&counts| (1..=20).contains(&counts)),
        "{counts:?}: expected 8 each"
    );
    let all = Topology::random([9, 17], [8, 8], 3, 1).unwrap();
    assert_eq!(all, Topology::strided([9, 17], [8, 8], 1).unwrap());
    let golden = Topology::random([32, 128], [8, 8], 4, 2).unwrap();
    assert_eq!(
        golden.to_string(),
        "32 x 128 in blocks of 8 x 8: 16 of 64 blocks\n\
         ·······■·■·■■···\n\
         ■·■··■■·········\n\
         ·······■■■■·····\n\
         ····■····■·■··■·"
    );
}

fn drawings() {
    let topology = Topology::causal([800, 800], [8, 8]).unwrap();
    let drawn = topology.to_string();
    let lines: Vec<_> = drawn.lines().collect();
    assert_eq!(
        lines[0],
        "800 x 800 in blocks of 8 x 8: 5050 of 10000 blocks"
    );
    assert_eq!(lines.len(), 35);
    assert_eq!(lines[1], format!("□{}", "·".repeat(33)));
    assert_eq!(lines[34], "■".repeat(34));
    let none = Topology::new([0, 9], [8, 8], &[]).unwrap();
    assert_eq!(none.to_string(), "0 x 9 in blocks of 8 x 8: 0 of 0 blocks");
    let two = Bsr::from_sets(
        &Topology::block_diagonal([8, 9], [8, 8]).unwrap(),
        2,
        vec![0; 128],
    );
    let text = "2 of 8 x 9 in blocks of 8 x 8: 1 of 2 blocks\n■·";
    assert_eq!(two.as_ref().unwrap().to_string(), text);
    assert_eq!(format!("{:?}", two.unwrap()), text);
}

/// Sets of values of equal size share one layout, and so the plans.
fn sharing() {
    let topology = Topology::block_diagonal([80, 80], [8, 8]).unwrap();
    let [one, two] = [1, 2].map(|sets| topology.values_layout(sets).unwrap());
    assert_eq!(one.shape(0).extents(), [10, 8, 8]);
    assert_eq!((two.len(), two.total()), (2, 1280));
    let bsr = Bsr::new(&topology, vec![0.0f32; 640]).unwrap();
    assert_eq!(bsr.values().layout(), &one);
}
