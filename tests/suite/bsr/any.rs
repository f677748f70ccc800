//! Random topologies from proptest in every form, with sets of values, epilogues and sampled products.

use proptest::collection::vec;
use proptest::prelude::*;
use vsla::{Device, Topology};

use super::{SIDES, Values, check, check_sampled, epilogue};
use crate::support::property;

#[derive(Clone, Debug)]
struct Case {
    topology: Topology,
    /// The columns or rows of the dense factors or, for sampled products, the inner extents.
    counts: Vec<usize>,
    /// Whether each of them has a separate set of values.
    sets: bool,
}

fn cases() -> impl Strategy<Value = Case> {
    let count = prop_oneof![4 => 0..9usize, 2 => 9..50usize, 1 => 120..140usize];
    (
        [0..SIDES.len(), 0..SIDES.len()],
        // The rows and columns of blocks, and how far, in thousandths of a block, the last ones extend beyond the
        // matrix.
        [1..4usize, 1..5usize],
        [0..1000usize, 0..1000usize],
        vec(any::<bool>(), 12),
        vec(count, 0..4),
        any::<bool>(),
    )
        .prop_map(|(block, grid, short, stored, counts, sets)| {
            let block = block.map(|side| SIDES[side]);
            let short = [0, 1].map(|axis| block[axis] * short[axis] / 1000);
            let shape = [0, 1].map(|axis| grid[axis] * block[axis] - short[axis]);
            let places = (0..grid[0] * grid[1]).filter(|&i| stored[i]);
            let places = places.map(|i| ((i / grid[1]) as u32, (i % grid[1]) as u32));
            Case {
                topology: Topology::from_unsorted(shape, block, places).unwrap(),
                counts,
                sets,
            }
        })
}

pub fn any_topology(device: &Device) {
    property::on(device, cases(), |case| {
        let Case {
            topology, counts, ..
        } = &case;
        let sets = if case.sets { counts.len() } else { 1 };
        match topology.len() % 3 {
            0 => check(device, topology, sets, counts, Values::Integers),
            1 => check_sampled(device, topology, counts, Values::Integers),
            _ => epilogue::check(device, topology, sets, counts),
        }
    });
}
