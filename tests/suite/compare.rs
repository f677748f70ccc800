//! Tests of the comparator, with results that it must reject and results that it must accept.

mod cases;

use libtest_mimic::Trial;
use vsla::{Layout, Ragged};

use crate::support::bench::Bench;
use crate::support::compare::{self, Report, TINY, U, exact, gamma};
use cases::{ACCEPTED, REFUSED, all_within, batch, changed, wide};

type Outcome = Result<Report, String>;

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let refused = REFUSED.iter().map(|case| {
        bench.host(&format!("refuses::{}", case.name), || {
            let message = match (case.compare)() {
                Ok(report) => panic!("accepted: {report}"),
                Err(message) => message,
            };
            for words in case.says {
                assert!(message.contains(words), "{words:?} is not in: {message}");
            }
        })
    });
    let accepted = ACCEPTED.iter().map(|case| {
        bench.host(&format!("accepts::{}", case.name), || {
            if let Err(message) = (case.compare)() {
                panic!("refused: {message}");
            }
        })
    });
    let mut trials: Vec<Trial> = refused.chain(accepted).collect();
    trials.extend([
        bench.host("reports_the_worst_errors", reports_the_worst_errors),
        bench.host("lists_five_mismatches", lists_five_mismatches),
        bench.host("assertions_panic", assertions_panic),
        bench.host(
            "bounds_are_those_of_the_books",
            bounds_are_those_of_the_books,
        ),
    ]);
    trials
}

fn reports_the_worst_errors() {
    let mut got = batch();
    got.values_mut()[0] = 1.25;
    got.values_mut()[7] = 5.5;
    let report = all_within(got, batch(), 2.0).unwrap();
    let expected = Report {
        values: 8,
        absolute: 0.5,
        relative: 0.25,
        used: 0.25,
    };
    assert_eq!(report, expected);
}

fn lists_five_mismatches() {
    let layout = Layout::from_lengths([4, 4]).unwrap();
    let got = Ragged::full(&layout, 1.0f32).unwrap();
    let message = exact(&got, &Ragged::full(&layout, 2.0f32).unwrap()).unwrap_err();
    assert!(message.starts_with("8 values differ"), "{message}");
    assert_eq!(message.lines().count(), 1 + 5, "{message}");
    assert!(message.contains("element 1, index 0"), "{message}");
    assert!(!message.contains("element 1, index 1"), "{message}");
}

fn assertions_panic() {
    let assertions: [fn(); 3] = [
        || {
            compare::assert_exact("changed", &changed(1, 5.5), &batch());
        },
        || {
            compare::assert_identical("changed", &changed(1, 5.5), &batch());
        },
        || {
            compare::assert_within("changed", &changed(1, 5.5), &wide(batch()), &[0.1; 8]);
        },
    ];
    for assertion in assertions {
        let message = crate::support::bench::panic_of(assertion);
        assert!(
            message.contains("changed: 1 values differ") && message.contains("suite/compare.rs"),
            "{message}"
        );
    }
}

fn bounds_are_those_of_the_books() {
    assert_eq!(U, f64::from(f32::EPSILON) / 2.0);
    assert_eq!(gamma(0.0), 0.0);
    assert!((gamma(1.0) / U - 1.0).abs() < 1e-6);
    assert!((gamma((1u64 << 22) as f64) - 1.0 / 3.0).abs() < 1e-12);
    assert_eq!(compare::sum_bound(0.0, 5.0, 3), 3.0 * TINY);
    assert_eq!(compare::sum_bound(2.0, 5.0, 0), 5.0 * gamma(2.0));
    for (terms, depth) in [(0, 0.0), (1, 1.0), (70, 70.0), (1024, 74.0), (1025, 75.0)] {
        assert_eq!(compare::reduction_depth(terms), depth, "{terms}");
    }
    for (terms, depth) in [(0, 0.0), (38, 38.0), (128, 39.0), (1025, 47.0)] {
        assert_eq!(compare::product_depth(terms), depth, "{terms}");
    }
}
