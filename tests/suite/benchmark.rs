//! The benchmark's statistics, its lengths, and what it makes of stored results, old and new.

mod harness;

use std::time::Duration;

use harness::lengths::{self, SETS};
use harness::stats::Summary;
use harness::{rates, table};
use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::support::bench::Bench;

const STORED: &str = include_str!("../../benches/results/h100.json");

pub fn tests(bench: &Bench) -> Vec<Trial> {
    vec![
        bench.host("summaries", summaries),
        bench.host("intervals_of_the_median", intervals_of_the_median),
        bench.host("published_lengths", published_lengths),
        bench.host("rates_of_halves", rates_of_halves),
        bench.host("table_of_a_new_run", table_of_a_new_run),
    ]
}

fn millis(times: impl IntoIterator<Item = u64>) -> Vec<Duration> {
    times.into_iter().map(Duration::from_millis).collect()
}

fn summaries() {
    let summary = Summary::of(millis([9, 4, 5, 4, 2, 7, 4, 5]));
    assert_eq!(summary.median, Duration::from_millis(5));
    assert_eq!(summary.mean, Duration::from_millis(5));
    // The squared deviations add up to 32.
    let deviation = 1e-3 * (32.0f64 / 7.0).sqrt();
    assert!((summary.deviation.as_secs_f64() - deviation).abs() < 1e-9);
    assert_eq!(summary.interval, Some([2, 9].map(Duration::from_millis)));
    assert_eq!(summary.runs, 8);
    let half = summary.scaled(0.5);
    assert_eq!(half.interval, Some([1000, 4500].map(Duration::from_micros)));
    let once = Summary::once(Duration::from_millis(3));
    let [median, mean, deviation] = [once.median, once.mean, once.deviation].map(|t| t.as_millis());
    assert_eq!(
        (median, mean, deviation, once.interval, once.runs),
        (3, 3, 0, None, 1)
    );
    assert_eq!(Summary::of(Vec::new()).median, Duration::ZERO);
    let json = summary.json();
    assert_eq!(json["low_us"], 2000.0);
    assert_eq!(json["runs"], 8);
}

/// The ranks of the ends, counted from 1: exact binomial probabilities, as in the table of Le Boudec's appendix A.
fn intervals_of_the_median() {
    for (runs, ranks) in [
        (5, None),
        (6, Some([1, 6])),
        (8, Some([1, 8])),
        (10, Some([2, 9])),
        (20, Some([6, 15])),
        (30, Some([10, 21])),
        (50, Some([18, 33])),
        (60, Some([22, 39])),
        (100, Some([40, 61])),
        (1000, Some([469, 532])),
        (2000, Some([956, 1045])),
    ] {
        let summary = Summary::of(millis((1..=runs).rev()));
        let expected = ranks.map(|ranks: [u64; 2]| ranks.map(Duration::from_millis));
        assert_eq!(summary.interval, expected, "{runs} runs");
    }
}

/// The stored products of f16 are faster than multiply-adds of f32 can be, and not faster than matrix instructions.
fn rates_of_halves() {
    let stored: Value = serde_json::from_str(STORED).unwrap();
    let gpu = stored["devices"].as_array().unwrap().iter();
    let rows = gpu.flat_map(|device| device["rows"].as_array().unwrap());
    let seconds = |row: &Value| row["device_us"].as_f64().map(|us| 1e-6 * us);
    let rows: Vec<(&str, u64, f64)> = rows
        .filter_map(|row| {
            let work = row["multiply_adds"].as_u64()?;
            Some((row["name"].as_str()?, work, seconds(row)?))
        })
        .collect();
    let of = |name: &str| rows.iter().find(|row| row.0 == name).copied().unwrap();
    let (_, work, took) = of("peaks/multiply-add");
    let f32_rate = work as f64 / took;
    let (_, work, took) = of("attention/2048-f16");
    assert!(rates::is_impossible(rates::percent(work, took, f32_rate)));
    let ten_times = rates::percent(work, took / 10.0, rates::INSTRUCTIONS);
    assert!(rates::is_impossible(ten_times), "{ten_times} %");
    for (name, work, took) in rows.iter().filter(|row| row.0.contains("f16")) {
        let reached = rates::percent(*work, *took, rates::INSTRUCTIONS);
        assert!(!rates::is_impossible(reached), "{name}: {reached} %");
    }
}

fn published_lengths() {
    let span = |lengths: &[usize]| {
        let (min, max) = (lengths.iter().min(), lengths.iter().max());
        (
            lengths.len(),
            *min.unwrap(),
            *max.unwrap(),
            lengths.iter().sum::<usize>(),
        )
    };
    let gestures = span(&lengths::gestures());
    assert_eq!((gestures.0, gestures.1, gestures.2), (100, 29, 361));
    let vowels = span(&lengths::vowels());
    assert_eq!((vowels.0, vowels.1, vowels.2), (640, 7, 29));
    let cells = span(&lengths::cells());
    assert_eq!(cells, (800, 0, 37, 5684));
    let news = span(&lengths::news());
    assert_eq!((news.0, news.3), (4096, 106_490));
    assert_eq!(lengths::images().len(), 200);
    assert!(lengths::images().contains(&[1333, 2000]));
    let sentences = span(&lengths::sentences());
    assert!(sentences.0 > 200 && sentences.1 >= 1, "{sentences:?}");
    for set in &SETS {
        let layout = set.layout().unwrap();
        assert!(layout.total() > 0, "{}", set.name);
        // Published data is cited with a year.
        let years =
            |source: &str| source.contains("18") || source.contains("19") || source.contains("20");
        assert!(set.source.is_none_or(years), "{}", set.name);
    }
    let text = table::lengths().unwrap();
    for part in [
        "| particles in cells | 800 |",
        "| 37 |",
        "`matmul/cells`",
        "1TII",
    ] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
}

/// A run with everything that rows may have.
fn run() -> Value {
    let runs = json!({ "mean_us": 11.0, "sd_us": 1.0, "low_us": 9.0, "high_us": 12.5, "runs": 60 });
    json!({
        "cpu_threads": 2,
        "devices": [{
            "device": "A <b>&\"device\"",
            "driver": "",
            "backend": "vulkan",
            "kind": "Discrete",
            "quick": true,
            "rows": [{
                "name": "conv/a<b",
                "data": "1 < 2 & 3",
                "device": "gpu",
                "device_us": 10.0,
                "device_runs": runs,
                "wall_us": 100.0,
                "wall_runs": runs,
                "back_to_back_us": 20.0,
                "bytes": 1000,
                "multiply_adds": 0,
                "gb_per_s": 0.1,
                "percent_of_copy": 50.0,
                "peak_bytes": 5_000_000,
                "packed_bytes": 4_000_000,
                "padded_bytes": 16_000_000,
                "steady": false,
                "right": false,
                "check": "value 1 is <NaN>",
                "targets": [{ "what": "µs", "at_most": 5.0, "got": 10.0, "met": false }],
                "notes": { "% of \"x\"": 1.0 },
            }],
        }, {
            "device": "cpu",
            "kind": "Cpu",
            "rows": [{ "name": "conv/a<b", "wall_us": 7.0, "right": true, "steady": true, "check": "all" }],
        }],
    })
}

/// The columns of intervals and memory are there if a row has them, and old files keep their table.
fn table_of_a_new_run() {
    let new = table::markdown(&run(), "", |kind| kind != "Cpu");
    assert!(new.contains("| row | device µs | 95 % | wall µs | 95 % | rate | of peak | peak MiB | padded MiB | target |"));
    assert!(new.contains("| `conv/a<b` | 10.0 | -10.0 +25.0 | 100 | -91.0 -87.5 | 0 GB/s | 50 % copy | 4.8 | 15.3 |"), "{new}");
    let mut old = run();
    for row in old["devices"][0]["rows"].as_array_mut().unwrap() {
        let row = row.as_object_mut().unwrap();
        row.retain(|key, _| !key.ends_with("_runs") && !key.ends_with("_bytes"));
    }
    let old = table::markdown(&old, "", |kind| kind != "Cpu");
    assert!(
        old.contains("| row | device µs | wall µs | rate | of peak | target |"),
        "{old}"
    );
}
