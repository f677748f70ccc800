//! Checks that corpus cases have the properties that their names promise; otherwise tests over the corpus prove too
//! little.

use std::collections::HashSet;

use libtest_mimic::Trial;

use crate::support::bench::Bench;
use crate::support::compare::EXACT_LIMIT;
use crate::support::corpus::{self, Content, SMALL_WORK};
use crate::support::number::widened;
use crate::support::reference::{self, elementwise};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let tests: &[(&str, fn())] = &[
        ("names_differ", names_differ),
        (
            "both_sides_have_as_many_elements",
            both_sides_have_as_many_elements,
        ),
        ("is_the_same_every_time", is_the_same_every_time),
        ("left_and_right_differ", left_and_right_differ),
        ("small_cases_are_cheap", small_cases_are_cheap),
        ("integers_are_exact", integers_are_exact),
        (
            "floats_are_what_the_content_says",
            floats_are_what_the_content_says,
        ),
        ("has_every_rank", has_every_rank),
    ];
    tests
        .iter()
        .map(|&(name, test)| bench.host(name, test))
        .collect()
}

fn names_differ() {
    for cases in [corpus::all(), corpus::small(), corpus::boxes()] {
        let names: HashSet<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        assert_eq!(names.len(), cases.len());
    }
}

fn both_sides_have_as_many_elements() {
    for case in corpus::all()
        .iter()
        .chain(&corpus::small())
        .chain(&corpus::boxes())
    {
        let (left, right) = case.layouts();
        assert_eq!(
            (left.len(), left.rank()),
            (right.len(), right.rank()),
            "{}",
            case.name
        );
    }
}

fn is_the_same_every_time() {
    for case in corpus::small().iter().chain(&corpus::boxes()) {
        let (bits, again) = (case.integers::<u32>(), case.integers::<u32>());
        assert!(bits == again, "{}", case.name);
        let bits = |(a, b): (vsla::Ragged<f32>, vsla::Ragged<f32>)| {
            (a.cast(f32::to_bits).unwrap(), b.cast(f32::to_bits).unwrap())
        };
        assert!(bits(case.floats()) == bits(case.floats()), "{}", case.name);
    }
}

fn left_and_right_differ() {
    let same: Vec<String> = corpus::all()
        .into_iter()
        .chain(corpus::small())
        .chain(corpus::boxes())
        .filter(|case| {
            let (left, right) = case.layouts();
            left == right && left.max_length() > 1
        })
        .map(|case| case.name)
        .collect();
    assert!(same.is_empty(), "{same:?}");
}

fn small_cases_are_cheap() {
    for case in corpus::small().iter().chain(&corpus::boxes()) {
        assert!(
            case.work() < SMALL_WORK,
            "{} takes {}",
            case.name,
            case.work()
        );
    }
}

/// Σ|a_i b_j| of every result must stay below 2²⁴. The largest sum of any operation is |Σ|a|·max|b||.
fn integers_are_exact() {
    for case in corpus::all()
        .iter()
        .chain(&corpus::small())
        .chain(&corpus::boxes())
    {
        let (a, b) = case.integers::<f32>();
        let (a, b) = (widened(&a), widened(&b));
        let dot = reference::dot(&a, &b, &elementwise(a.len()));
        let largest = [reference::sum(&a), reference::sum(&b), dot]
            .map(|sums| sums.largest_magnitude())
            .into_iter()
            .fold(0.0, f64::max);
        assert!(largest < EXACT_LIMIT, "{}: {largest}", case.name);
        if a.values().len() > 10 {
            assert!(largest > 0.0, "{}", case.name);
        }
    }
}

fn floats_are_what_the_content_says() {
    for case in corpus::all().iter().chain(&corpus::small()) {
        let (a, b) = case.floats();
        let values = || a.values().iter().chain(b.values());
        assert_eq!(
            values().all(|value| value.is_finite()),
            case.content != Content::Nonfinite,
            "{}",
            case.name
        );
        let largest = values().fold(0.0, |largest: f32, value| largest.max(value.abs()));
        match case.content {
            Content::Plain => assert!(largest <= 1.0, "{}: {largest}", case.name),
            Content::Magnitudes => {
                assert!((1e28..1e30).contains(&largest), "{}: {largest}", case.name);
                let smallest = a.iter().chain(b.iter()).map(|row| {
                    row.iter()
                        .fold(0.0, |largest: f32, value| largest.max(value.abs()))
                });
                let smallest = smallest.fold(f32::MAX, f32::min);
                assert!(
                    (1e-31..1e-28).contains(&smallest),
                    "{}: {smallest}",
                    case.name
                );
            }
            Content::Nonfinite => {
                let spoilt = corpus::spoilt(&a);
                let count = spoilt.iter().filter(|&&bad| bad).count();
                assert!((8..=20).contains(&count), "{count} of {}", spoilt.len());
                assert!(a.values().iter().any(|value| value.is_nan()));
                assert!(a.values().contains(&f32::INFINITY));
                assert!(a.values().contains(&f32::NEG_INFINITY));
            }
        }
    }
}

fn has_every_rank() {
    let ranks: HashSet<usize> = corpus::boxes()
        .iter()
        .map(|case| case.layouts().0.rank())
        .collect();
    assert_eq!(ranks, HashSet::from_iter(1..=vsla::batch::MAX_RANK));
    for case in corpus::boxes() {
        let (left, right) = case.layouts();
        if case.name.len() == "rank_1".len() && left.rank() > 1 {
            let of = |extent: u32| {
                left.extents()
                    .iter()
                    .chain(right.extents())
                    .any(|&e| e == extent)
            };
            assert!(of(0) && of(1) && of(2), "{}", case.name);
        }
    }
}
