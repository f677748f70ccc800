//! Runs every planning function for lengths at the limits of 32-bit and 64-bit counts.
//!
//! Tests are built with overflow checks, so a value that wraps panics here.

use super::*;
use crate::plan::{MergedPair, Nested, overlap, stream_tile};
use crate::ragged::PairList;
use crate::ragged::{DType, Layout, Pairs, Shape};
use crate::{Pairing, Result};

/// Lengths at the limits, and some random ones.
pub(crate) fn lengths() -> Vec<u64> {
    let mut random = fastrand::Rng::with_seed(12);
    let drawn = std::iter::repeat_with(|| u64::from(random.u32(..)) >> random.u32(..32));
    [0, 1, 2, 5]
        .into_iter()
        .chain(
            [16, 31]
                .into_iter()
                .flat_map(|k| [-1i64, 0, 1].map(|d| ((1 << k) + d) as u64)),
        )
        .chain([u64::from(u32::MAX)])
        .chain(drawn.take(8))
        .collect()
}

/// The built-in tables, and some with the largest and the smallest possible numbers.
fn tables() -> Vec<CostTable> {
    let odd = [
        "cpu workers=1 launch=1e18 item=1e18 multiply_add=1e18 result=1e18 fft=3:1e18,31:1e18",
        "gpu workers=1048576 launch=0 item=0 multiply_add=0 result=0 fft=6:0,23:1e18",
        "software workers=1 launch=0 item=1e18 multiply_add=5e-324 result=1 fft=",
    ];
    let odd = odd.map(|text| text.parse().unwrap());
    let own = [
        CostTable::cpu(),
        CostTable::gpu(),
        CostTable::software_gpu(),
    ];
    own.into_iter().chain(odd).collect()
}

const METHODS: [ConvMethod; 4] = [
    ConvMethod::Auto,
    ConvMethod::Direct,
    ConvMethod::Fft,
    ConvMethod::OverlapSave,
];
const MODES: [ConvMode; 4] = [
    ConvMode::Full,
    ConvMode::Same,
    ConvMode::Valid,
    ConvMode::Causal,
];

/// Batches of one and of two elements of these lengths that fit 32 bits.
pub(crate) fn series() -> Vec<Layout> {
    let lengths = lengths();
    let one = lengths.iter().map(|&n| vec![n as usize]);
    let two = lengths.iter().map(|&n| vec![n as usize, 3]);
    let all = one.chain(two).map(Layout::from_lengths);
    all.filter_map(Result::ok).collect()
}

/// Boxes of these extents whose number of values fits 32 bits; empty ones may have any extents.
pub(crate) fn boxes(rank: usize) -> Vec<Layout> {
    let lengths = lengths();
    // With one axis, the second length is the only one.
    let firsts = if rank == 1 { 1 } else { lengths.len() };
    let shapes = lengths[..firsts].iter().flat_map(|&first| {
        lengths.iter().map(move |&second| {
            let mut extents = vec![first as usize; rank];
            extents[rank - 1] = second as usize;
            extents
        })
    });
    let shapes = shapes.filter_map(|extents| Shape::new(&extents).ok());
    shapes
        .filter_map(|shape| Layout::uniform(1, shape).ok())
        .collect()
}

#[apply(unit_test)]
fn methods_are_chosen_for_any_lengths() {
    for costs in tables() {
        for (m, n) in lengths()
            .into_iter()
            .flat_map(|m| lengths().into_iter().map(move |n| (m, n)))
        {
            for method in METHODS {
                let Ok((choice, cost)) = costs.choose(m, n, method) else {
                    assert!(matches!(method, ConvMethod::Fft | ConvMethod::OverlapSave));
                    continue;
                };
                assert!(cost >= 0.0, "{costs} {m} {n} {method}: {cost}");
                assert_eq!(costs.cost(m, n, choice), cost, "{costs} {m} {n} {method}");
            }
        }
    }
}

/// The predicted cost of the direct method rises with the lengths, up to 2³² − 1.
#[apply(unit_test)]
fn costs_do_not_wrap() {
    for costs in [
        CostTable::cpu(),
        CostTable::gpu(),
        CostTable::software_gpu(),
    ] {
        let cost = |n: u64| costs.choose(n, n, ConvMethod::Direct).unwrap().1;
        let all: Vec<f64> = (0..33)
            .map(|k| cost((1 << k).min(u32::MAX.into())))
            .collect();
        assert!(all.is_sorted(), "{costs}: {all:?}");
        let products = 2.0 * f64::from(u32::MAX).powi(2) * costs.numbers().multiply_add;
        assert!(all[32] >= products, "{costs}: {}", all[32]);
    }
}

#[apply(unit_test)]
fn choices_are_told_for_any_lengths() {
    let all = series();
    for costs in tables() {
        for (a, b) in all.iter().flat_map(|a| all.iter().map(move |b| (a, b))) {
            for (method, pairing) in METHODS.into_iter().zip([
                Pairing::AllToAll,
                Pairing::Elementwise,
                Pairing::OneToAll,
                Pairing::List(&PairList::new([(0, 0)]).unwrap()),
            ]) {
                if let Ok(choice) = ConvChoice::new((a, b), pairing, method, &costs) {
                    let parts: f64 = choice
                        .groups
                        .iter()
                        .map(|group| group.predicted.as_secs_f64())
                        .sum();
                    assert!(parts.is_finite() && !choice.to_string().is_empty());
                }
            }
        }
        for layout in all.iter().chain(&boxes(2)).chain(&boxes(4)) {
            let profile = HeterogeneityProfile::new(layout, &costs).unwrap();
            assert!(profile.padded >= profile.total as u64);
            assert!(!profile.to_string().is_empty() && !profile.to_json().is_empty());
        }
    }
}

#[apply(unit_test)]
fn boxes_meet_whatever_their_extents() {
    let costs = tables();
    for rank in 1..=AXES {
        let all = boxes(rank);
        for (a, b) in all.iter().flat_map(|a| all.iter().map(move |b| (a, b))) {
            for (mode, stride) in MODES.into_iter().zip([1, 2, 1 << 31, usize::MAX]) {
                let mut window = Window::new(mode);
                window.set_strides(&vec![stride; rank]);
                let pairs = Pairs::elementwise(a, b).unwrap();
                window.check((a, b), &pairs).unwrap();
                let meeting = window.meeting(a, b, (0, 0));
                assert_eq!(meeting.results() == 0, meeting.is_empty());
                let (flat, terms) = (meeting.flat(), meeting.terms());
                assert!(flat.m.checked_add(flat.n).is_some() && terms <= meeting.sizes().0);
                for costs in &costs {
                    for method in METHODS {
                        if let Ok((choice, cost)) = costs.choose_boxes(&meeting, method) {
                            assert!(cost >= 0.0, "{costs} {meeting:?}: {cost}");
                            assert!(costs.cost_of_boxes(&meeting, choice) >= 0.0);
                        }
                    }
                }
            }
        }
    }
}

#[apply(unit_test)]
fn ambient_boxes_are_planned_or_refused() {
    for rank in [1, 2, 3, 4, 8] {
        let all = boxes(rank);
        for (a, b) in all.iter().flat_map(|a| all.iter().map(move |b| (a, b))) {
            let pairs = Pairs::new(a, b, Pairing::AllToAll).unwrap();
            for concat_axes in [0, 1, (1 << rank) - 1] {
                match Nested::new(concat_axes, a, b, &pairs) {
                    Ok(nested) => assert_eq!(nested.result.len(), 1),
                    Err(error) => assert_eq!(error.kind(), "size_overflow"),
                }
            }
            MergedPair::new(a, b, &pairs).unwrap();
            assert!(overlap(&a.shape(0), &b.shape(0)) <= a.total());
        }
    }
}

#[apply(unit_test)]
fn tiles_are_counted_or_refused() {
    for (values, elements) in lengths()
        .into_iter()
        .flat_map(|v| lengths().into_iter().map(move |e| (v, e)))
    {
        let tile = stream_tile(values as usize, elements as usize);
        assert!((1024..=4096).contains(&tile));
    }
    for layout in series() {
        let choices = Choices::new(
            DType::F32,
            (&layout, &layout),
            &Pairs::elementwise(&layout, &layout).unwrap(),
            ConvMethod::Auto,
            &CostTable::cpu(),
        );
        assert!(choices.is_ok());
    }
}
